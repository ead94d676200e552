/*
 * events: the runtime's event types, and filters by type and core. Needs libc alone; it is linked
 * into every library that records.
 */
#ifndef KYMO_CAPTURE_EVENTS_EVENTS_H
#define KYMO_CAPTURE_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Named after the events, so that the interposer's table can derive the type from a function's
 * name. */
enum runtime_event {
#define PUBLISHED(name, group) EVENT_##name,
#define CALL(name)             EVENT_##name,
#include "capture/events/types.def"
    EVENT_TYPES
};

/* The number of published types, which come first. */
enum {
    EVENT_PUBLISHED = 0
#define PUBLISHED(name, group) +1
#include "capture/events/types.def"
};

enum event_group { EVENT_SOFTWARE, EVENT_HARDWARE, EVENT_GROUPS };

const char *event_type_name(enum runtime_event type);
enum event_group event_type_group(enum runtime_event type);
/* Looks up a name or an older spelling of it; EVENT_TYPES when it is unknown. */
enum runtime_event event_type_find(const char *name, size_t size);

enum { EVENT_CORES = 1024, EVENT_CORE_WORDS = EVENT_CORES / 64, EVENT_TYPE_WORDS = 2 };
_Static_assert(EVENT_TYPES <= 64 * EVENT_TYPE_WORDS, "every type has a bit");

struct event_filter {
    bool by_core, by_type; /* otherwise all pass */
    uint64_t cores[EVENT_CORE_WORDS];
    uint64_t types[EVENT_TYPE_WORDS];
    bool others[EVENT_GROUPS]; /* types unknown to this build */
};

static inline bool event_bit(const uint64_t *words, size_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static inline void event_set_bit(uint64_t *words, size_t bit, bool value)
{
    uint64_t mask = (uint64_t)1 << (bit % 64);
    words[bit / 64] = value ? words[bit / 64] | mask : words[bit / 64] & ~mask;
}

/* Passes everything. */
void event_filter_init(struct event_filter *filter);

/*
 * Parses a filter, "0,2,4-7" or "hardware,nrt_load,^cc_running"; "none" passes nothing, and NULL or
 * "" leave the filter unchanged. Invalid items are ignored and listed, quoted, in `bad` for a
 * message; returns false when there are any. If all items are invalid, the filter is unchanged.
 */
bool event_filter_cores(struct event_filter *filter, const char *text, char *bad, size_t size);
bool event_filter_types(struct event_filter *filter, const char *text, char *bad, size_t size);

/* Cores from EVENT_CORES on, which no list can name, pass unless cores are filtered. */
bool event_filter_has_core(const struct event_filter *filter, uint32_t core);
bool event_filter_has_name(const struct event_filter *filter, const char *name, size_t size,
                           enum event_group group);

#endif
