/*
 * Event types by number and by name.
 */
#include "capture/events/events.h"

#include <string.h>

static const char *const names[] = {
#define PUBLISHED(name, group) #name,
#define CALL(name)             #name,
#include "capture/events/types.def"
};

static const uint8_t groups[EVENT_TYPES] = {
#define PUBLISHED(name, group) [EVENT_##name] = EVENT_##group,
#include "capture/events/types.def"
};

static const struct {
    const char *spelling;
    enum runtime_event type;
} aliases[] = {
#define ALIAS(spelling, name) {#spelling, EVENT_##name},
#include "capture/events/types.def"
};

const char *event_type_name(enum runtime_event type)
{
    return names[type];
}

enum event_group event_type_group(enum runtime_event type)
{
    return (enum event_group)groups[type];
}

static bool is_text(const char *known, const char *name, size_t size)
{
    return strlen(known) == size && memcmp(known, name, size) == 0;
}

enum runtime_event event_type_find(const char *name, size_t size)
{
    for (size_t i = 0; i < EVENT_TYPES; i++)
        if (is_text(names[i], name, size))
            return (enum runtime_event)i;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is_text(aliases[i].spelling, name, size))
            return aliases[i].type;
    return EVENT_TYPES;
}
