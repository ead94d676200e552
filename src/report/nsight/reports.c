/*
 * The reports. Their SQL is in src/report/nsight/queries.
 */
#include "report/nsight/stats.h"

#include "report/nsight/embedded_queries.h"

#define NO_KERNELS "the capture has no kernels of a GPU"
#define NO_COPIES  "the capture has no copies and memsets of a GPU"
#define NO_CALLS   "the capture has no calls of the CUDA or HIP API"
#define NO_RANGES  "the capture has no NVTX ranges or annotations"
#define NO_LAUNCH  "no kernel is linked to the API call that launched it"
#define NO_WAITS   "no call of the CUDA API that waits for the GPU is in the capture"
#define NO_NCCL    "the capture has no kernels of NCCL or RCCL"
#define NO_INSIDE  "no range of the host has work of a GPU that was launched inside it"

const struct report reports[] = {
    {.name = "cuda_gpu_kern_sum",
     .alias = "gpukernsum",
     .title = "CUDA GPU Kernel Summary",
     .about = "kernels, by name",
     .why = NO_KERNELS,
     .sql = nsight_sql_cuda_gpu_kern_sum},

    {.name = "cuda_gpu_kern_gb_sum",
     .alias = "gpukerngbsum",
     .title = "CUDA GPU Kernel/Grid/Block Summary",
     .about = "kernels, by name, grid and block size",
     .why = NO_KERNELS,
     .sql = nsight_sql_cuda_gpu_kern_gb_sum},

    {.name = "cuda_gpu_mem_time_sum",
     .alias = "gpumemtimesum",
     .title = "CUDA GPU MemOps Summary (by Time)",
     .about = "copies and memsets, by kind: their time",
     .why = NO_COPIES,
     .sql = nsight_sql_cuda_gpu_mem_time_sum},

    {.name = "cuda_gpu_mem_size_sum",
     .alias = "gpumemsizesum",
     .title = "CUDA GPU MemOps Summary (by Size)",
     .about = "copies and memsets, by kind: their bytes, in millions",
     .why = NO_COPIES " whose size is known",
     .sql = nsight_sql_cuda_gpu_mem_size_sum},

    {.name = "cuda_gpu_sum",
     .alias = "gpusum",
     .title = "CUDA GPU Summary (Kernels/MemOps)",
     .about = "kernels, copies and memsets in one ranking",
     .why = "the capture has no work of a GPU",
     .sql = nsight_sql_cuda_gpu_sum},

    {.name = "cuda_api_sum",
     .alias = "cudaapisum",
     .title = "CUDA API Summary",
     .about = "calls of the CUDA API on the host, by function",
     .why = NO_CALLS,
     .sql = nsight_sql_cuda_api_sum},

    {.name = "cuda_api_gpu_sum",
     .alias = "apigpusum",
     .title = "CUDA Summary (API/Kernels/MemOps)",
     .about = "API calls, kernels, copies and memsets in one ranking",
     .why = "the capture has no calls of the CUDA API and no work of a GPU",
     .sql = nsight_sql_cuda_api_gpu_sum},

    {.name = "cuda_kern_exec_sum",
     .alias = "kernexecsum",
     .title = "CUDA Kernel Launch & Exec Time Summary",
     .about = "from launch to end: total (T), API call (A), queue (Q) and kernel (K) time",
     .why = NO_LAUNCH,
     .sql = nsight_sql_cuda_kern_exec_sum},

    {.name = "cuda_api_sync_sum",
     .title = "CUDA Synchronization Summary",
     .about = "calls that wait for the GPU, by function",
     .why = NO_WAITS,
     .sql = nsight_sql_cuda_api_sync_sum},

    {.name = "nvtx_pushpop_sum",
     .alias = "nvtx_sum",
     .title = "NVTX Push/Pop Range Summary",
     .about = "ranges of the host, by name: NVTX, record_function, TraceAnnotation",
     .why = NO_RANGES,
     .sql = nsight_sql_nvtx_pushpop_sum},

    {.name = "nvtx_gpu_proj_sum",
     .title = "NVTX GPU Projection Summary",
     .about = "ranges by name, from the first to the last work on the GPU launched inside them",
     .why = NO_INSIDE,
     .sql = nsight_sql_nvtx_gpu_proj_sum},

    {.name = "nvtx_kern_sum",
     .alias = "nvtxkernsum",
     .title = "NVTX Range Kernel Summary",
     .about = "ranges by name, with the kernels launched inside them",
     .why = NO_INSIDE,
     .sql = nsight_sql_nvtx_kern_sum},

    {.name = "nccl_sum",
     .title = "NCCL Kernel Summary",
     .about = "kernels of NCCL and RCCL, by name",
     .why = NO_NCCL,
     .sql = nsight_sql_nccl_sum},

    {.name = "nccl_gpu_overlap_sum",
     .title = "NCCL and Compute Overlap Summary",
     .about = "of each GPU: when NCCL runs, alone or beside kernels that compute",
     .why = NO_NCCL,
     .sql = nsight_sql_nccl_gpu_overlap_sum},

    {.name = "kernel_family_sum",
     .title = "Kernel Family Summary",
     .about = "kernels, by family: GEMM, attention, elementwise, communication and others",
     .why = NO_KERNELS,
     .sql = nsight_sql_kernel_family_sum},

    {.name = "hlo_op_sum",
     .title = "HLO Operation Summary",
     .about = "kernels, by HLO operation of XLA, with the line of the program",
     .why = "no kernel has an HLO operation: this is not an XLA program, or its names are missing",
     .sql = nsight_sql_hlo_op_sum},

    {.name = "framework_op_sum",
     .title = "Framework Operator Summary",
     .about = "kernels, by the operator of the framework that launched them",
     .why = "no kernel has an operator of a framework",
     .sql = nsight_sql_framework_op_sum},

    {.name = "gpu_gaps",
     .kind = REPORT_TRACE,
     .title = "GPU Gaps",
     .about = "when a GPU has no work for more than 20 us, the longest first, and why",
     .why = "no GPU is idle for more than 20 us between two pieces of work",
     .sql = nsight_sql_gpu_gaps},

    {.name = "gpu_time_util",
     .kind = REPORT_TRACE,
     .title = "GPU Time Utilization",
     .about = "when a GPU is busy for less than half of the time, in 30 parts of its time",
     .why = "every GPU is busy for at least half of each part of its time",
     .sql = nsight_sql_gpu_time_util},

    {.name = "cuda_memcpy_async",
     .kind = REPORT_TRACE,
     .title = "CUDA Async Memcpy with Pageable Memory",
     .about = "asynchronous copies from or to pageable memory, which are synchronous in effect",
     .why = "no asynchronous copy from or to pageable memory is in the capture",
     .sql = nsight_sql_cuda_memcpy_async},

    {.name = "cuda_memcpy_sync",
     .kind = REPORT_TRACE,
     .title = "CUDA Synchronous Memcpy",
     .about = "synchronous copies between host and GPU, which block the host",
     .why = "no synchronous copy between host and GPU is in the capture",
     .sql = nsight_sql_cuda_memcpy_sync},

    {.name = "cuda_memset_sync",
     .kind = REPORT_TRACE,
     .title = "CUDA Synchronous Memset",
     .about = "memsets through the synchronous API",
     .why = "no synchronous memset is in the capture",
     .sql = nsight_sql_cuda_memset_sync},

    {.name = "cuda_api_sync",
     .kind = REPORT_TRACE,
     .title = "CUDA Synchronization APIs",
     .about = "each call that waits for the GPU, the longest first",
     .why = NO_WAITS,
     .sql = nsight_sql_cuda_api_sync},

    {.name = "cuda_gpu_trace",
     .alias = "gputrace",
     .kind = REPORT_TRACE,
     .title = "CUDA GPU Trace",
     .about = "each kernel, copy and memset, by start",
     .why = "the capture has no work of a GPU",
     .sql = nsight_sql_cuda_gpu_trace},

    {.name = "cuda_api_trace",
     .alias = "cudaapitrace",
     .kind = REPORT_TRACE,
     .title = "CUDA API Trace",
     .about = "each call of the CUDA API, by start",
     .why = NO_CALLS,
     .sql = nsight_sql_cuda_api_trace},

    {.name = "cuda_kern_exec_trace",
     .alias = "kernexectrace",
     .kind = REPORT_TRACE,
     .title = "CUDA Kernel Launch & Exec Time Trace",
     .about = "each kernel with its launch, by the launch's start",
     .why = NO_LAUNCH,
     .sql = nsight_sql_cuda_kern_exec_trace},

    {.name = "nvtx_pushpop_trace",
     .kind = REPORT_TRACE,
     .title = "NVTX Push/Pop Range Trace",
     .about = "each range of the host, by start",
     .why = NO_RANGES,
     .sql = nsight_sql_nvtx_pushpop_trace},

    {.name = "nvtx_gpu_proj_trace",
     .kind = REPORT_TRACE,
     .title = "NVTX GPU Projection Trace",
     .about = "each range of the host with work on the GPU launched inside it",
     .why = NO_INSIDE,
     .sql = nsight_sql_nvtx_gpu_proj_trace},
};

const size_t report_count = sizeof reports / sizeof *reports;
