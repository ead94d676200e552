/*
 * What an event type means for performance, from its name: calls of the CUDA, HIP and PJRT
 * runtimes, of the frameworks above them, and device work that moves data. Names come from the
 * libraries, so one table serves every format; a name that no pattern has is plain.
 */
#include "analyze/profile/analysis_passes.h"

enum form {
    EXACTLY,  /* the name */
    STARTS,   /* the name starts with it */
    HAS,      /* the name contains it, in any case; the pattern is in lower case */
    FUNCTION, /* a Python function of this name, in any file */
};

struct pattern {
    enum form form;
    const char *text;
    uint8_t class;
};

static const struct pattern host_patterns[] = {
    /* Compilation, and loading what was compiled. */
    {STARTS, "PJRT_Client_Compile", HOST_COMPILE},
    {STARTS, "PjRtCApiClient::Compile", HOST_COMPILE},
    {STARTS, "PjRtStreamExecutorClient::Compile", HOST_COMPILE},
    {STARTS, "TfrtCpuClient::Compile", HOST_COMPILE},
    {STARTS, "TfrtTpuClient::Compile", HOST_COMPILE},
    {STARTS, "XlaCompile", HOST_COMPILE},
    {STARTS, "CompileModuleToLlvmIr", HOST_COMPILE},
    {STARTS, "CompileToBackendResult", HOST_COMPILE},
    {STARTS, "CompileSingleModule", HOST_COMPILE},
    {STARTS, "OptimizeHloModule", HOST_COMPILE},
    {STARTS, "backend_compile", HOST_COMPILE},
    {FUNCTION, "backend_compile_and_load", HOST_COMPILE},
    {FUNCTION, "backend_compile", HOST_COMPILE},
    {FUNCTION, "compile_or_get_cached", HOST_COMPILE},
    {FUNCTION, "_cached_compilation", HOST_COMPILE},
    {FUNCTION, "trace_to_jaxpr_nocache", HOST_COMPILE},
    {FUNCTION, "_trace_for_jit", HOST_COMPILE},
    {FUNCTION, "compile_inner", HOST_COMPILE},
    {FUNCTION, "compile_fx", HOST_COMPILE},
    {HAS, "(dynamo_timed)", HOST_COMPILE},
    {STARTS, "cuModuleLoad", HOST_COMPILE},
    {STARTS, "cuLibraryLoad", HOST_COMPILE},
    {STARTS, "hipModuleLoad", HOST_COMPILE},
    {STARTS, "nrt_load", HOST_COMPILE},
    /* Waiting for input. */
    {HAS, "dataloader", HOST_INPUT},
    {HAS, "data_load", HOST_INPUT},
    {HAS, "load_data", HOST_INPUT},
    {HAS, "load_batch", HOST_INPUT},
    {HAS, "next_batch", HOST_INPUT},
    {HAS, "get_batch", HOST_INPUT},
    {HAS, "fetch_batch", HOST_INPUT},
    {HAS, "wait for batch", HOST_INPUT},
    {HAS, "load batch", HOST_INPUT},
    {HAS, "next batch", HOST_INPUT},
    {FUNCTION, "_next_data", HOST_INPUT},
    {STARTS, "Iterator::", HOST_INPUT},
    {STARTS, "IteratorGetNext", HOST_INPUT},
    /* Allocation by the driver; allocators that keep a pool rarely call it. */
    {EXACTLY, "cudaMalloc", HOST_ALLOCATION},
    {EXACTLY, "cudaFree", HOST_ALLOCATION},
    {EXACTLY, "cudaMallocHost", HOST_ALLOCATION},
    {EXACTLY, "cudaHostAlloc", HOST_ALLOCATION},
    {EXACTLY, "cudaFreeHost", HOST_ALLOCATION},
    {EXACTLY, "cudaMallocManaged", HOST_ALLOCATION},
    {EXACTLY, "cuMemAlloc", HOST_ALLOCATION},
    {EXACTLY, "cuMemAlloc_v2", HOST_ALLOCATION},
    {EXACTLY, "cuMemFree", HOST_ALLOCATION},
    {EXACTLY, "cuMemFree_v2", HOST_ALLOCATION},
    {EXACTLY, "cuMemHostAlloc", HOST_ALLOCATION},
    {EXACTLY, "cuMemFreeHost", HOST_ALLOCATION},
    {EXACTLY, "hipMalloc", HOST_ALLOCATION},
    {EXACTLY, "hipFree", HOST_ALLOCATION},
    {EXACTLY, "hipHostMalloc", HOST_ALLOCATION},
    {EXACTLY, "hipHostFree", HOST_ALLOCATION},
    /* Waiting for the device. */
    {STARTS, "cudaStreamSynchronize", HOST_SYNC},
    {STARTS, "cudaDeviceSynchronize", HOST_SYNC},
    {STARTS, "cudaEventSynchronize", HOST_SYNC},
    {STARTS, "cuStreamSynchronize", HOST_SYNC},
    {STARTS, "cuCtxSynchronize", HOST_SYNC},
    {STARTS, "cuEventSynchronize", HOST_SYNC},
    {STARTS, "hipStreamSynchronize", HOST_SYNC},
    {STARTS, "hipDeviceSynchronize", HOST_SYNC},
    {STARTS, "hipEventSynchronize", HOST_SYNC},
    {EXACTLY, "cudaMemcpy", HOST_SYNC},
    {EXACTLY, "cudaMemcpy2D", HOST_SYNC},
    {EXACTLY, "cudaMemcpyToSymbol", HOST_SYNC},
    {EXACTLY, "cudaMemcpyFromSymbol", HOST_SYNC},
    {EXACTLY, "cudaMemcpy3D", HOST_SYNC},
    {EXACTLY, "cuMemcpy", HOST_SYNC},
    {EXACTLY, "cuMemcpy2D_v2", HOST_SYNC},
    {EXACTLY, "cuMemcpy3D_v2", HOST_SYNC},
    {EXACTLY, "cuMemcpyHtoD_v2", HOST_SYNC},
    {EXACTLY, "cuMemcpyDtoH_v2", HOST_SYNC},
    {EXACTLY, "hipMemcpy", HOST_SYNC},
    {EXACTLY, "hipMemcpyWithStream", HOST_SYNC},
    {EXACTLY, "cudaMemset", HOST_SYNC},
    {EXACTLY, "cudaMemset2D", HOST_SYNC},
    {EXACTLY, "cudaMemset3D", HOST_SYNC},
    {EXACTLY, "cuMemsetD8_v2", HOST_SYNC},
    {EXACTLY, "cuMemsetD16_v2", HOST_SYNC},
    {EXACTLY, "cuMemsetD32_v2", HOST_SYNC},
    {EXACTLY, "hipMemset", HOST_SYNC},
    {STARTS, "BlockHostUntil", HOST_SYNC},
    {STARTS, "BlockHostOn", HOST_SYNC},
    {STARTS, "np.asarray(jax.Array)", HOST_SYNC},
    {STARTS, "PjRtBuffer::Await", HOST_SYNC},
    {STARTS, "block_until_ready", HOST_SYNC},
    {FUNCTION, "block_until_ready", HOST_SYNC},
    {FUNCTION, "synchronize", HOST_SYNC},
    /* Handing work to the device. */
    {STARTS, "cudaLaunch", HOST_LAUNCH},
    {STARTS, "cuLaunch", HOST_LAUNCH},
    {STARTS, "cudaGraphLaunch", HOST_LAUNCH},
    {STARTS, "cuGraphLaunch", HOST_LAUNCH},
    {STARTS, "hipLaunch", HOST_LAUNCH},
    {STARTS, "hipExtLaunch", HOST_LAUNCH},
    {STARTS, "hipModuleLaunch", HOST_LAUNCH},
    {STARTS, "hipExtModuleLaunch", HOST_LAUNCH},
    {STARTS, "hipGraphLaunch", HOST_LAUNCH},
};

static const struct pattern work_patterns[] = {
    {HAS, "nccl", DEVICE_COMMUNICATION},
    {HAS, "rccl", DEVICE_COMMUNICATION},
    {HAS, "nvshmem", DEVICE_COMMUNICATION},
    {HAS, "cross_device_reduce", DEVICE_COMMUNICATION}, /* of inference servers */
    {HAS, "allreduce", DEVICE_COMMUNICATION},
    {HAS, "all_reduce", DEVICE_COMMUNICATION},
    {HAS, "allgather", DEVICE_COMMUNICATION},
    {HAS, "all_gather", DEVICE_COMMUNICATION},
    {HAS, "reducescatter", DEVICE_COMMUNICATION},
    {HAS, "reduce_scatter", DEVICE_COMMUNICATION},
    {STARTS, "all-reduce", DEVICE_COMMUNICATION},
    {STARTS, "all-gather", DEVICE_COMMUNICATION},
    {STARTS, "all-to-all", DEVICE_COMMUNICATION},
    {STARTS, "reduce-scatter", DEVICE_COMMUNICATION},
    {STARTS, "collective-permute", DEVICE_COMMUNICATION},
    {STARTS, "send.", DEVICE_COMMUNICATION},
    {STARTS, "send-done", DEVICE_COMMUNICATION},
    {STARTS, "recv.", DEVICE_COMMUNICATION},
    {STARTS, "recv-done", DEVICE_COMMUNICATION},
    {STARTS, "cc_running", DEVICE_COMMUNICATION},
    /* Between the host and a device; copies inside a device are its work. */
    {STARTS, "Memcpy HtoD", DEVICE_COPY},
    {STARTS, "Memcpy DtoH", DEVICE_COPY},
    {STARTS, "MemcpyH2D", DEVICE_COPY},
    {STARTS, "MemcpyD2H", DEVICE_COPY},
    {STARTS, "CopyHostToDevice", DEVICE_COPY},
    {STARTS, "CopyDeviceToHost", DEVICE_COPY},
    /* On TPUs what is on the row of operations is the wait for an asynchronous copy. */
    {STARTS, "copy-done", DEVICE_COPY},
    {STARTS, "infeed", DEVICE_COPY},
    {STARTS, "outfeed", DEVICE_COPY},
    {EXACTLY, "event_wait", DEVICE_WAIT},
    {EXACTLY, "Stream Wait Event", DEVICE_WAIT},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_ignoring_case(struct text name, struct text wanted)
{
    for (size_t at = 0; at + wanted.size <= name.size; at++) {
        size_t same = 0;
        while (same < wanted.size && lower(name.data[at + same]) == wanted.data[same])
            same++;
        if (same == wanted.size)
            return true;
    }
    return false;
}

/* The function of "$file.py:31 function" (JAX) or "file.py(31): function" (PyTorch); empty when it
 * is not a Python call. */
static struct text python_function(struct text name)
{
    struct text blank = {0};
    for (size_t i = name.size; i > 0 && !blank.data; i--)
        if (name.data[i - 1] == ' ')
            blank = (struct text){name.data + i, name.size - i};
    if (!blank.data)
        return TEXT("");
    bool is_jax = name.data[0] == '$';
    bool is_torch = blank.data - name.data >= 3 && memcmp(blank.data - 3, "): ", 3) == 0;
    return is_jax || is_torch ? blank : TEXT("");
}

static bool matches(const struct pattern *pattern, struct text name, struct text function)
{
    struct text text = text_of(pattern->text);
    switch (pattern->form) {
    case EXACTLY:
        return text_equal(name, text);
    case STARTS:
        return text_starts(name, text);
    case HAS:
        return has_ignoring_case(name, text);
    case FUNCTION:
        return text_equal(function, text);
    }
    return false;
}

static uint8_t class_of(struct text name, struct text function, const struct pattern *patterns,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (matches(&patterns[i], name, function))
            return patterns[i].class;
    return 0;
}

void classify_types(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    size_t types = catalog->types.count;
    analysis->host_class = mem_zeroed(types, sizeof *analysis->host_class);
    analysis->device_class = mem_zeroed(types, sizeof *analysis->device_class);
    for (uint32_t i = 0; i < types; i++) {
        struct text name = catalog_type_label(catalog, i);
        struct text function = python_function(name);
        analysis->host_class[i] =
            class_of(name, function, host_patterns, sizeof host_patterns / sizeof *host_patterns);
        if (analysis->type_roles[i] == TYPE_PROFILER)
            analysis->host_class[i] = HOST_PROFILER;
        analysis->device_class[i] =
            class_of(name, function, work_patterns, sizeof work_patterns / sizeof *work_patterns);
    }
}
