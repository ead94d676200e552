/*
 * A client of the system trace that keeps two event types under older spellings of their names, and
 * prints what the configuration says is on. Also built as C++. Its exit code is the number of calls
 * that failed.
 */
#include <nrt/nrt_sys_trace.h>

#include <stdio.h>
#include <stdlib.h>

struct type_list {
    const char **names;
    size_t count;
};

static int failures;

static void expect(NRT_STATUS status)
{
    failures += status != NRT_SUCCESS;
}

static void set(nrt_sys_trace_config_t *trace, const char *type, bool on)
{
    expect(nrt_sys_trace_config_set_capture_enabled_for_event_type(trace, type, on));
}

/* The array and its strings belong to whoever asked. */
static void release(struct type_list *list)
{
    while (list->count > 0)
        free((void *)list->names[--list->count]);
    free((void *)list->names);
}

int main(void)
{
    nrt_sys_trace_config_t *trace;
    struct type_list known = {NULL, 0}, on = {NULL, 0};
    expect(nrt_sys_trace_config_allocate(&trace));
    nrt_sys_trace_config_set_defaults(trace);

    set(trace, "device_exec", false);
    expect(nrt_sys_trace_get_event_types(&known.names, &known.count));
    for (size_t i = 0; i < known.count; i++)
        set(trace, known.names[i], false);
    set(trace, "model_load", true);
    set(trace, "nrt_execute", true);

    expect(nrt_sys_trace_config_get_enabled_event_types(trace, &on.names, &on.count));
    for (size_t i = 0; i < on.count; i++)
        puts(on.names[i]);
    release(&on);
    release(&known);

    expect(nrt_sys_trace_start(trace));
    expect(nrt_sys_trace_stop());
    nrt_sys_trace_config_free(trace);
    return failures;
}
