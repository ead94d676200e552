/*
 * Looks up and calls the functions of a runtime's trace.
 */
#include "capture/neuron/systrace_api.h"

#include "capture/neuron/call.h"

#include <dlfcn.h>
#include <string.h>

bool systrace_api_find(struct systrace_api *api)
{
#define FIND(name) (api->name = (__typeof__(api->name))call_look_up("nrt_sys_trace_" #name))
    bool has_all = FIND(config_allocate) && FIND(config_free) && FIND(start) && FIND(stop) &&
                   FIND(fetch_events) && FIND(buffer_free);
    FIND(config_set_max_events_per_nc);
    if (!FIND(get_event_types) || !FIND(free_event_types))
        api->get_event_types = NULL;
    if (!FIND(fetch_options_allocate) || !FIND(fetch_options_free) ||
        !FIND(fetch_options_set_max_events_per_nc))
        api->fetch_options_allocate = NULL;
#undef FIND
    return has_all;
}

void systrace_api_pin(const struct systrace_api *api)
{
    Dl_info info;
    if (dladdr((void *)api->start, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void systrace_api_types(const struct systrace_api *api, uint64_t types[static EVENT_TYPE_WORDS])
{
    const char **names = NULL;
    size_t count = 0;
    memset(types, 0, EVENT_TYPE_WORDS * sizeof *types);
    if (!api->get_event_types || api->get_event_types(&names, &count) != NRT_SUCCESS || !names)
        return;
    for (size_t i = 0; i < count; i++) {
        enum runtime_event type =
            names[i] ? event_type_find(names[i], strlen(names[i])) : EVENT_TYPES;
        if (type != EVENT_TYPES)
            event_set_bit(types, type, true);
    }
    api->free_event_types(names, count);
}

NRT_STATUS systrace_api_start(const struct systrace_api *api, uint64_t events)
{
    nrt_sys_trace_config_t *config = NULL;
    NRT_STATUS status = api->config_allocate(&config);
    if (status != NRT_SUCCESS)
        return status;
    if (api->config_set_max_events_per_nc)
        api->config_set_max_events_per_nc(config, events);
    status = api->start(config);
    api->config_free(config);
    return status;
}
