/*
 * The system trace of a run: which events, and the file.
 */
#include "neuron/run/runner/trace.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_there(const struct library *library, struct error *err)
{
    return (library->nrt_sys_trace_config_allocate && library->nrt_sys_trace_config_free &&
            library->nrt_sys_trace_get_event_types && library->nrt_sys_trace_start &&
            library->nrt_sys_trace_stop && library->nrt_sys_trace_fetch_events &&
            library->nrt_sys_trace_buffer_free && library->nrt_sys_trace_fetch_options_allocate &&
            library->nrt_sys_trace_fetch_options_free &&
            library->nrt_sys_trace_fetch_options_set_nc_idx &&
            library->nrt_sys_trace_config_set_capture_enabled_for_nc &&
            library->nrt_sys_trace_config_set_capture_enabled_for_event_type) ||
           error_in_file(err, library->path, "the runtime has no system trace");
}

bool trace_types(const struct library *library, const char ***types, size_t *count,
                 struct error *err)
{
    return is_there(library, err) &&
           library_check(library, library->nrt_sys_trace_get_event_types(types, count),
                         "nrt_sys_trace_get_event_types", err);
}

/* Only what is named; without names all. */
static bool filter(const struct library *library, nrt_sys_trace_config_t *config,
                   const char *const *names, size_t name_count, struct error *err)
{
    const char **types;
    size_t count;
    if (name_count == 0)
        return true;
    if (!trace_types(library, &types, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        library->nrt_sys_trace_config_set_capture_enabled_for_event_type(config, types[i], false);
        free((void *)types[i]);
    }
    free((void *)types);
    for (size_t i = 0; i < name_count; i++)
        if (library->nrt_sys_trace_config_set_capture_enabled_for_event_type(config, names[i],
                                                                             true) != NRT_SUCCESS)
            return error_set(err, "%s is not an event type; --systrace-get-event-types lists them",
                             names[i]);
    return true;
}

bool runner_start_trace(const struct library *library, const char *const *types, size_t count,
                        uint32_t cores, struct error *err)
{
    nrt_sys_trace_config_t *config;
    if (!is_there(library, err) ||
        !library_check(library, library->nrt_sys_trace_config_allocate(&config),
                       "nrt_sys_trace_config_allocate", err))
        return false;
    for (uint32_t i = 0; i < cores; i++)
        library->nrt_sys_trace_config_set_capture_enabled_for_nc(config, i, true);
    bool ok =
        filter(library, config, types, count, err) &&
        library_check(library, library->nrt_sys_trace_start(config), "nrt_sys_trace_start", err);
    library->nrt_sys_trace_config_free(config);
    return ok;
}

bool trace_begin(const struct library *library, const struct runner_options *options,
                 struct error *err)
{
    return runner_start_trace(library, options->event_filters, options->event_filter_count, 0, err);
}

bool trace_end(const struct runner_worker *worker, struct error *err)
{
    const struct library *library = worker->library;
    char *text, line[1024];
    size_t size;
    struct output out;
    if (!library_check(library, library->nrt_sys_trace_fetch_events(&text, &size, NULL),
                       "nrt_sys_trace_fetch_events", err))
        return false;
    char *path = session_path(worker, 0);
    bool ok = output_open(&out, path, err);
    if (ok) {
        output_write(&out, text, size);
        ok = output_commit(&out, err);
    }
    library->nrt_sys_trace_buffer_free(text);
    library->nrt_sys_trace_stop();
    snprintf(line, sizeof line, "system trace written to %s", path);
    if (ok)
        worker->options->say(line);
    mem_free(path);
    return ok;
}
