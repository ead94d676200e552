/*
 * Measures an lttng-ust tracepoint, for comparison with the recorder in bench/run.py. Measured as
 * in bench_record.c; the session must be running.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 15, EVENTS = 200000 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double begun = now_ns();
        for (int i = 0; i < EVENTS; i++)
            lttng_ust_tracepoint(bench, instant, i);
        double taken = (now_ns() - begun) / EVENTS;
        best = taken < best ? taken : best;
    }
    printf("lttng %.3f\n", best);
    return 0;
}
