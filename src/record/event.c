/*
 * Recording an event: the hot path. A look at the thread's lane, the clock, one record of 32 bytes
 * and the new head; no lock, no system call, no atomic read-modify-write.
 */
#include "record/event.h"

#include "kymo/kymo.h"
#include "record/clock.h"
#include "record/filter.h"
#include "record/names.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

static_assert((int)KYMO_MOST_ARGS == (int)RING_MOST_ARGS && KYMO_NO_CORE == RING_NO_CORE &&
                  (int)KYMO_KIND_STEP == (int)RING_STEP && (int)KYMO_TEXT == (int)RING_TEXT &&
                  (int)KYMO_HARDWARE == (int)RING_HARDWARE,
              "the public numbers are those of the files");

static inline struct kymo_lane *mine(void)
{
    struct kymo_lane *lane = lane_mine;
    uint32_t session = __atomic_load_n(&lanes_session, __ATOMIC_RELAXED);
    if (LIKELY(lane && lane->session == session))
        return lane;
    return lane_of_thread();
}

static inline struct ring_record *next_slot(struct kymo_lane *lane)
{
    if (!LIKELY(lane->slot != lane->limit))
        lane_turn(lane);
    return lane->slot++;
}

/* What a reader finds before the head is whole, also when the program dies at this very moment. */
static inline void publish(struct kymo_lane *lane, unsigned records)
{
    lane->head += records;
    __atomic_store_n(&lane->header->head, lane->head, __ATOMIC_RELEASE);
}

static inline uint32_t site_id(struct kymo_site *site)
{
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    return LIKELY(id != 0) ? id : names_site(site);
}

static inline uint32_t first_key(struct kymo_site *site, const char *key)
{
    if (LIKELY(__atomic_load_n(&site->keys[0], __ATOMIC_ACQUIRE) == key))
        return __atomic_load_n(&site->key_ids[0], __ATOMIC_RELAXED);
    return names_site_key(site, key);
}

void kymo_event(struct kymo_site *site, enum kymo_kind kind)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    uint32_t name = site_id(site);
    struct ring_record *record = next_slot(lane);
    *record = (struct ring_record){
        .ticks = clock_ticks(), .name = name, .kind = (uint8_t)kind, .core = RING_NO_CORE};
    publish(lane, 1);
}

void kymo_event_int(struct kymo_site *site, enum kymo_kind kind, const char *key, int64_t value)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    uint32_t name = site_id(site);
    uint32_t key_id = first_key(site, key);
    struct ring_record *record = next_slot(lane);
    *record = (struct ring_record){.ticks = clock_ticks(),
                                   .name = name,
                                   .kind = (uint8_t)((unsigned)kind | RING_ARG_INSIDE),
                                   .type = RING_INT,
                                   .core = RING_NO_CORE,
                                   .id = key_id,
                                   .value = (uint64_t)value};
    publish(lane, 1);
}

/* An arg as it is stored. */
struct stored {
    uint32_t key;
    uint8_t type;
    uint64_t value;
};

static struct stored store_arg(struct kymo_site *site, const struct kymo_arg *arg)
{
    struct stored stored = {.type = (uint8_t)arg->type};
    stored.key = site ? names_site_key(site, arg->key) : names_arg(arg->key);
    if (arg->type == KYMO_TEXT)
        stored.value = names_arg(arg->value.text);
    else
        memcpy(&stored.value, &arg->value, sizeof stored.value);
    return stored;
}

/* Args behind an event, two a record; how many records that took. */
static unsigned put_args(struct kymo_lane *lane, const struct stored *args, size_t count)
{
    unsigned records = 0;
    for (size_t i = 0; i < count; i += 2, records++) {
        struct ring_args pair = {.kind = RING_ARGS,
                                 .first_key = args[i].key,
                                 .first_type = args[i].type,
                                 .first_value = args[i].value};
        if (i + 1 < count) {
            pair.second_key = args[i + 1].key;
            pair.second_type = args[i + 1].type;
            pair.second_value = args[i + 1].value;
        }
        memcpy(next_slot(lane), &pair, sizeof pair);
    }
    return records;
}

/* A record that has all but its args, which follow. */
static void put_event(struct kymo_lane *lane, struct ring_record *event, const struct stored *args,
                      size_t count)
{
    if (event->id == 0 && count > 0) {
        event->kind |= RING_ARG_INSIDE;
        event->type = args[0].type;
        event->id = args[0].key;
        event->value = args[0].value;
        args++;
        count--;
    }
    *next_slot(lane) = *event;
    unsigned records = put_args(lane, args, count);
    if (records > 0) {
        struct ring_header *header = lane->header;
        __atomic_store_n(&header->args_before, header->args, __ATOMIC_RELEASE);
        __atomic_store_n(&header->args_head, lane->head + 1 + records, __ATOMIC_RELEASE);
        __atomic_store_n(&header->args, header->args + records, __ATOMIC_RELEASE);
    }
    publish(lane, 1 + records);
}

/* Looking names up may take long; it belongs to no range. So the clock is read before it where a
 * range ends, after it otherwise. */
static void record(struct kymo_lane *lane, struct kymo_site *site, struct ring_record *event,
                   const struct kymo_arg *args, size_t count)
{
    struct stored stored[RING_MOST_ARGS];
    bool ends = event->kind == RING_END;
    if (event->ticks == 0 && ends)
        event->ticks = clock_ticks();
    count = count < RING_MOST_ARGS ? count : RING_MOST_ARGS;
    for (size_t i = 0; i < count; i++)
        stored[i] = store_arg(site, &args[i]);
    if (event->ticks == 0)
        event->ticks = clock_ticks();
    put_event(lane, event, stored, count);
}

void kymo_event_args(struct kymo_site *site, enum kymo_kind kind, uint64_t id,
                     const struct kymo_arg *args, size_t count)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    record(lane, site,
           &(struct ring_record){
               .name = site_id(site), .kind = (uint8_t)kind, .core = RING_NO_CORE, .id = id},
           args, count);
}

void kymo_named_event(const char *name, enum kymo_kind kind, uint64_t id,
                      const struct kymo_arg *args, size_t count)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    record(lane, NULL,
           &(struct ring_record){.name = names_text(name, RING_SOFTWARE, 1),
                                 .kind = (uint8_t)kind,
                                 .core = RING_NO_CORE,
                                 .id = id},
           args, count);
}

uint32_t kymo_type_id(const char *name, enum kymo_group group, int level)
{
    mine(); /* a child of fork begins its capture, and with it its names */
    return names_text(name, (enum ring_group)group, level);
}

void kymo_lane_record(struct kymo_lane *lane, const struct kymo_lane_event *event,
                      const struct kymo_arg *args, size_t count)
{
    lane = lane ? lane : mine();
    if (!lane || lane->session != __atomic_load_n(&lanes_session, __ATOMIC_RELAXED))
        return;
    if (!LIKELY(filter_passes(event->type, event->core, lane)))
        return;
    record(lane, NULL,
           &(struct ring_record){.ticks = event->ticks,
                                 .name = event->type,
                                 .kind = event->kind,
                                 .core = event->core,
                                 .id = event->id},
           args, count);
}
