/*
 * Parses event filters from environment variables into bit sets. Invalid items are reported and
 * ignored; they never prevent a capture.
 */
#include "capture/events/events.h"

#include <stdio.h>
#include <string.h>

struct part {
    const char *text;
    size_t size;
};

/* The next item of a list, without surrounding white space; empty ones are skipped. */
static bool next_part(const char **list, struct part *part)
{
    static const char blanks[] = " \t\n";
    while (**list) {
        const char *text = *list + strspn(*list, blanks);
        const char *end = text + strcspn(text, ",");
        *list = *end ? end + 1 : end;
        while (end > text && strchr(blanks, end[-1]))
            end--;
        *part = (struct part){text, (size_t)(end - text)};
        if (part->size > 0)
            return true;
    }
    return false;
}

static bool part_is(struct part part, const char *word)
{
    return part.size == strlen(word) && memcmp(part.text, word, part.size) == 0;
}

/* Truncated to the size of the message. */
static void add_bad(char *bad, size_t size, struct part part)
{
    size_t used = strlen(bad);
    snprintf(bad + used, size - used, "%s\"%.*s\"", used ? ", " : "",
             (int)(part.size < size ? part.size : size), part.text);
}

void event_filter_init(struct event_filter *filter)
{
    memset(filter, 0, sizeof *filter);
    memset(filter->cores, 0xFF, sizeof filter->cores);
    memset(filter->types, 0xFF, sizeof filter->types);
    memset(filter->others, true, sizeof filter->others);
}

/* Parses digits from *at on; false when there are none or too many. */
static bool read_core(struct part part, size_t *at, uint32_t *core)
{
    size_t first = *at;
    for (*core = 0; *at < part.size && part.text[*at] >= '0' && part.text[*at] <= '9'; ++*at) {
        *core = *core * 10 + (uint32_t)(part.text[*at] - '0');
        if (*core >= EVENT_CORES)
            return false;
    }
    return *at > first;
}

static bool read_range(struct part part, uint32_t *first, uint32_t *last)
{
    size_t at = 0;
    if (!read_core(part, &at, first))
        return false;
    *last = *first;
    if (at < part.size && part.text[at] == '-') {
        at++;
        if (!read_core(part, &at, last))
            return false;
    }
    return at == part.size && *first <= *last;
}

bool event_filter_cores(struct event_filter *filter, const char *text, char *bad, size_t size)
{
    uint64_t cores[EVENT_CORE_WORDS] = {0};
    struct part part;
    uint32_t first, last;
    bool any = false;
    bad[0] = '\0';
    while (text && next_part(&text, &part)) {
        if (part_is(part, "none")) {
            any = true;
        } else if (read_range(part, &first, &last)) {
            any = true;
            for (uint32_t core = first; core <= last; core++)
                event_set_bit(cores, core, true);
        } else {
            add_bad(bad, size, part);
        }
    }
    if (any) {
        memcpy(filter->cores, cores, sizeof cores);
        filter->by_core = true;
    }
    return bad[0] == '\0';
}

/* Adds the group or type that an item names; false when it is unknown. */
static bool set_named(struct event_filter *filter, struct part part, bool value)
{
    bool software = part_is(part, "software"), hardware = part_is(part, "hardware");
    if (software || hardware) {
        enum event_group group = hardware ? EVENT_HARDWARE : EVENT_SOFTWARE;
        for (size_t i = 0; i < EVENT_TYPES; i++)
            if (event_type_group((enum runtime_event)i) == group)
                event_set_bit(filter->types, i, value);
        filter->others[group] = value;
        return true;
    }
    enum runtime_event type = event_type_find(part.text, part.size);
    if (type != EVENT_TYPES)
        event_set_bit(filter->types, type, value);
    return type != EVENT_TYPES;
}

/* Included and excluded types are collected apart and the excluded ones removed last, so that the
 * order of items does not matter. */
bool event_filter_types(struct event_filter *filter, const char *text, char *bad, size_t size)
{
    struct event_filter wanted = *filter, unwanted;
    struct part part;
    bool includes = false, excludes = false;
    memset(&unwanted, 0, sizeof unwanted);
    memset(wanted.types, 0, sizeof wanted.types);
    memset(wanted.others, 0, sizeof wanted.others);
    bad[0] = '\0';
    while (text && next_part(&text, &part)) {
        bool without = part.text[0] == '^';
        struct part name = {part.text + without, part.size - without};
        bool is_none = !without && part_is(part, "none");
        if (!is_none && !set_named(without ? &unwanted : &wanted, name, true)) {
            add_bad(bad, size, part);
            continue;
        }
        excludes |= without;
        includes |= !without;
    }
    if (!includes && !excludes)
        return bad[0] == '\0';
    if (includes)
        *filter = wanted;
    for (size_t i = 0; i < EVENT_TYPE_WORDS; i++)
        filter->types[i] &= ~unwanted.types[i];
    for (size_t i = 0; i < EVENT_GROUPS; i++)
        filter->others[i] &= !unwanted.others[i];
    filter->by_type = true;
    return bad[0] == '\0';
}

bool event_filter_has_core(const struct event_filter *filter, uint32_t core)
{
    if (!filter->by_core)
        return true;
    return core < EVENT_CORES && event_bit(filter->cores, core);
}

static bool event_filter_has_type(const struct event_filter *filter, enum runtime_event type)
{
    return !filter->by_type || event_bit(filter->types, type);
}

bool event_filter_has_name(const struct event_filter *filter, const char *name, size_t size,
                           enum event_group group)
{
    if (!filter->by_type)
        return true;
    enum runtime_event type = event_type_find(name, size);
    return type == EVENT_TYPES ? filter->others[group] : event_filter_has_type(filter, type);
}
