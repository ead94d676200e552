/*
 * events: the types of a runtime's events, and filters by type and by core. Needs libc alone; it
 * is part of all libraries that record.
 */
#ifndef KYMO_EVENTS_H
#define KYMO_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Named as the events are, so that the interposer's table can go from a function to its type. */
enum event_type {
#define PUBLISHED(name, group) EVENT_##name,
#define CALL(name)             EVENT_##name,
#include "events/types.def"
    EVENT_TYPES
};

/* The first so many are published. */
enum {
    EVENT_PUBLISHED = 0
#define PUBLISHED(name, group) +1
#include "events/types.def"
};

enum event_group { EVENT_SOFTWARE, EVENT_HARDWARE, EVENT_GROUPS };

const char *event_type_name(enum event_type type);
enum event_group event_type_group(enum event_type type);
/* By its name or an older spelling of it; EVENT_TYPES when it is not known. */
enum event_type event_type_find(const char *name, size_t size);

enum { EVENT_CORES = 1024, EVENT_CORE_WORDS = EVENT_CORES / 64, EVENT_TYPE_WORDS = 2 };
_Static_assert(EVENT_TYPES <= 64 * EVENT_TYPE_WORDS, "every type has a bit");

struct event_filter {
    bool by_core, by_type; /* else all pass */
    uint64_t cores[EVENT_CORE_WORDS];
    uint64_t types[EVENT_TYPE_WORDS];
    bool others[EVENT_GROUPS]; /* types that are not known here */
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

/* Lets everything pass. */
void event_filter_init(struct event_filter *filter);

/*
 * Takes a filter as people write it, "0,2,4-7" or "hardware,nrt_load,^cc_running"; "none" lets
 * nothing pass, and NULL or "" leave the filter as it is. Parts that cannot be read are left out,
 * and `bad` gets them, quoted, for a message; false when there are any. A text of which nothing can
 * be read leaves the filter as it is.
 */
bool event_filter_cores(struct event_filter *filter, const char *text, char *bad, size_t size);
bool event_filter_types(struct event_filter *filter, const char *text, char *bad, size_t size);

/* Cores from EVENT_CORES on, which no list can name, pass where cores are not filtered. */
bool event_filter_has_core(const struct event_filter *filter, uint32_t core);
bool event_filter_has_type(const struct event_filter *filter, enum event_type type);
bool event_filter_has_name(const struct event_filter *filter, const char *name, size_t size,
                           enum event_group group);

#endif
