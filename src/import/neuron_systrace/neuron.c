/*
 * Neuron: event names and source tracks.
 */
#include "import/neuron_systrace/neuron.h"

#include "capture/events/events.h"

#include <stdio.h>

enum { NAME_SIZE = 64 };

bool neuron_is_hardware(struct text name)
{
    static const char *const names[] = {
        "nc_exec_running",  "cc_running",      "cc_exec_barrier",      "numerical_err",
        "nrt_model_switch", "nc_model_switch", "timestamp_sync_point", "hw_notify",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(name, text_of(names[i])))
            return true;
    return false;
}

bool neuron_is_call(struct text name)
{
    return text_starts(name, TEXT("nrt")) && event_type_find(name.data, name.size) != EVENT_TYPES;
}

uint32_t named_source(struct catalog *catalog, uint32_t process, enum source_role role,
                      struct text name)
{
    uint32_t source =
        catalog_group(catalog, process, TRACK_SOURCE, 0, catalog_string(catalog, name));
    catalog->tracks.items[source].source = role;
    return source;
}

uint32_t neuron_source(struct catalog *catalog, uint32_t process, bool is_hardware, bool has_core,
                       int64_t core)
{
    char name[NAME_SIZE];
    const char *kind = is_hardware ? "/device:NEURON" : "/neuron_rt";
    if (has_core)
        snprintf(name, sizeof name, "%s:%lld", kind, (long long)core);
    else
        snprintf(name, sizeof name, "%s", kind);
    uint32_t source =
        named_source(catalog, process, is_hardware ? SOURCE_DEVICE : SOURCE_HOST, text_of(name));
    catalog->tracks.items[source].sort_key = has_core ? core : -1;
    return source;
}

uint32_t named_type(struct catalog *catalog, struct idmap *types, uint32_t name)
{
    if (name == STRING_NONE)
        return 0;
    uint32_t type = idmap_get(types, name);
    if (type != IDMAP_NONE)
        return type;
    type = (uint32_t)catalog->types.count;
    *array_push(&catalog->types) = (struct event_type){.name = name};
    idmap_put(types, name, type);
    return type;
}
