/*
 * Pictures of matrices, against loops over all values; files that are no matrices.
 */
#include "report/fleet/heatmap.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct rng chance = {1};

struct folder {
    char path[32];
};

static struct folder make_folder(void)
{
    struct folder folder = {"/tmp/kymo_heatmap_XXXXXX"};
    assert_non_null(mkdtemp(folder.path));
    return folder;
}

static void write_file(const struct folder *folder, const void *data, size_t size)
{
    char *path = path_format("%s/" HEATMAP_FILE, folder->path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    mem_free(path);
}

static void remove_folder(const struct folder *folder)
{
    char *path = path_format("%s/" HEATMAP_FILE, folder->path);
    unlink(path);
    rmdir(folder->path);
    mem_free(path);
}

/* A file with random values, of which some are missing. */
static uint8_t *make_file(uint32_t lanes, uint32_t steps, size_t *size)
{
    struct heatmap_header header = {
        .version = HEATMAP_VERSION, .measures = HEATMAP_MEASURES, .lanes = lanes, .steps = steps};
    size_t count = (size_t)lanes * steps * HEATMAP_MEASURES;
    *size = sizeof header + count * sizeof(float);
    uint8_t *data = mem_alloc(*size);
    memcpy(header.magic, HEATMAP_MAGIC, sizeof header.magic);
    memcpy(data, &header, sizeof header);
    float *values = (float *)(data + sizeof header);
    for (size_t i = 0; i < count; i++)
        values[i] = rng_below(&chance, 7) == 0 ? NAN : (float)rng_below(&chance, 2000000) - 1000000;
    return data;
}

static struct heatmap_range random_range(size_t count)
{
    size_t first = rng_below(&chance, count), last = first + rng_below(&chance, count - first);
    return (struct heatmap_range){first, last, 1 + rng_below(&chance, last - first + 1)};
}

struct cell {
    double sum;
    size_t count;
    float max;
};

/* Each value looked at alone. */
static void expect_picture(const struct heatmap *map, const struct heatmap_view *view)
{
    size_t count = view->rows.cells * view->steps.cells;
    struct cell *cells = mem_zeroed(count, sizeof *cells);
    size_t rows = view->rows.last - view->rows.first + 1;
    size_t steps = view->steps.last - view->steps.first + 1;
    struct heatmap_place place = {0}, worst = {.value = -INFINITY};
    bool has_values = false;
    for (size_t row = 0; row < rows; row++)
        for (size_t step = 0; step < steps; step++) {
            float value = heatmap_lane(
                map, view->measure, view->lanes[view->rows.first + row])[view->steps.first + step];
            struct cell *cell = &cells[row * view->rows.cells / rows * view->steps.cells +
                                       step * view->steps.cells / steps];
            if (isnan(value))
                continue;
            if (!has_values || value > worst.value)
                worst =
                    (struct heatmap_place){view->rows.first + row, view->steps.first + step, value};
            has_values = true;
            cell->max = cell->count == 0 || value > cell->max ? value : cell->max;
            cell->sum += value;
            cell->count++;
        }
    float *drawn = mem_alloc(2 * count * sizeof *drawn);
    heatmap_draw(map, view, drawn, drawn + count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(isnan(drawn[i]), cells[i].count == 0);
        assert_int_equal(isnan(drawn[count + i]), cells[i].count == 0);
        if (cells[i].count == 0)
            continue;
        assert_true(drawn[i] == cells[i].max);
        assert_true(fabs(drawn[count + i] - cells[i].sum / (double)cells[i].count) < 1);
    }
    assert_int_equal(heatmap_worst(map, view, &place), has_values);
    if (has_values) {
        assert_int_equal(place.row, worst.row);
        assert_int_equal(place.step, worst.step);
        assert_true(place.value == worst.value);
    }
    mem_free(drawn);
    mem_free(cells);
}

TEST(pictures_are_what_loops_over_all_values_make)
{
    for (int round = 0; round < 60; round++) {
        struct folder folder = make_folder();
        uint32_t lanes = (uint32_t)(1 + rng_below(&chance, 40)),
                 steps = (uint32_t)(1 + rng_below(&chance, 2600));
        size_t size;
        uint8_t *data = make_file(lanes, steps, &size);
        write_file(&folder, data, size);
        struct heatmap map;
        struct error err;
        assert_true(heatmap_open(&map, folder.path, &err));
        uint32_t *order = mem_zeroed(lanes, sizeof *order);
        for (uint32_t i = 0; i < lanes; i++) { /* any permutation */
            uint32_t at = (uint32_t)rng_below(&chance, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (int part = 0; part < 4; part++) {
            const struct heatmap_view view = {.measure = rng_below(&chance, HEATMAP_MEASURES),
                                              .lanes = order,
                                              .rows = random_range(lanes),
                                              .steps = random_range(steps)};
            expect_picture(&map, &view);
        }
        heatmap_close(&map);
        mem_free(order);
        mem_free(data);
        remove_folder(&folder);
    }
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double sorted_median(float *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return ((double)values[count / 2] + (double)values[(count - 1) / 2]) / 2;
}

TEST(a_scale_is_what_sorting_makes_it)
{
    float values[300], known[300];
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + rng_below(&chance, 300), left = 0;
        uint64_t spread = 1 + rng_below(&chance, round % 3 ? 2000000 : 4);
        float middle = (float)rng_below(&chance, 5000) - 2500;
        for (size_t i = 0; i < count; i++) {
            values[i] = (float)rng_below(&chance, spread) - (float)spread / 2 + middle;
            if (rng_below(&chance, 9) == 0)
                values[i] = NAN;
            else
                known[left++] = values[i];
        }
        double low = 0, high = 0;
        if (left) {
            double center = sorted_median(known, left);
            low = (double)known[0], high = (double)known[left - 1];
            for (size_t i = 0; i < left; i++)
                known[i] = fabsf(known[i] - (float)center);
            double reach = 14.826 * sorted_median(known, left);
            low = reach > 0 ? fmax(low, center - reach) : low;
            high = reach > 0 ? fmin(high, center + reach) : high;
        }
        double end = fmax(fabs(low), fabs(high));
        struct heatmap_scale scale = heatmap_scale(values, count, false);
        struct heatmap_scale both = heatmap_scale(values, count, true);
        assert_true(fabs((double)scale.low - low) <= 1e-6 * end);
        assert_true(fabs((double)scale.high - high) <= 1e-6 * end);
        assert_true(fabs((double)both.high - end) <= 1e-6 * end);
        assert_true(both.low == -both.high);
    }
}

static void expect_refused(const void *data, size_t size, const char *words)
{
    struct folder folder = make_folder();
    struct heatmap map;
    struct error err;
    write_file(&folder, data, size);
    assert_false(heatmap_open(&map, folder.path, &err));
    assert_non_null(strstr(err.text, words));
    remove_folder(&folder);
}

TEST(files_that_are_cut_or_something_else_are_refused)
{
    size_t size;
    uint8_t *data = make_file(5, 9, &size);
    expect_refused(data, size - 1, "cut short");
    expect_refused(data, sizeof(struct heatmap_header) - 1, "cut short");
    expect_refused("", 0, "");
    data[3] ^= 1;
    expect_refused(data, size, "not a heat map");
    data[3] ^= 1;
    memset(data + offsetof(struct heatmap_header, lanes), 0xff, 8); /* 2^64 values */
    expect_refused(data, size, "cut short");
    mem_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_what_loops_over_all_values_make),
        cmocka_unit_test(a_scale_is_what_sorting_makes_it),
        cmocka_unit_test(files_that_are_cut_or_something_else_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
