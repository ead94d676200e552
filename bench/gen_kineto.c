/*
 * Generates Chrome traces of any size, shaped like those of torch.profiler for a training run on
 * one GPU, with shapes and memory: operators on two threads, launches, kernels and flows.
 *
 * gen_kineto --steps 1350 out.json (6.5 million events, 2 GB)
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    OPERATORS_PER_STEP = 2400,
    KERNELS_PER_STEP = 270,
    MEMORY_PER_STEP = 780,
    OPERATOR_NAMES = 120,
    KERNEL_NAMES = 44,
    STEP_NS = 31000000,
    PID = 4170,
};

static const uint64_t START_NS = 3844027222547496u;

struct clock {
    uint64_t ns;
    uint64_t operator_number, correlation;
};

static void put_time(struct output *out, const char *key, uint64_t ns)
{
    output_format(out, "\"%s\": %llu.%03llu", key, (unsigned long long)(ns / 1000),
                  (unsigned long long)(ns % 1000));
}

static void put_head(struct output *out, const char *category, const char *name, uint64_t number,
                     int pid, int tid, uint64_t start_ns, uint64_t duration_ns)
{
    output_format(out,
                  "  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s%llu\", \"pid\": %d, "
                  "\"tid\": %d,\n    ",
                  category, name, (unsigned long long)number, pid, tid);
    put_time(out, "ts", start_ns);
    output_text(out, ", ");
    put_time(out, "dur", duration_ns);
    output_text(out, ",\n    \"args\": {\n      ");
}

static void put_operator(struct output *out, struct clock *clock, int tid)
{
    static const char *const inputs[] = {
        "\"Concrete Inputs\": [\"\", \"15\", \"0\", \"\", \"\", \"False\", \"\"], \"Input type\": "
        "[\"float\", \"Scalar\", \"Scalar\", \"\", \"\", \"Scalar\", \"\"], \"Input Strides\": "
        "[[8192, 1], [], [], [], [], [], []], \"Input Dims\": [[2040, 8192], [], [], [], [], [], "
        "[]]",
        "\"Concrete Inputs\": [\"\", \"[8, 255, 8192]\"], \"Input type\": [\"c10::BFloat16\", "
        "\"ScalarList\"], \"Input Strides\": [[8192, 1], []], \"Input Dims\": [[2040, 8192], []]",
        "\"Sequence number\": 4723, \"Fwd thread id\": 1"};
    uint64_t number = clock->operator_number++;
    clock->ns += 3000 + number % 977;
    put_head(out, "cpu_op", "aten::operation_", number * 7 % OPERATOR_NAMES, PID, tid, clock->ns,
             2000 + number % 7919);
    output_format(out, "\"External id\": %llu,\"Record function id\": 0, %s, \"Ev Idx\": %llu\n",
                  (unsigned long long)(number + 1025), inputs[number % 3],
                  (unsigned long long)number);
    output_text(out, "    }\n  },\n");
}

static void put_memory(struct output *out, struct clock *clock, int tid)
{
    uint64_t number = clock->operator_number;
    output_format(out,
                  "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", "
                  "\"name\": \"[memory]\",\n    \"pid\": %d, \"tid\": %d,\n    ",
                  PID, tid);
    put_time(out, "ts", clock->ns);
    output_format(out,
                  ",\n    \"args\": {\n      \"Total Reserved\": 723517440, \"Total Allocated\": "
                  "%llu, \"Bytes\": %llu, \"Device Id\": 0, \"Device Type\": 1, \"Addr\": "
                  "139606569779200, \"finished\": false, \"Ev Idx\": %llu\n    }\n  },\n",
                  (unsigned long long)(550848000 + number % 4096 * 512),
                  (unsigned long long)(number % 100 * 512), (unsigned long long)number);
}

static void put_arrow(struct output *out, char phase, uint64_t id, int pid, int tid, uint64_t ns)
{
    output_format(out, "  {\n    \"ph\": \"%c\", \"id\": %llu, \"pid\": %d, \"tid\": %d, ", phase,
                  (unsigned long long)id, pid, tid);
    put_time(out, "ts", ns);
    output_format(out, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  },\n",
                  phase == 'f' ? ", \"bp\": \"e\"" : "");
}

static void put_kernel(struct output *out, struct clock *clock)
{
    uint64_t id = ++clock->correlation, start = clock->ns + 40000;
    put_head(out, "kernel",
             "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<"
             "unsigned int, 4, at::native::templates::cuda::random_from_to_kernel<at::CUDAGenerator"
             "Impl*>(at::TensorIteratorBase&, unsigned long, long)::{lambda()#1}>_",
             id * 13 % KERNEL_NAMES, 0, 7, start, 3000 + id % 9973);
    output_format(
        out,
        "\"External id\": %llu, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, "
        "\"correlation\": %llu, \"registers per thread\": 32, \"shared memory\": 0, "
        "\"blocks per SM\": 1.5151515, \"warps per SM\": 6.060606, \"grid\": [200, 1, 1], "
        "\"block\": [128, 1, 1], \"est. achieved occupancy %%\": 9\n    }\n  },\n",
        (unsigned long long)clock->operator_number, (unsigned long long)id);
    put_arrow(out, 'f', id, 0, 7, start);
    put_head(out, "cuda_runtime", "cudaLaunchKernel_v", 0, PID, PID, clock->ns, 2600 + id % 401);
    output_format(out, "\"External id\": %llu, \"cbid\": 211, \"correlation\": %llu\n    }\n  },\n",
                  (unsigned long long)clock->operator_number, (unsigned long long)id);
    put_arrow(out, 's', id, PID, PID, clock->ns);
}

static void put_step(struct output *out, struct clock *clock, uint64_t step)
{
    uint64_t start = clock->ns;
    put_head(out, "user_annotation", "ProfilerStep#", step, PID, PID, start, STEP_NS);
    output_text(out, "\"External id\": 1, \"Record function id\": 0, \"Ev Idx\": 0\n    }\n  },\n");
    for (uint64_t i = 0; i < OPERATORS_PER_STEP; i++) {
        int tid = i < OPERATORS_PER_STEP / 2 ? PID : PID + 30;
        put_operator(out, clock, tid);
        if (i * KERNELS_PER_STEP / OPERATORS_PER_STEP !=
            (i + 1) * KERNELS_PER_STEP / OPERATORS_PER_STEP)
            put_kernel(out, clock);
        if (i * MEMORY_PER_STEP / OPERATORS_PER_STEP !=
            (i + 1) * MEMORY_PER_STEP / OPERATORS_PER_STEP)
            put_memory(out, clock, tid);
    }
    clock->ns = start + STEP_NS;
}

static void put_beginning(struct output *out)
{
    output_text(out,
                "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, "
                "\"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320,\n      "
                "\"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132\n    }\n  ],\n"
                "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "
                "1790857026000000000,\n  \"traceEvents\": [\n");
}

static void put_end(struct output *out)
{
    output_format(out,
                  "  {\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": %d, "
                  "\"tid\": 0,\n    \"args\": {\n      \"name\": \"python3\"\n    }\n  }\n  ],\n"
                  "  \"traceName\": \"generated\"\n}\n",
                  PID);
}

int main(int count, char **arguments)
{
    uint64_t steps = 20;
    const char *path = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--steps") == 0 && i + 1 < count)
            steps = strtoull(arguments[++i], NULL, 10);
        else
            path = arguments[i];
    }
    struct output out;
    struct error err;
    if (!path || !output_open(&out, path, &err)) {
        fprintf(stderr, "usage: gen_kineto [--steps N] FILE\n");
        return 2;
    }
    struct clock clock = {.ns = START_NS};
    put_beginning(&out);
    for (uint64_t step = 0; step < steps; step++)
        put_step(&out, &clock, step);
    put_end(&out);
    if (!output_commit(&out, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}
