/*
 * The stage HeatMap: writes the measures of LaneStep as matrices. Rows come in any order, so the
 * file is mapped and each value put in its place.
 */
#include "report/fleet/embedded_queries.h"
#include "report/fleet/heatmap.h"
#include "report/fleet/work.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* A matrix that is emptier than this share would be more file than values: the ranks number their
 * steps differently. Small ones may be. */
enum { MAX_ROOM_PER_ROW = 16, ALWAYS_ROOM = 1 << 20 };

struct shape {
    uint64_t lanes, steps, rows;
};

struct matrices {
    int fd;
    uint8_t *data;
    size_t size;
    struct shape shape;
};

static bool read_shape(void *context, const struct sql_result *result, size_t row)
{
    struct shape *shape = context;
    *shape =
        (struct shape){(uint64_t)row_integer(result, row, 0), (uint64_t)row_integer(result, row, 1),
                       (uint64_t)row_integer(result, row, 2)};
    if (shape->lanes > UINT32_MAX || shape->steps > UINT32_MAX ||
        shape->lanes * shape->steps > ALWAYS_ROOM + MAX_ROOM_PER_ROW * shape->rows)
        shape->lanes = shape->steps = 0;
    return true;
}

/* Room is taken first: a disk that is full is an error here, and would be a signal later. */
static bool map_file(struct matrices *matrices, const char *path, struct error *err)
{
    matrices->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int problem =
        matrices->fd < 0 ? errno : posix_fallocate(matrices->fd, 0, (off_t)matrices->size);
    if (problem)
        return error_in_file(err, path, "cannot write %zu MB: %s", matrices->size / 1000000,
                             strerror(problem));
    matrices->data =
        mmap(NULL, matrices->size, PROT_READ | PROT_WRITE, MAP_SHARED, matrices->fd, 0);
    if (matrices->data == MAP_FAILED) {
        matrices->data = NULL;
        return error_in_file(err, path, "cannot map: %s", strerror(errno));
    }
    return true;
}

static float *values_of(const struct matrices *matrices)
{
    return (float *)(matrices->data + sizeof(struct heatmap_header));
}

static void put_header(const struct matrices *matrices)
{
    struct heatmap_header header = {.version = HEATMAP_VERSION,
                                    .measures = HEATMAP_MEASURES,
                                    .lanes = (uint32_t)matrices->shape.lanes,
                                    .steps = (uint32_t)matrices->shape.steps};
    float *values = values_of(matrices);
    memcpy(header.magic, HEATMAP_MAGIC, sizeof header.magic);
    memcpy(matrices->data, &header, sizeof header);
    for (size_t i = 0; i < (matrices->size - sizeof header) / sizeof *values; i++)
        values[i] = NAN;
}

static void put_query(struct output *sql)
{
    struct output measures;
    output_memory(&measures);
    for (size_t i = 0; i < HEATMAP_MEASURES; i++)
        output_format(&measures, "%scoalesce(%s, 'nan'::DOUBLE)", i ? ", " : "",
                      heatmap_measures[i]);
    output_char(&measures, '\0');
    sql_fill(sql, fleet_sql_heatmap_values,
             (const struct sql_blank[]){{"MEASURES", .text = measures.data}}, 1);
    output_char(sql, '\0');
    output_discard(&measures);
}

static void put_rows(const struct matrices *matrices, const struct sql_result *result, size_t rows)
{
    const struct shape *shape = &matrices->shape;
    const double *lanes = sql_numbers(result, 0), *steps = sql_numbers(result, 1);
    for (size_t i = 0; i < HEATMAP_MEASURES; i++) {
        const double *values = sql_numbers(result, 2 + i);
        float *matrix = values_of(matrices) + i * shape->lanes * shape->steps;
        for (size_t row = 0; row < rows; row++)
            matrix[(size_t)lanes[row] * shape->steps + (size_t)steps[row]] = (float)values[row];
    }
}

static bool put_values(struct matrices *matrices, struct fleet_analysis *analysis,
                       struct error *err)
{
    struct sql_result *result;
    struct output sql;
    output_memory(&sql);
    put_query(&sql);
    bool ok = sql_ask_numbers(&result, analysis->connection, sql.data, err);
    output_discard(&sql);
    for (size_t rows = 1; ok && rows > 0;) {
        ok = sql_next(result, &rows, err);
        if (ok)
            put_rows(matrices, result, rows);
    }
    sql_free(result);
    return ok;
}

static void put_scales(const struct matrices *matrices)
{
    struct heatmap_scale scales[HEATMAP_MEASURES];
    size_t count = matrices->shape.lanes * matrices->shape.steps;
    for (size_t i = 0; i < HEATMAP_MEASURES; i++)
        scales[i] = heatmap_scale(values_of(matrices) + i * count, count, i == HEATMAP_EXCESS);
    memcpy(matrices->data + offsetof(struct heatmap_header, scales), scales, sizeof scales);
}

static bool write_matrices(struct matrices *matrices, struct fleet_analysis *analysis,
                           const char *path, struct error *err)
{
    bool ok = map_file(matrices, path, err);
    if (ok) {
        put_header(matrices);
        ok = matrices->shape.lanes == 0 || put_values(matrices, analysis, err);
        put_scales(matrices);
    }
    if (matrices->data)
        munmap(matrices->data, matrices->size);
    if (matrices->fd >= 0)
        close(matrices->fd);
    return ok;
}

bool stage_heatmap(struct fleet_analysis *analysis, struct error *err)
{
    struct matrices matrices = {.fd = -1};
    if (!each_row(analysis, fleet_sql_heatmap_shape, read_shape, &matrices.shape, err))
        return false;
    matrices.size = sizeof(struct heatmap_header) +
                    matrices.shape.lanes * matrices.shape.steps * HEATMAP_MEASURES * sizeof(float);
    char *path = path_format("%s/" HEATMAP_FILE, analysis->directory);
    char *unfinished = path_format("%s.part", path);
    bool ok = write_matrices(&matrices, analysis, unfinished, err) &&
              (rename(unfinished, path) == 0 ||
               error_in_file(err, path, "cannot rename: %s", strerror(errno)));
    if (!ok)
        unlink(unfinished);
    mem_free(unfinished);
    mem_free(path);
    return ok;
}
