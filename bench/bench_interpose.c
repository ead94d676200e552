/*
 * Measures the cost of a call recorded by the interposer. Run with libkymo-nrt.so preloaded, or
 * without for the bare call; bench_runtime.c is the runtime. Prints `name value` lines: nanoseconds
 * per call, the best of several rounds. The first argument is the number of calls.
 */
#include "capture/recorder/counter.h"

#include <nrt/nrt_status.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5 };

NRT_STATUS nrt_get_total_nc_count(uint32_t *count);
NRT_STATUS nrt_tensor_allocate(int placement, int vnc, size_t size, const char *name,
                               void **tensor);
NRT_STATUS nrt_tensor_write(void *tensor, const void *buf, size_t offset, size_t size);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void bare_counter(long count, void *tensor)
{
    (void)tensor;
    for (long i = 0; i < count; i++) {
        uint64_t ticks = counter_read();
        __asm__ volatile("" : : "r"(ticks));
    }
}

static void empty_calls(long count, void *tensor)
{
    uint32_t cores;
    (void)tensor;
    for (long i = 0; i < count; i++)
        nrt_get_total_nc_count(&cores);
}

static void writes(long count, void *tensor)
{
    for (long i = 0; i < count; i++)
        nrt_tensor_write(tensor, "", 0, 1);
}

static void measure(const char *name, void (*calls)(long, void *), long count, void *tensor)
{
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double started = now_ns();
        calls(count / ROUNDS, tensor);
        double taken = (now_ns() - started) / (double)(count / ROUNDS);
        best = taken < best ? taken : best;
    }
    printf("%s %.2f\n", name, best);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
    void *tensor = NULL;
    nrt_tensor_allocate(0, 0, 1, "input0", &tensor);
    measure("counter", bare_counter, count, tensor);
    measure("empty", empty_calls, count, tensor);
    measure("write", writes, count, tensor);
    return 0;
}
