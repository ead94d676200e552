/*
 * Every function that takes memory, with each of its allocations failing in turn: it says
 * NRT_RESOURCE, and leaves nothing behind. Linked with --wrap for the allocating functions.
 */
#include "capture/neuron/trace.h"

#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int left = -1; /* allocations that succeed; -1: all */

static int fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static nrt_sys_trace_config_t *config;

static NRT_STATUS make_config(void)
{
    nrt_sys_trace_config_t *made;
    NRT_STATUS status = nrt_sys_trace_config_allocate(&made);
    if (status == NRT_SUCCESS)
        nrt_sys_trace_config_free(made);
    return status;
}

static NRT_STATUS make_fetch_options(void)
{
    nrt_sys_trace_fetch_options_t *made;
    NRT_STATUS status = nrt_sys_trace_fetch_options_allocate(&made);
    if (status == NRT_SUCCESS)
        nrt_sys_trace_fetch_options_free(made);
    return status;
}

static NRT_STATUS list_types(void)
{
    const char **types;
    size_t count;
    NRT_STATUS status = nrt_sys_trace_get_event_types(&types, &count);
    if (status == NRT_SUCCESS)
        nrt_sys_trace_free_event_types(types, count);
    return status;
}

static NRT_STATUS list_activities(void)
{
    const char **activities;
    size_t count;
    NRT_STATUS status = nrt_inspect_config_get_all_activity_types(&activities, &count);
    if (status == NRT_SUCCESS)
        nrt_inspect_config_free_activity_types(activities, count);
    return status;
}

static NRT_STATUS make_inspect(void)
{
    nrt_inspect_config_t *made;
    NRT_STATUS status = nrt_inspect_config_allocate(&made);
    if (status != NRT_SUCCESS)
        return status;
    status = nrt_inspect_config_set_output_dir(made, "somewhere");
    nrt_inspect_config_free(made);
    return status;
}

static NRT_STATUS make_continuous(void)
{
    nrt_profile_continuous_options_t *made;
    NRT_STATUS status = nrt_profile_continuous_options_allocate(&made);
    if (status != NRT_SUCCESS)
        return status;
    status = nrt_profile_continuous_options_set_output_dir(made, "somewhere");
    nrt_profile_continuous_options_free(made);
    return status;
}

/* What a fetch that failed had taken is lost, and the next one says so. */
static NRT_STATUS fetch(void)
{
    char *text;
    size_t size;
    for (int i = 0; i < 100; i++)
        trace_event(EVENT_nrt_load, 0, TRACE_POINT, 1, kymo_text("name", "resnet"));
    NRT_STATUS status = nrt_sys_trace_fetch_events(&text, &size, NULL);
    if (status != NRT_SUCCESS)
        return status;
    for (size_t i = 0; i < size; i++)
        putchar(text[i] == '\n' ? ' ' : text[i]);
    putchar('\n');
    nrt_sys_trace_buffer_free(text);
    return status;
}

static void try_all(const char *name, NRT_STATUS (*function)(void), int first, int least)
{
    for (int n = first;; n++) {
        left = n;
        NRT_STATUS status = function();
        int ran_out = left == -1;
        left = -1;
        if (!ran_out && status == NRT_SUCCESS) {
            printf("%s %s\n", name, n >= least ? "ok" : "took no memory");
            return;
        }
        if (status != NRT_RESOURCE) {
            printf("%s: %s when allocation %d failed\n", name, nrt_get_status_as_str(status), n);
            return;
        }
    }
}

int main(void)
{
    try_all("config", make_config, 0, 1);
    try_all("fetch options", make_fetch_options, 0, 1);
    try_all("types", list_types, 0, 31);
    try_all("activities", list_activities, 0, 5);
    try_all("inspect", make_inspect, 0, 2);
    try_all("continuous", make_continuous, 0, 2);
    if (nrt_sys_trace_config_allocate(&config) != NRT_SUCCESS ||
        nrt_sys_trace_start(config) != NRT_SUCCESS)
        return 1;
    left = 2; /* texts of the other events are missing then */
    for (int i = 0; i < 5; i++)
        trace_event(EVENT_nrt_load, 0, TRACE_POINT, 1, kymo_text("name", "resnet"));
    left = -1;
    try_all("fetch", fetch, 100, 102);
    nrt_sys_trace_stop();
    nrt_sys_trace_config_free(config);
    return 0;
}
