/*
 * Measures reading a capture on one thread, compared with a memcpy of the file, the lower bound.
 * Prints `name seconds` lines, each the best of several runs, and the number of events.
 *
 * bench_import file [runs]
 */
#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 15, COPY_BLOCK = 256 << 10 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct bench {
    struct capture capture;
    struct file file;
    struct pool *pool;
    struct source *source;
    struct error err;
    char *block;
    int runs;
};

/* memcpy of the file into a buffer that stays in cache: reads every byte once. */
static bool copy_file(struct bench *bench)
{
    for (size_t at = 0; at < bench->file.size; at += COPY_BLOCK) {
        size_t left = bench->file.size - at;
        size_t size = left < COPY_BLOCK ? left : COPY_BLOCK;
        memcpy(bench->block, bench->file.data + at, size);
        __asm__ volatile("" : : "r"(bench->block) : "memory");
        file_release(&bench->file, bench->file.data + at, size);
    }
    return true;
}

static bool lay_out(struct bench *bench)
{
    source_close(bench->source);
    bench->source = NULL;
    return import_capture(&bench->capture, bench->pool, &bench->source, &bench->err);
}

static bool decode(struct bench *bench)
{
    return source_read(bench->source, &sink_discard, bench->pool, &bench->err);
}

static bool keep_in_memory(struct bench *bench)
{
    struct memory_trace trace;
    memory_trace_init(&trace);
    bool ok = source_read(bench->source, &trace.sink, bench->pool, &bench->err);
    memory_trace_free(&trace);
    return ok;
}

static bool measure(struct bench *bench, const char *name, bool (*work)(struct bench *bench))
{
    double best = 1e9;
    for (int i = 0; i < bench->runs; i++) {
        double start = now();
        if (!work(bench))
            return false;
        double taken = now() - start;
        best = taken < best ? taken : best;
    }
    printf("%s %.6f\n", name, best);
    return true;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: bench_import FILE [RUNS]\n");
        return 2;
    }
    struct mem_limits limits = mem_default_limits();
    mem_limit(&limits);
    struct bench bench = {.pool = pool_create(1),
                          .block = mem_alloc(COPY_BLOCK),
                          .runs = count > 2 ? atoi(arguments[2]) : RUNS};
    bool ok = file_open(&bench.file, arguments[1], &bench.err) &&
              capture_find(&bench.capture, arguments[1], &bench.err) &&
              measure(&bench, "copy", copy_file) && measure(&bench, "layout", lay_out) &&
              measure(&bench, "decode", decode) && measure(&bench, "memory", keep_in_memory);
    if (ok) {
        uint64_t events = 0;
        const struct track *track;
        array_each (track, &bench.source->catalog.tracks)
            events += track->events;
        printf("events %llu\n", (unsigned long long)events);
    } else {
        char line[ERROR_LINE_SIZE];
        fprintf(stderr, "%s\n", error_line(&bench.err, line));
    }
    source_close(bench.source);
    capture_free(&bench.capture);
    file_close(&bench.file);
    pool_destroy(bench.pool);
    mem_free(bench.block);
    return ok ? 0 : 1;
}
