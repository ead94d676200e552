/*
 * Recording an event: the hot path. A look at the thread's lane, the clock, one record of 32 bytes
 * and the new head; no lock, no system call, no atomic read-modify-write.
 */
#include "capture/recorder/clock.h"
#include "capture/recorder/filter.h"
#include "capture/recorder/lane.h"
#include "capture/recorder/names.h"
#include "kymo/kymo.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

static_assert((int)KYMO_MOST_ARGS == (int)RING_MOST_ARGS && KYMO_NO_CORE == RING_NO_CORE &&
                  (int)KYMO_KIND_RANGE == (int)RING_RANGE && (int)KYMO_TEXT == (int)RING_TEXT &&
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

/* The capture ended after the event began. Names are no longer given out then, and the rings are
 * being read: an event that would lack a name is not recorded. */
static inline bool is_over(const struct kymo_lane *lane)
{
    return __atomic_load_n(&lanes_session, __ATOMIC_RELAXED) != lane->session;
}

/* Where an event of one record goes. It may be abandoned from here to publish_one. */
static inline struct ring_record *next_slot(struct kymo_lane *lane)
{
    if (!LIKELY(lane->position.slot != lane->limit)) {
        struct lane_position position = lane->position;
        lane_turn(lane, &position);
        lane_go_to(lane, &position);
    }
    return lane->position.slot;
}

/* Everything before the head is whole, even if the program dies at this very moment. */
static inline void publish_one(struct kymo_lane *lane, struct ring_record *record)
{
    struct lane_position behind = {record + 1, lane->position.base};
    __atomic_signal_fence(__ATOMIC_RELEASE); /* a handler sees whole events too */
    lane->position.slot = behind.slot;
    __atomic_store_n(&lane->header->head, lane_position_head(&behind), __ATOMIC_RELEASE);
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
    if (!LIKELY(name != 0) && is_over(lane))
        return;
    struct ring_record *record = next_slot(lane);
    *record = (struct ring_record){
        .ticks = clock_ticks(), .name = name, .kind = (uint8_t)kind, .core = RING_NO_CORE};
    publish_one(lane, record);
}

void kymo_event_int(struct kymo_site *site, enum kymo_kind kind, const char *key, int64_t value)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    uint32_t name = site_id(site);
    uint32_t key_id = first_key(site, key);
    if (!LIKELY(name != 0 && key_id != 0) && is_over(lane))
        return;
    struct ring_record *record = next_slot(lane);
    *record = (struct ring_record){.ticks = clock_ticks(),
                                   .name = name,
                                   .kind = (uint8_t)((unsigned)kind | RING_ARG_INSIDE),
                                   .type = RING_INT,
                                   .core = RING_NO_CORE,
                                   .id = key_id,
                                   .value = (uint64_t)value};
    publish_one(lane, record);
}

/* An arg as it is stored. */
struct stored {
    uint32_t key;
    uint8_t type;
    uint64_t value;
    const char *text; /* that goes into the ring */
};

/* An event as it is stored. */
struct parts {
    const char *name; /* that goes into the ring */
    struct stored args[RING_MOST_ARGS];
    size_t count;
    bool has_text; /* of either kind */
};

static struct stored store_arg(struct kymo_site *site, const struct kymo_arg *arg)
{
    struct stored stored = {.type = (uint8_t)arg->type};
    stored.key = site ? names_site_key(site, arg->key) : names_key(arg->key);
    if (arg->type != KYMO_TEXT) {
        memcpy(&stored.value, &arg->value, sizeof stored.value);
        return stored;
    }
    stored.value = names_value(arg->value.text);
    if (stored.value == 0 && arg->value.text) {
        stored.type = RING_TEXT_INSIDE;
        stored.text = arg->value.text;
    }
    return stored;
}

static inline struct ring_record *advance(struct kymo_lane *lane, struct lane_position *position)
{
    if (!LIKELY(position->slot != lane->limit))
        lane_turn(lane, position);
    return position->slot++;
}

/* Args behind an event, two a record; returns how many records that took. */
static unsigned put_args(struct kymo_lane *lane, struct lane_position *position,
                         const struct stored *args, size_t count)
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
        memcpy(advance(lane, position), &pair, sizeof pair);
    }
    return records;
}

/* A text behind an event, in at most this many records; a cut one ends with dots. Returns how many
 * records that took. */
static unsigned put_text(struct kymo_lane *lane, struct lane_position *position, const char *text,
                         unsigned most)
{
    static const char dots[] = "...";
    unsigned records = 0;
    size_t room = (size_t)most * RING_CHARS_SIZE, left = strnlen(text, room + 1);
    bool is_cut = left > room;
    if (is_cut)
        names_count_lost();
    left = is_cut ? room : left;
    for (bool more = most > 0; more; records++) {
        size_t size = left < RING_CHARS_SIZE ? left : RING_CHARS_SIZE;
        char chars[RING_CHARS_SIZE] = {0};
        memcpy(chars, text, size);
        text += size;
        left -= size;
        more = left > 0;
        if (is_cut && !more)
            memcpy(chars + size - strlen(dots), dots, strlen(dots));
        struct ring_chars piece = {.kind = RING_CHARS,
                                   .size = (uint8_t)(size | (more ? RING_CHARS_MORE : 0u))};
        memcpy(piece.first, chars, sizeof piece.first);
        memcpy(piece.rest, chars + sizeof piece.first, sizeof piece.rest);
        memcpy(advance(lane, position), &piece, sizeof piece);
    }
    return records;
}

/* Texts of an event, the name's first. */
static unsigned put_texts(struct kymo_lane *lane, struct lane_position *position,
                          const struct parts *parts)
{
    unsigned records = 0;
    if (parts->name)
        records += put_text(lane, position, parts->name, RING_MOST_CHARS);
    for (size_t i = 0; i < parts->count; i++)
        if (parts->args[i].text)
            records += put_text(lane, position, parts->args[i].text, RING_MOST_CHARS - records);
    return records;
}

/* Follow-up records are counted before head moves. The event before may have been abandoned after
 * it counted its own. */
static void count_args(struct kymo_lane *lane, uint64_t head, unsigned records)
{
    struct ring_header *header = lane->header;
    uint64_t before = header->args_head > lane_position_head(&lane->position) ? header->args_before
                                                                              : header->args;
    __atomic_store_n(&header->args_before, before, __ATOMIC_RELEASE);
    __atomic_store_n(&header->args_head, head, __ATOMIC_RELEASE);
    __atomic_store_n(&header->args, before + records, __ATOMIC_RELEASE);
}

/* A record that has all but its args, which follow. */
static void put_event(struct kymo_lane *lane, struct ring_record *event, const struct parts *parts)
{
    const struct stored *args = parts->args;
    size_t count = parts->count;
    struct lane_position position = lane->position;
    if (event->id == 0 && count > 0 && event->kind != RING_RANGE) {
        event->kind |= RING_ARG_INSIDE;
        event->type = args[0].type;
        event->id = args[0].key;
        event->value = args[0].value;
        args++;
        count--;
    }
    *advance(lane, &position) = *event;
    unsigned records = put_args(lane, &position, args, count);
    if (parts->has_text)
        records += put_texts(lane, &position, parts);
    uint64_t head = lane_position_head(&position);
    if (records > 0)
        count_args(lane, head, records);
    __atomic_signal_fence(__ATOMIC_RELEASE);
    if (LIKELY(position.base == lane->position.base))
        lane->position.slot = position.slot;
    else
        lane_go_to(lane, &position);
    __atomic_store_n(&lane->header->head, head, __ATOMIC_RELEASE);
}

/* Looking names up may take long; it belongs to no range. So the clock is read before it where a
 * range ends, after it otherwise. */
static void record(struct kymo_lane *lane, struct kymo_site *site, const char *name,
                   struct ring_record *event, const struct kymo_arg *args, size_t count)
{
    struct parts parts;
    bool ends = event->kind == RING_END;
    if (event->ticks == 0 && ends)
        event->ticks = clock_ticks();
    parts.name = name;
    parts.has_text = name != NULL;
    parts.count = count < RING_MOST_ARGS ? count : RING_MOST_ARGS;
    for (size_t i = 0; i < parts.count; i++) {
        parts.args[i] = store_arg(site, &args[i]);
        parts.has_text |= parts.args[i].text != NULL;
    }
    if (is_over(lane))
        return;
    if (event->ticks == 0)
        event->ticks = clock_ticks();
    put_event(lane, event, &parts);
}

void kymo_event_args(struct kymo_site *site, enum kymo_kind kind, uint64_t id,
                     const struct kymo_arg *args, size_t count)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    record(lane, site, NULL,
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
    uint32_t number = names_text(name, RING_SOFTWARE, 1);
    bool inside = number == 0 && name;
    record(lane, NULL, inside ? name : NULL,
           &(struct ring_record){.name = inside ? RING_NAME_INSIDE : number,
                                 .kind = (uint8_t)kind,
                                 .core = RING_NO_CORE,
                                 .id = id},
           args, count);
}

void kymo_range(struct kymo_lane *lane, uint32_t type, uint64_t begin, uint64_t end)
{
    lane = lane ? lane : mine();
    if (!lane || !LIKELY(!is_over(lane)))
        return;
    struct ring_record *record = next_slot(lane);
    *record = (struct ring_record){.ticks = begin,
                                   .name = type,
                                   .kind = RING_RANGE,
                                   .core = RING_NO_CORE,
                                   .value = end ? end : clock_ticks()};
    publish_one(lane, record);
}

void kymo_named_range(const char *name, uint64_t begin, uint64_t end, const struct kymo_arg *args,
                      size_t count)
{
    struct kymo_lane *lane = mine();
    if (!lane)
        return;
    end = end ? end : clock_ticks();
    uint32_t number = names_text(name, RING_SOFTWARE, 1);
    bool inside = number == 0 && name;
    record(lane, NULL, inside ? name : NULL,
           &(struct ring_record){.ticks = begin,
                                 .name = inside ? RING_NAME_INSIDE : number,
                                 .kind = RING_RANGE,
                                 .core = RING_NO_CORE,
                                 .value = end},
           args, count);
}

uint32_t kymo_type_id(const char *name, enum kymo_group group, int level)
{
    mine(); /* a child of fork begins its capture, and with it its names */
    uint32_t id = names_text(name, (enum ring_group)group, level);
    if (id == 0 && name)
        names_count_lost();
    return id;
}

uint32_t kymo_type_id_at(const char *name, int level, const char *file, uint32_t line)
{
    mine();
    return names_located(name, level, file, line);
}

void kymo_lane_record(struct kymo_lane *lane, const struct kymo_lane_event *event,
                      const struct kymo_arg *args, size_t count)
{
    lane = lane ? lane : mine();
    if (!lane || is_over(lane))
        return;
    if (!LIKELY(filter_passes(event->type, event->core, lane)))
        return;
    record(lane, NULL, NULL,
           &(struct ring_record){.ticks = event->ticks,
                                 .name = event->type,
                                 .kind = event->kind,
                                 .core = event->core,
                                 .id = event->id},
           args, count);
}
