/*
 * Reads matrices of measures: pictures, and the largest value of a part.
 */
#include "report/fleet/heatmap.h"

#include <assert.h>
#include <math.h>

static_assert(sizeof(struct heatmap_header) == 96, "as the file has it");

const char *const heatmap_measures[HEATMAP_MEASURES] = {[HEATMAP_EXCESS] = "excess",
                                                        "own",
                                                        "duration",
                                                        "compute",
                                                        "communication",
                                                        "copy",
                                                        "idle",
                                                        "idle_host"};

static bool check_header(struct heatmap *map, const char *path, struct error *err)
{
    struct heatmap_header header;
    if (map->file.size < sizeof header)
        return error_in_file(err, path, "is cut short");
    memcpy(&header, map->file.data, sizeof header);
    uint64_t count = (uint64_t)header.lanes * header.steps; /* of 32 bits each: no overflow */
    if (memcmp(header.magic, HEATMAP_MAGIC, sizeof header.magic) != 0 ||
        header.version != HEATMAP_VERSION || header.measures != HEATMAP_MEASURES)
        return error_in_file(err, path, "is not a heat map of this version");
    uint64_t room = (map->file.size - sizeof header) / (HEATMAP_MEASURES * sizeof(float));
    if (count > room)
        return error_in_file(err, path, "is cut short");
    map->lanes = header.lanes;
    map->steps = header.steps;
    memcpy(map->scales, header.scales, sizeof map->scales);
    return true;
}

bool heatmap_open(struct heatmap *map, const char *directory, struct error *err)
{
    char *path = path_format("%s/" HEATMAP_FILE, directory);
    *map = (struct heatmap){0};
    bool ok = file_open(&map->file, path, err);
    if (ok && !check_header(map, path, err)) {
        heatmap_close(map);
        ok = false;
    }
    mem_free(path);
    return ok;
}

void heatmap_close(struct heatmap *map)
{
    file_close(&map->file);
}

const float *heatmap_lane(const struct heatmap *map, size_t measure, size_t lane)
{
    const float *values = (const float *)(map->file.data + sizeof(struct heatmap_header));
    return values + (measure * map->lanes + lane) * map->steps;
}

static size_t size_of(const struct heatmap_range *range)
{
    return range->last - range->first + 1;
}

/* The first position of a cell, counted from the first of the range. */
static size_t cell_first(const struct heatmap_range *range, size_t cell)
{
    return (cell * size_of(range) + range->cells - 1) / range->cells;
}

/* Some steps over several lanes. A step has its own sums, so that lanes are added as vectors. */
enum { TILE = 1024 };
struct tile {
    float max[TILE], count[TILE];
    double sum[TILE];
};

static void tile_clear(struct tile *tile)
{
    for (size_t i = 0; i < TILE; i++) {
        tile->max[i] = -INFINITY;
        tile->count[i] = 0;
        tile->sum[i] = 0;
    }
}

static void tile_add(struct tile *restrict tile, const float *restrict values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value = values[i];
        bool is_there = value == value;
        tile->max[i] = value > tile->max[i] ? value : tile->max[i];
        tile->sum[i] += is_there ? value : 0.0F;
        tile->count[i] += is_there ? 1.0F : 0.0F;
    }
}

struct drawing {
    const struct heatmap *map;
    const struct heatmap_view *view;
    float *max, *mean;
};

/* Adds a tile's steps, the first of which is `at` of the view, to their cells. */
static void put_tile(const struct heatmap_range *steps, const struct tile *tile, size_t at,
                     size_t count, float *max, double *sums, double *counts)
{
    size_t cell = at * steps->cells / size_of(steps), end = cell_first(steps, cell + 1);
    for (size_t i = 0; i < count; i++) {
        if (at + i == end)
            end = cell_first(steps, ++cell + 1);
        max[cell] = tile->max[i] > max[cell] ? tile->max[i] : max[cell];
        sums[cell] += tile->sum[i];
        counts[cell] += tile->count[i];
    }
}

/* Called by several threads, each for rows of its own. Lanes are added tile by tile, so that sums
 * stay in the cache however many steps there are. */
static bool draw_row(void *context, size_t row, unsigned worker)
{
    const struct drawing *drawing = context;
    const struct heatmap_view *view = drawing->view;
    const struct heatmap_range *rows = &view->rows, *steps = &view->steps;
    size_t first = rows->first + cell_first(rows, row),
           end = rows->first + cell_first(rows, row + 1);
    float *max = drawing->max + row * steps->cells, *mean = drawing->mean + row * steps->cells;
    double *sums = mem_zeroed(2 * steps->cells, sizeof *sums), *counts = sums + steps->cells;
    struct tile tile;
    (void)worker;
    for (size_t cell = 0; cell < steps->cells; cell++)
        max[cell] = -INFINITY;
    for (size_t at = 0, count; at < size_of(steps); at += count) {
        count = size_of(steps) - at < TILE ? size_of(steps) - at : TILE;
        tile_clear(&tile);
        for (size_t lane = first; lane < end; lane++)
            tile_add(&tile,
                     heatmap_lane(drawing->map, view->measure, view->lanes[lane]) + steps->first +
                         at,
                     count);
        put_tile(steps, &tile, at, count, max, sums, counts);
    }
    for (size_t cell = 0; cell < steps->cells; cell++) {
        max[cell] = counts[cell] > 0 ? max[cell] : NAN;
        mean[cell] = counts[cell] > 0 ? (float)(sums[cell] / counts[cell]) : NAN;
    }
    mem_free(sums);
    return true;
}

/* Below this, starting threads takes longer. */
enum { MANY_VALUES = 4000000 };

void heatmap_draw(const struct heatmap *map, const struct heatmap_view *view, float *max,
                  float *mean)
{
    struct drawing drawing = {map, view, max, mean};
    bool is_large = size_of(&view->rows) * size_of(&view->steps) > MANY_VALUES;
    struct pool *pool = pool_create(is_large ? 0 : 1);
    pool_run(pool, view->rows.cells, draw_row, &drawing);
    pool_destroy(pool);
}

bool heatmap_worst(const struct heatmap *map, const struct heatmap_view *view,
                   struct heatmap_place *place)
{
    bool is_found = false;
    for (size_t row = view->rows.first; row <= view->rows.last; row++) {
        const float *values = heatmap_lane(map, view->measure, view->lanes[row]);
        for (size_t step = view->steps.first; step <= view->steps.last; step++)
            if (!isnan(values[step]) && (!is_found || values[step] > place->value)) {
                *place = (struct heatmap_place){row, step, values[step]};
                is_found = true;
            }
    }
    return is_found;
}
