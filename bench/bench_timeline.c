/*
 * Measures the timeline index on synthetic events: build rate, size, and latency of opening and
 * queries. Prints `name value` lines; times in seconds.
 *
 * bench_timeline index-file [events] [tracks] (100 million events on 512 tracks)
 */
#include "store/timeline/timeline.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SHAPES = 8,
    NAMES = 600,
    LANE_LEVEL = 3, /* as in profiles: the UI shows these */
    VISIBLE = 50,
    WIDTH = 2000,
    QUERIES = 300,
    COLD_QUERIES = 20,
    PARTS = 10
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Mostly small, sometimes large: a uniform number of bits, at most `most`. */
static int64_t random_ns(unsigned most)
{
    unsigned bits = 6 + (unsigned)(next_random() % (most - 6));
    return (int64_t)(next_random() & (((uint64_t)1 << bits) - 1)) * 1000;
}

struct shape {
    int64_t *start_ps, *duration_ps;
    uint32_t *name;
};

/* A stream of consecutive kernels. */
static void make_stream(struct shape *shape, size_t count)
{
    int64_t time = 0;
    for (size_t i = 0; i < count; i++) {
        time += random_ns(14);
        shape->start_ps[i] = time;
        shape->duration_ps[i] = random_ns(18) + 1000;
        shape->name[i] = (uint32_t)(next_random() % 120);
        time += shape->duration_ps[i];
    }
}

/* A thread of nested calls: four children each, three levels. */
static void make_thread(struct shape *shape, size_t count)
{
    int64_t time = 0;
    for (size_t i = 0; i < count;) {
        size_t outer = i++;
        shape->start_ps[outer] = time;
        for (int call = 0; call < 4 && i < count; call++) {
            size_t inner = i++;
            shape->start_ps[inner] = time += random_ns(12) + 1000;
            for (int leaf = 0; leaf < 4 && i < count; leaf++, i++) {
                shape->start_ps[i] = time += random_ns(12) + 1000;
                shape->duration_ps[i] = random_ns(16);
                shape->name[i] = (uint32_t)(next_random() % NAMES);
                time += shape->duration_ps[i];
            }
            time += 1000;
            shape->duration_ps[inner] = time - shape->start_ps[inner];
            shape->name[inner] = (uint32_t)(next_random() % NAMES);
        }
        time += 1000;
        shape->duration_ps[outer] = time - shape->start_ps[outer];
        shape->name[outer] = (uint32_t)(next_random() % NAMES);
        time += random_ns(16);
    }
}

struct build {
    struct timeline_writer *writer;
    struct shape shapes[SHAPES];
    size_t per_track;
    struct error err;
};

static bool add_track(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct build *build = context;
    const struct shape *shape = &build->shapes[index % SHAPES];
    struct timeline_events events = {.count = build->per_track,
                                     .start_ps = shape->start_ps,
                                     .duration_ps = shape->duration_ps,
                                     .name = shape->name};
    return timeline_add(build->writer, (uint32_t)index, &events, &build->err);
}

static bool make_index(const char *path, size_t tracks, size_t per_track, unsigned threads)
{
    struct build build = {.per_track = per_track};
    for (size_t i = 0; i < SHAPES; i++) {
        build.shapes[i].start_ps = mem_alloc(per_track * sizeof(int64_t));
        build.shapes[i].duration_ps = mem_alloc(per_track * sizeof(int64_t));
        build.shapes[i].name = mem_alloc(per_track * sizeof(uint32_t));
        (i % 2 ? make_thread : make_stream)(&build.shapes[i], per_track);
    }
    struct pool *pool = pool_create(threads);
    double started = now();
    bool ok = timeline_create(&build.writer, path, 0, &build.err);
    for (uint32_t i = 0; ok && i < NAMES; i++) {
        char name[32];
        int size = snprintf(name, sizeof name, "function number %u", i);
        timeline_name(build.writer, (struct text){name, (size_t)size});
    }
    uint32_t table = ok ? timeline_name(build.writer, TEXT("SystemProfileEvents")) : 0;
    for (uint32_t i = 0; ok && i < tracks; i++)
        timeline_add_track(build.writer, &(struct timeline_track){.parent = TIMELINE_NONE,
                                                                  .level = LANE_LEVEL,
                                                                  .name = table - NAMES + i % NAMES,
                                                                  .table = table});
    ok = ok && pool_run(pool, tracks, add_track, &build);
    double built = now();
    if (ok)
        ok = timeline_commit(build.writer, &build.err);
    if (!ok)
        fprintf(stderr, "%s\n", build.err.text);
    printf("events %zu\nbuild %.6f\ncommit %.6f\n", tracks * per_track, built - started,
           now() - built);
    pool_destroy(pool);
    for (size_t i = 0; i < SHAPES; i++) {
        mem_free(build.shapes[i].start_ps);
        mem_free(build.shapes[i].duration_ps);
        mem_free(build.shapes[i].name);
    }
    return ok;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One view, queried in parts by all cores. */
struct view {
    struct timeline *timeline;
    struct timeline_query query;
    struct timeline_result results[PARTS];
    struct error errors[PARTS];
};

static bool query_part(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct view *view = context;
    struct timeline_query part = view->query;
    size_t first = part.track_count * index / PARTS;
    part.track_count = part.track_count * (index + 1) / PARTS - first;
    part.tracks += first;
    return timeline_query(view->timeline, &part, &view->results[index], &view->errors[index]);
}

/* Queries windows of a fraction of the time range, at random positions. */
static bool query_windows(struct timeline *timeline, struct pool *pool, const char *name,
                          double share, size_t warm_up, size_t queries)
{
    struct view view = {.timeline = timeline};
    int64_t first, last;
    double times[QUERIES], items = 0;
    uint32_t tracks[VISIBLE];
    timeline_span(timeline, &first, &last);
    bool ok = true;
    for (size_t i = 0; ok && i < warm_up + queries; i++) {
        uint32_t start = (uint32_t)(next_random() % (timeline_track_count(timeline) - VISIBLE + 1));
        for (uint32_t k = 0; k < VISIBLE; k++)
            tracks[k] = start + k;
        int64_t length = (int64_t)((double)(last - first) * share) + 1;
        int64_t room = last + 1 - first - length;
        int64_t from = first + (room > 0 ? (int64_t)(next_random() % (uint64_t)room) : 0);
        view.query = (struct timeline_query){.tracks = tracks,
                                             .track_count = VISIBLE,
                                             .from_ps = from,
                                             .to_ps = from + length,
                                             .width = WIDTH};
        double started = now();
        ok = pool_run(pool, PARTS, query_part, &view);
        if (i < warm_up)
            continue;
        times[i - warm_up] = now() - started;
        for (size_t k = 0; k < PARTS; k++)
            items += (double)view.results[k].items.count;
    }
    for (size_t i = 0; i < PARTS; i++) {
        if (view.errors[i].text[0])
            fprintf(stderr, "%s\n", view.errors[i].text);
        timeline_result_free(&view.results[i]);
    }
    qsort(times, queries, sizeof *times, by_value);
    printf("%s_p50 %.6f\n%s_p99 %.6f\n%s_items %.0f\n", name, times[queries / 2], name,
           times[(queries - 1) * 99 / 100], name, items / (double)queries);
    return ok;
}

static void drop_cache(const char *path)
{
    int fd = open(path, O_RDONLY);
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static bool query_all(const char *path, const char *prefix, size_t warm_up, size_t queries)
{
    static const struct {
        const char *name;
        double share;
    } windows[] = {{"full", 1}, {"percent", 0.01}, {"ppm", 0.000001}};
    struct timeline *timeline;
    struct error err;
    double started = now();
    if (!timeline_open(&timeline, path, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    printf("%sopen %.6f\n", prefix, now() - started);
    struct pool *pool = pool_create(0);
    bool ok = true;
    for (size_t i = 0; ok && i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, windows[i].name);
        ok = query_windows(timeline, pool, name, windows[i].share, warm_up, queries);
    }
    pool_destroy(pool);
    timeline_close(timeline);
    return ok;
}

int main(int count, char **arguments)
{
    if (count < 2)
        return 2;
    const char *path = arguments[1];
    size_t events = count > 2 ? strtoul(arguments[2], NULL, 10) : 100000000;
    size_t tracks = count > 3 ? strtoul(arguments[3], NULL, 10) : 512;
    pid_t child = fork(); /* so that memory of building is not counted for queries */
    if (child == 0)
        _exit(make_index(path, tracks, events / tracks, 0) && fflush(stdout) == 0 ? 0 : 1);
    int status;
    if (wait4(child, &status, 0, NULL) < 0 || status != 0)
        return 1;
    struct stat file;
    stat(path, &file);
    printf("bytes %lld\n", (long long)file.st_size);
    drop_cache(path);
    bool ok = query_all(path, "cold_", 0, COLD_QUERIES) && query_all(path, "", QUERIES, QUERIES);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("resident %ld\n", usage.ru_maxrss * 1024);
    return ok ? 0 : 1;
}
