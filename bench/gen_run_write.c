/*
 * Writes a synthetic run as a dataset, rank by rank, on all cores.
 */
#include "gen_run.h"

#include "store/tables/parquet.h"
#include "store/tables/schema_rank.h"

#include "base/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define EPOCH_NS INT64_C(1789000000000000000)

static const struct {
    const char *name;
    double share; /* of the time that computes */
    int64_t count;
} kernels[] = {
    {"sm90_xmma_gemm_bf16_128x256", 0.38, 48},
    {"flash_attention_forward", 0.14, 12},
    {"flash_attention_backward", 0.2, 12},
    {"layer_norm_kernel", 0.06, 24},
    {"elementwise_add_kernel", 0.05, 60},
    {"gelu_kernel", 0.05, 24},
    {"softmax_cross_entropy", 0.02, 2},
    {"multi_tensor_adam", 0.06, 4},
    {"embedding_kernel", 0.02, 2},
    {"dropout_kernel", 0.02, 36},
};
enum { KERNEL_NAMES = sizeof kernels / sizeof *kernels, KERNEL_COUNT = 224, GROUP_ROWS = 131072 };

static const enum table_number tables[] = {TABLE_RANK_STEPS, TABLE_RANK_COLLECTIVES,
                                           TABLE_RANK_KERNELS, TABLE_RANK_INFO};
enum { TABLES = sizeof tables / sizeof *tables };

struct worker {
    struct parquet_encoder *encoder;
    struct intern strings;
    struct error error;
};

struct writing {
    const struct run *run;
    const int64_t *ends;
    struct worker *workers;
    struct worker *failed;
};

/* A rank while it is written. */
struct rank_writer {
    const struct run *run;
    const int64_t *ends;
    struct worker *worker;
    char *place; /* in the dataset */
    uint64_t rank, event;
    struct program program;
    struct parquet_file files[TABLES];
    struct rows rows[TABLES];
    uint64_t groups[TABLES];
    uint64_t first_step;
    int64_t epoch_ns, first_ts, last_ts;
    uint64_t steps;
};

/* What the clock of the rank's machine says. */
static int64_t wall_ns(const struct rank_writer *writer, int64_t true_ns)
{
    const struct clock_fault *clock =
        &writer->run->clocks[writer->rank / writer->run->machine_ranks];
    return EPOCH_NS + true_ns +
           (int64_t)(clock->offset_ns + clock->drift_ppm * 1e-6 * (double)true_ns);
}

static int64_t ts_of(const struct rank_writer *writer, int64_t true_ns)
{
    return wall_ns(writer, true_ns) - writer->epoch_ns;
}

static void put_name(struct rows *rows, size_t column, const char *name)
{
    rows_name(rows, column, rows_own_name(rows, text_of(name)));
}

static void put_device(struct rows *rows, size_t device, size_t device_index)
{
    rows_int(rows, device, 0);
    rows_int(rows, device_index, 0);
}

static void put_collective(struct rank_writer *writer, const struct meeting *meeting, uint64_t step,
                           int64_t arrival_ns, int64_t end_ns)
{
    struct rows *rows = &writer->rows[1];
    bool is_peer = meeting->operation == OP_SEND || meeting->operation == OP_RECV;
    int64_t start = ts_of(writer, arrival_ns), end = ts_of(writer, end_ns);
    char name[32];
    communicator_name(meeting, name);
    rows_int(rows, RANK_COLLECTIVE_EVENT, (int64_t)writer->event++);
    put_device(rows, RANK_COLLECTIVE_DEVICE, RANK_COLLECTIVE_DEVICE_INDEX);
    rows_int(rows, RANK_COLLECTIVE_STREAM, 16);
    rows_int(rows, RANK_COLLECTIVE_STEP, (int64_t)step);
    put_name(rows, RANK_COLLECTIVE_COMMUNICATOR, name);
    put_name(rows, RANK_COLLECTIVE_OPERATION, operation_names[meeting->operation]);
    rows_nulls(rows, RANK_COLLECTIVE_SEQUENCE, 1);
    rows_int(rows, RANK_COLLECTIVE_OCCURRENCE, (int64_t)meeting->occurrence);
    if (is_peer)
        rows_int(rows, RANK_COLLECTIVE_PEER, (int64_t)meeting->peer);
    else
        rows_nulls(rows, RANK_COLLECTIVE_PEER, 1);
    rows_int(rows, RANK_COLLECTIVE_GROUP_SIZE, (int64_t)meeting->group_size);
    rows_int(rows, RANK_COLLECTIVE_START, start);
    rows_int(rows, RANK_COLLECTIVE_END, end);
    rows_int(rows, RANK_COLLECTIVE_DURATION, end - start);
    rows_int(rows, RANK_COLLECTIVE_BYTES, (int64_t)meeting->bytes);
    put_name(rows, RANK_COLLECTIVE_DATA_TYPE, "BFloat16");
    put_name(rows, RANK_COLLECTIVE_NAME, is_peer ? "ncclDevKernel_SendRecv" : "ncclDevKernel");
}

static void put_kernel(struct rank_writer *writer, uint64_t step, const char *name,
                       const char *class, int64_t count, int64_t total_ns)
{
    struct rows *rows = &writer->rows[2];
    put_device(rows, RANK_KERNEL_DEVICE, RANK_KERNEL_DEVICE_INDEX);
    rows_int(rows, RANK_KERNEL_STEP, (int64_t)step);
    put_name(rows, RANK_KERNEL_NAME, name);
    put_name(rows, RANK_KERNEL_CLASS, class);
    rows_int(rows, RANK_KERNEL_COUNT, count);
    rows_int(rows, RANK_KERNEL_TOTAL, total_ns);
}

struct step_sums {
    struct segment own; /* copies and waits: where nothing communicates beside them */
    int64_t communication_ns, overlap_ns;
};

static int64_t take(int64_t *from, int64_t most)
{
    int64_t taken = *from < most ? *from : most;
    *from -= taken;
    return taken;
}

/* A segment's work, the first beside_ns of it beside communication: it computes, copies, waits. */
static void add_segment(struct step_sums *sums, struct segment own, int64_t beside_ns)
{
    int64_t left = beside_ns;
    int64_t compute = own.compute_ns;
    sums->overlap_ns += take(&compute, left);
    left -= own.compute_ns - compute;
    left -= take(&own.copy_ns, left);
    left -= take(&own.host_ns, left);
    take(&own.kernel_ns, left);
    sums->own.compute_ns += own.compute_ns;
    sums->own.copy_ns += own.copy_ns;
    sums->own.host_ns += own.host_ns;
    sums->own.kernel_ns += own.kernel_ns;
    sums->own.slow_kernel_ns += own.slow_kernel_ns;
}

static void put_kernels(struct rank_writer *writer, uint64_t step, const struct step_sums *sums)
{
    double computed = (double)(sums->own.compute_ns - sums->own.slow_kernel_ns);
    for (size_t i = 0; i < KERNEL_NAMES; i++)
        put_kernel(writer, step, kernels[i].name, "compute", kernels[i].count,
                   (int64_t)(computed * kernels[i].share) + (i ? 0 : sums->own.slow_kernel_ns));
    put_kernel(writer, step, "ncclDevKernel", "communication", (int64_t)writer->program.count,
               sums->communication_ns);
    put_kernel(writer, step, "Memcpy HtoD", "copy", 4, sums->own.copy_ns);
}

static void put_step(struct rank_writer *writer, uint64_t step, int64_t start_ns, int64_t end_ns,
                     const struct step_sums *sums)
{
    struct rows *rows = &writer->rows[0];
    const struct segment *own = &sums->own;
    int64_t start = ts_of(writer, start_ns), end = ts_of(writer, end_ns);
    /* The clock's drift makes a nanosecond here or there. */
    int64_t exposed = sums->communication_ns - sums->overlap_ns;
    int64_t idle = end - start - own->compute_ns - own->copy_ns - exposed;
    bool is_last = writer->rank >= writer->run->ranks - writer->run->data * writer->run->tensor;
    int64_t extra = is_last && writer->run->imbalance > 0 ? 16 : 0;
    put_device(rows, RANK_STEP_DEVICE, RANK_STEP_DEVICE_INDEX);
    rows_int(rows, RANK_STEP_NUMBER, (int64_t)step);
    rows_int(rows, RANK_STEP_START, start);
    rows_int(rows, RANK_STEP_END, end);
    rows_int(rows, RANK_STEP_DURATION, end - start);
    rows_int(rows, RANK_STEP_COMPUTE, own->compute_ns);
    rows_int(rows, RANK_STEP_COPY, own->copy_ns);
    rows_int(rows, RANK_STEP_COMMUNICATION, sums->communication_ns);
    rows_int(rows, RANK_STEP_EXPOSED, exposed);
    rows_int(rows, RANK_STEP_OVERLAP, sums->overlap_ns);
    rows_int(rows, RANK_STEP_BUSY, end - start - idle);
    rows_int(rows, RANK_STEP_IDLE, idle);
    rows_int(rows, RANK_STEP_IDLE_HOST, own->host_ns);
    rows_int(rows, RANK_STEP_IDLE_KERNEL, own->kernel_ns);
    rows_int(rows, RANK_STEP_IDLE_OTHER, idle - own->host_ns - own->kernel_ns);
    rows_int(rows, RANK_STEP_INPUT_WAIT, 0);
    rows_int(rows, RANK_STEP_HOST_COMPUTE, own->host_ns / 2);
    rows_int(rows, RANK_STEP_LAUNCH, own->host_ns / 4);
    rows_int(rows, RANK_STEP_COMPILE, 0);
    rows_int(rows, RANK_STEP_KERNELS, KERNEL_COUNT + extra);
    rows_int(rows, RANK_STEP_COLLECTIVES, (int64_t)writer->program.count);
    rows_int(rows, RANK_STEP_TOP_KERNELS, INT64_C(-4523411098233987121));
}

static void put_rank(struct rank_writer *writer)
{
    struct rows *rows = &writer->rows[3];
    char text[64];
    snprintf(text, sizeof text, "rank-%llu.json.gz", (unsigned long long)writer->rank);
    rows_text(rows, RANK_INFO_CAPTURE, text_of(text));
    snprintf(text, sizeof text, "node%llu",
             (unsigned long long)(writer->rank / writer->run->machine_ranks));
    put_name(rows, RANK_INFO_HOST, text);
    rows_int(rows, RANK_INFO_PROCESS, 4000 + (int64_t)writer->rank);
    rows_int(rows, RANK_INFO_WORLD_SIZE, (int64_t)writer->run->ranks);
    rows_int(rows, RANK_INFO_EPOCH, writer->epoch_ns);
    rows_int(rows, RANK_INFO_FIRST, writer->first_ts);
    rows_int(rows, RANK_INFO_LAST, writer->last_ts);
    rows_int(rows, RANK_INFO_DEVICES, 1);
    put_name(rows, RANK_INFO_DEVICE_NAME, "NVIDIA H200");
    rows_int(rows, RANK_INFO_STEPS, (int64_t)writer->steps);
    put_name(rows, RANK_INFO_STEP_ORIGIN, "annotated");
    put_name(rows, RANK_INFO_WRITER, "gen_run");
}

static bool write_group(struct rank_writer *writer, size_t table)
{
    struct worker *worker = writer->worker;
    bool ok = rows_count(&writer->rows[table]) == 0 ||
              parquet_add(&writer->files[table], worker->encoder, &writer->rows[table],
                          writer->groups[table]++, &worker->error);
    rows_clear(&writer->rows[table]);
    return ok;
}

/* One step of the rank, from the time it starts; returns the time it ends. */
static int64_t write_step(struct rank_writer *writer, uint64_t step, int64_t start_ns)
{
    const struct run *run = writer->run;
    const int64_t *ends = writer->ends + step * matches_of(run);
    struct step_sums sums = {0};
    size_t count = writer->program.count;
    bool is_kept = step >= writer->first_step;
    int64_t now = start_ns, awaited = 0; /* end of what runs beside the work */
    for (size_t i = 0; i <= count; i++) {
        struct segment own = segment_make(run, writer->rank, step, i, count + 1);
        add_segment(&sums, own, awaited > now ? awaited - now : 0);
        now += segment_ns(&own);
        now = awaited > now ? awaited : now;
        awaited = 0;
        if (i == count)
            break;
        const struct meeting *meeting = &writer->program.meetings[i];
        int64_t left = ends[meeting->match] + leave_ns(run, writer->rank, step, i);
        sums.communication_ns += left - now;
        if (is_kept)
            put_collective(writer, meeting, step, now, left);
        if (is_overlapped(run, meeting))
            awaited = left;
        else
            now = left;
    }
    if (is_kept) {
        put_step(writer, step, start_ns, now, &sums);
        if (run->has_kernels)
            put_kernels(writer, step, &sums);
        writer->steps++;
        writer->last_ts = ts_of(writer, now);
    }
    return now;
}

static bool write_steps(struct rank_writer *writer)
{
    int64_t now = 0;
    bool ok = true;
    for (uint64_t step = 0; step < writer->run->steps && ok; step++) {
        if (step == writer->first_step) {
            int64_t before =
                (int64_t)(5e6 * random_unit(writer->run, 6, writer->rank, 0)); /* of the capture */
            writer->epoch_ns = wall_ns(writer, now - before);
            writer->first_ts = ts_of(writer, now);
        }
        now = write_step(writer, step, now);
        for (size_t i = 0; i < TABLES && ok; i++)
            if (rows_count(&writer->rows[i]) >= GROUP_ROWS)
                ok = write_group(writer, i);
    }
    put_rank(writer);
    return ok;
}

static bool make_directories(char *path, struct error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (!ok)
            return error_in_file(err, path, "cannot create: %s", strerror(errno));
        *slash = '/';
    }
    return true;
}

static bool open_files(struct rank_writer *writer)
{
    const struct run *run = writer->run;
    bool ok = true;
    for (size_t i = 0; i < TABLES && ok; i++) {
        const struct table_schema *schema = &table_schemas[tables[i]];
        char *path =
            path_format("%s/%s/%s/part-0.parquet", run->dataset, schema->name, writer->place);
        rows_init(&writer->rows[i], schema);
        ok = make_directories(path, &writer->worker->error) &&
             parquet_open(&writer->files[i], schema, path, &writer->worker->error);
        mem_free(path);
    }
    return ok;
}

static uint64_t first_step_of(const struct run *run, uint64_t rank)
{
    uint64_t first = 0;
    const struct lost_start *lost;
    array_each (lost, &run->faults.lost_starts)
        first = lost->rank == rank ? lost->step : first;
    return first;
}

static bool is_lost(const struct run *run, uint64_t rank)
{
    const uint64_t *lost;
    array_each (lost, &run->faults.lost_ranks)
        if (*lost == rank)
            return true;
    return false;
}

static bool write_rank(void *context, size_t rank, unsigned number)
{
    struct writing *writing = context;
    struct worker *worker = &writing->workers[number];
    if (is_lost(writing->run, rank))
        return true;
    struct rank_writer *writer = mem_zeroed(1, sizeof *writer);
    *writer = (struct rank_writer){.run = writing->run,
                                   .ends = writing->ends,
                                   .worker = worker,
                                   .rank = rank,
                                   .first_step = first_step_of(writing->run, rank)};
    program_make(writing->run, rank, &writer->program);
    writer->place = rank_directory(writing->run->name, rank / writing->run->machine_ranks, rank);
    bool ok = open_files(writer) && write_steps(writer);
    for (size_t i = 0; i < TABLES && ok; i++)
        ok = write_group(writer, i) && parquet_commit(&writer->files[i], &worker->error);
    for (size_t i = 0; i < TABLES; i++)
        rows_free(&writer->rows[i]);
    mem_free(writer->place);
    mem_free(writer);
    if (!ok)
        writing->failed = worker;
    return ok;
}

static bool write_marker(const struct run *run, struct error *err)
{
    struct output out;
    char *path = path_format("%s/_dataset.json", run->dataset);
    bool ok = make_directories(path, err) && output_open(&out, path, err);
    mem_free(path);
    if (!ok)
        return false;
    output_text(&out, "{\"format\": \"kymo dataset\", \"version\": 1}\n");
    return output_commit(&out, err);
}

bool run_write(const struct run *run, const int64_t *ends, struct error *err)
{
    struct pool *pool = pool_create((unsigned)run->jobs);
    unsigned count = pool_workers(pool);
    struct writing writing = {
        .run = run, .ends = ends, .workers = mem_zeroed(count, sizeof *writing.workers)};
    for (unsigned i = 0; i < count; i++) {
        intern_init(&writing.workers[i].strings);
        writing.workers[i].encoder = parquet_encoder_create(&writing.workers[i].strings);
    }
    bool ok = write_marker(run, err);
    if (ok && !pool_run(pool, run->ranks, write_rank, &writing)) {
        ok = false;
        *err = writing.failed->error;
    }
    for (unsigned i = 0; i < count; i++) {
        parquet_encoder_free(writing.workers[i].encoder);
        intern_free(&writing.workers[i].strings);
    }
    mem_free(writing.workers);
    pool_destroy(pool);
    return ok;
}

static void put_clocks(struct json *json, const struct run *run)
{
    json_key(json, "clocks");
    json_open(json, '{');
    for (uint64_t i = 0; i < machines_of(run); i++) {
        char name[32];
        snprintf(name, sizeof name, "node%llu", (unsigned long long)i);
        json_key(json, name);
        json_open_row(json, '{');
        json_put_double(json, "offset_ns", run->clocks[i].offset_ns);
        json_put_double(json, "drift_ppm", run->clocks[i].drift_ppm);
        json_close_row(json, '}');
    }
    json_close(json, '}');
}

static void put_stragglers(struct json *json, const struct faults *faults)
{
    json_key(json, "stragglers");
    json_open(json, '[');
    const struct straggler *straggler;
    array_each (straggler, &faults->stragglers) {
        json_open_row(json, '{');
        json_put_text(json, "kind", text_of(work_kinds[straggler->kind]));
        json_put_uint(json, "rank", straggler->rank);
        json_put_double(json, "factor", straggler->factor);
        json_put_uint(json, "first_step", straggler->first_step);
        json_put_uint(json, "every", straggler->every);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_slow(struct json *json, const struct faults *faults)
{
    json_key(json, "slow_links");
    json_open(json, '{');
    const struct slow_link *link;
    array_each (link, &faults->slow_links)
        json_put_double(json, link->communicator, link->factor);
    json_close(json, '}');
    json_key(json, "slow_operations");
    json_open(json, '{');
    for (size_t i = 0; i < OPERATIONS; i++)
        if (faults->slow_operation[i] > 1)
            json_put_double(json, operation_names[i], faults->slow_operation[i]);
    json_close(json, '}');
}

static void put_losses(struct json *json, const struct faults *faults)
{
    json_key(json, "lost_ranks");
    json_open_row(json, '[');
    const uint64_t *rank;
    array_each (rank, &faults->lost_ranks)
        json_uint(json, *rank);
    json_close_row(json, ']');
    json_key(json, "lost_starts");
    json_open(json, '{');
    const struct lost_start *lost;
    array_each (lost, &faults->lost_starts) {
        char name[24];
        snprintf(name, sizeof name, "%llu", (unsigned long long)lost->rank);
        json_put_uint(json, name, lost->step);
    }
    json_close(json, '}');
    json_key(json, "outliers");
    json_open_row(json, '[');
    const struct step_fault *outlier;
    array_each (outlier, &faults->outliers)
        json_uint(json, outlier->step);
    json_close_row(json, ']');
}

bool faults_write(const struct run *run, const char *path, struct error *err)
{
    struct output out;
    struct json json;
    if (!output_open(&out, path, err))
        return false;
    json_begin(&json, &out, true);
    json_open(&json, '{');
    json_put_uint(&json, "ranks", run->ranks);
    json_put_uint(&json, "steps", run->steps);
    json_put_int(&json, "epoch_ns", EPOCH_NS);
    put_stragglers(&json, &run->faults);
    put_slow(&json, &run->faults);
    put_losses(&json, &run->faults);
    json_put_double(&json, "drift", run->faults.drift);
    put_clocks(&json, run);
    json_close(&json, '}');
    output_char(&out, '\n');
    return output_commit(&out, err);
}
