/*
 * String lists returned to callers, messages to the user, defaults from environment variables.
 */
#include "neuron/runtime/api/lists.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { DEFAULT_EVENTS = 1000000 };

static bool is_quiet(void)
{
    const char *level = secure_getenv("NEURON_RT_LOG_LEVEL_NRT");
    level = level ? level : secure_getenv("NEURON_RT_LOG_LEVEL");
    return level && strcasecmp(level, "QUIET") == 0;
}

void say(const char *format, ...)
{
    char line[512] = "kymo: ";
    size_t used = strlen(line);
    if (is_quiet())
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    used = strlen(line);
    line[used++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
}

NRT_STATUS config_set_path(char **path, const char *value)
{
    if (!value || !*value)
        return NRT_INVALID;
    char *copy = strdup(value);
    if (!copy)
        return NRT_RESOURCE;
    free(*path);
    *path = copy;
    return NRT_SUCCESS;
}

void list_free(const char **list, size_t count)
{
    for (size_t i = 0; list && i < count; i++)
        free((void *)list[i]);
    free((void *)list);
}

NRT_STATUS list_make(const char ***list, size_t *count, size_t max, list_name *name,
                     const void *context)
{
    const char **copy = calloc(max ? max : 1, sizeof *copy);
    size_t used = 0;
    if (!copy)
        return NRT_RESOURCE;
    for (size_t i = 0; i < max; i++) {
        const char *text = name(context, i);
        if (!text)
            continue;
        copy[used] = strdup(text);
        if (!copy[used]) {
            list_free(copy, used);
            return NRT_RESOURCE;
        }
        used++;
    }
    *list = copy;
    *count = used;
    return NRT_SUCCESS;
}

static const char *type_if_set(const void *types, size_t n)
{
    return event_bit(types, n) ? event_type_name((enum runtime_event)n) : NULL;
}

NRT_STATUS list_types(const char ***list, size_t *count, const uint64_t *types)
{
    return list_make(list, count, EVENT_PUBLISHED, type_if_set, types);
}

NRT_STATUS type_enable(uint64_t *types, const char *name, bool enabled)
{
    enum runtime_event type = event_type_find(name, strlen(name));
    if (type == EVENT_TYPES)
        return NRT_INVALID;
    event_set_bit(types, type, enabled);
    return NRT_SUCCESS;
}

/* How many cores the program may use: they are numbered from 0, whichever they are. */
static uint32_t visible_cores(void)
{
    struct event_filter list;
    char bad[64], *end;
    const char *cores = secure_getenv("NEURON_RT_VISIBLE_CORES");
    event_filter_init(&list);
    event_filter_cores(&list, cores, bad, sizeof bad);
    unsigned long count = 0;
    if (list.by_core) {
        for (uint32_t core = 0; core < EVENT_CORES; core++)
            count += event_bit(list.cores, core);
    } else if ((cores = secure_getenv("NEURON_RT_NUM_CORES"))) {
        count = strtoul(cores, &end, 10);
        count = *end ? 0 : count;
    }
    return count == 0 || count > RINGS_CORES ? RINGS_CORES : (uint32_t)count;
}

void config_everything(struct rings_config *config)
{
    uint32_t visible = visible_cores();
    memset(config, 0, sizeof *config);
    config->max_events = DEFAULT_EVENTS;
    memset(config->types, 0xFF, sizeof config->types);
    for (uint32_t core = 0; core < visible; core++)
        event_set_bit(config->cores, core, true);
}

static bool is_on(const char *variable)
{
    const char *value = secure_getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

static uint64_t events_from_environment(bool quiet)
{
    static const char variable[] = "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC";
    const char *value = secure_getenv(variable);
    if (!value || !*value)
        return DEFAULT_EVENTS;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (*end == '\0' && errno == 0 && *value != '-' && number > 0)
        return number;
    if (!quiet)
        say("%s=%s is not a number of events; using %d", variable, value, (int)DEFAULT_EVENTS);
    return DEFAULT_EVENTS;
}

/* Prints messages once per process, and not when libkymo has already printed the same. */
void config_from_environment(struct rings_config *config)
{
    static atomic_bool said;
    static const char cores[] = "NEURON_RT_INSPECT_EVENT_FILTER_NC",
                      types[] = "NEURON_RT_INSPECT_EVENT_FILTER_TYPE";
    bool quiet = atomic_exchange(&said, true) || is_on("NEURON_RT_INSPECT_ENABLE");
    struct event_filter filter;
    char bad[256];
    event_filter_init(&filter);
    config_everything(config);
    config->max_events = events_from_environment(quiet);
    if (!event_filter_cores(&filter, secure_getenv(cores), bad, sizeof bad) && !quiet)
        say("%s: ignored %s: not a core or range of cores", cores, bad);
    if (!event_filter_types(&filter, secure_getenv(types), bad, sizeof bad) && !quiet)
        say("%s: ignored %s: not an event type", types, bad);
    for (uint32_t core = 0; core < RINGS_CORES; core++)
        if (!event_filter_has_core(&filter, core))
            event_set_bit(config->cores, core, false);
    for (size_t i = 0; i < EVENT_TYPE_WORDS; i++)
        config->types[i] &= filter.types[i];
}
