/*
 * nrt_trace_start and nrt_trace_stop: the system trace of the process, into a file.
 */
#include "neuron/runtime/runtime.h"

#include <errno.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_sys_trace.h>
#include <stdio.h>
#include <string.h>

static atomic_bool is_tracing;

static NRT_STATUS start(bool trace_mem)
{
    static const char *const memory[] = {"nrt_tensor_allocate", "nrt_tensor_free",
                                         "nrt_dma_mem_alloc", "nrt_dma_mem_dealloc"};
    nrt_sys_trace_config_t *config;
    NRT_STATUS status = nrt_sys_trace_config_allocate(&config);
    if (status != NRT_SUCCESS)
        return status;
    for (size_t i = 0; !trace_mem && i < sizeof memory / sizeof *memory; i++)
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, memory[i], false);
    status = nrt_sys_trace_start(config);
    nrt_sys_trace_config_free(config);
    is_tracing = status == NRT_SUCCESS || is_tracing;
    return status;
}

NRT_STATUS nrt_trace_start(bool trace_mem)
{
    IN_RUNTIME(start(trace_mem));
}

static NRT_STATUS write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wbe");
    bool ok = file && fwrite(text, 1, size, file) == size;
    if (file && fclose(file) != 0)
        ok = false;
    if (!ok)
        rt_error(RT_NRT, "cannot write %s: %s", path, strerror(errno));
    return ok ? NRT_SUCCESS : NRT_FAILURE;
}

static NRT_STATUS stop(const char *path)
{
    if (!path || !*path)
        return NRT_INVALID;
    if (!atomic_exchange(&is_tracing, false))
        return NRT_UNINITIALIZED;
    char *text;
    size_t size;
    NRT_STATUS status = nrt_sys_trace_fetch_events(&text, &size, NULL);
    if (status == NRT_SUCCESS) {
        status = write_file(path, text, size);
        nrt_sys_trace_buffer_free(text);
    }
    nrt_sys_trace_stop();
    return status;
}

NRT_STATUS nrt_trace_stop(const char *filename)
{
    IN_RUNTIME(stop(filename));
}
