/*
 * Tables of a device profile made by hand: notifications that few programs cause (barriers, errors,
 * throttling) go through import and store, and SQL reads what is known to be there.
 */
#include "analyze/profile/analyze.h"
#include "import/import.h"
#include "sql/sql.h"
#include "store/tables/store.h"

#include "../analyze/device_model.h"

/* DuckDB is not built for the thread sanitizer, which reports false races. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* A barrier that GpSimd triggers; 5,600 ticks are a microsecond. */
static struct model *barrier_model(void)
{
    struct model *model = model_new(2);
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_FP32, 1024);
    model->program.collective_count = 1;
    model->collectives[0] = (struct collective){.kind = COLLECTIVE_BARRIER,
                                                .dtype = DTYPE_FP32,
                                                .alu = ALU_ADD,
                                                .semaphore = 4,
                                                .increment = 2,
                                                .input = in,
                                                .output = in};
    model_add(model, ENGINE_GPSIMD, OP_NOP);
    model_add(model, ENGINE_GPSIMD, OP_TRIGGER_COLLECTIVE);
    return model;
}

static const struct notification items[] = {
    {.type = NOTIFICATION_NOTIFY, .time = 0, .id = 0},
    {.type = NOTIFICATION_TRACE,
     .phase = PHASE_START,
     .unit = ENGINE_GPSIMD,
     .time = 2800,
     .id = 1},
    {.type = NOTIFICATION_TRACE, .phase = PHASE_END, .unit = ENGINE_GPSIMD, .time = 5600, .id = 1},
    {.type = NOTIFICATION_COLLECTIVE, .time = 11200, .value = STEP_TPB_TRIGGER},
    {.type = NOTIFICATION_COLLECTIVE,
     .phase = PHASE_START,
     .time = 11200,
     .value = STEP_SEMAPHORE_WAIT},
    {.type = NOTIFICATION_COLLECTIVE,
     .phase = PHASE_END,
     .time = 28000,
     .value = STEP_SEMAPHORE_WAIT},
    {.type = NOTIFICATION_THROTTLE, .time = 5600, .id = THROTTLE_ACTIVITY_0, .value = 512},
    {.type = NOTIFICATION_THROTTLE, .time = 11200, .id = THROTTLE_ACTIVITY_1, .value = 256},
    {.type = NOTIFICATION_THROTTLE, .time = 28000, .id = THROTTLE_ACTIVITY_1, .value = 1024},
    {.type = NOTIFICATION_ERROR,
     .unit = ENGINE_VECTOR,
     .time = 33600,
     .id = ERROR_EMBD_OOB,
     .value = 3,
     .detail = 17},
    {.type = NOTIFICATION_ERROR, .time = 39200, .id = ERROR_NAN, .value = 0x12, .detail = 1},
    {.type = NOTIFICATION_NOTIFY, .time = 56000, .id = 1},
};

/* Writes the profile of the notifications, and its tables to `tables`. */
static void make_tables(void **state, const char *tables)
{
    struct model *model = barrier_model();
    struct device_files files = {0};
    struct error err;
    device_encode(&files, *state, &model->program);
    write_whole_file(scratch_name(state, "file.neff").path, files.neff, files.neff_size);
    struct ntff_writer *writer = device_write(&files, 2);
    device_write_execution(writer, 1, items, COUNT_OF(items), 1000, 1000 + 56000);
    device_write_end(writer);
    mem_free(files.neff);
    model_free(model);
    struct capture capture;
    struct source *source = NULL;
    struct analysis analysis;
    struct pool *pool = pool_create(1);
    if (!capture_find(&capture, files.ntff, &err) ||
        !import_capture(&capture, pool, &source, &err) || !analyze(&analysis, source, pool, &err))
        fail_msg("%s", err.text);
    const struct profile_options options = {
        .target = tables, .version = "test", .devices = import_device_cores(source)};
    if (!profile_make(&options, &analysis, source, pool, &err))
        fail_msg("%s", err.text);
    analysis_free(&analysis);
    source_close(source);
    capture_free(&capture);
    pool_destroy(pool);
}

/* Rows as "a|b;c|d", NULL as "-". */
static void assert_rows(struct sql_connection *connection, const char *query, const char *wanted)
{
    struct sql_result *result;
    struct error err;
    struct output text;
    size_t rows, columns;
    output_memory(&text);
    if (!sql_query(&result, connection, query, &err))
        fail_msg("%s: %s", query, err.text);
    sql_columns(result, &columns);
    while (sql_next(result, &rows, &err) && rows > 0)
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < columns; k++) {
                struct text value = sql_value(result, i, k);
                output_text(&text, k > 0 ? "|" : text.size > 0 ? ";" : "");
                output_write(&text, value.data ? value.data : "-", value.data ? value.size : 1);
            }
    sql_free(result);
    output_char(&text, '\0');
    assert_string_equal(text.data, wanted);
    output_discard(&text);
}

static void barriers_errors_and_throttling_have_their_rows(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    static const struct {
        const char *query, *rows;
    } wanted[] = {
        {"SELECT start_ts, end_ts, duration_ns, engine_name, id, semaphore, compiler_pc, "
         "compiler_opcode, pcore_idx, rank FROM CoreBarriers",
         "2000|5000|3000|GpSimd|0|4|1|PSEUDO_TRIGGER_COLLECTIVE|0|0"},
        {"SELECT operation, algorithm, start_ts, trigger_engine, trigger_start_ts, "
         "cc_trigger_start_delay, algorithm_bandwidth FROM CcOp",
         "Barrier|barrier|2000|GpSimd|500|1500|0.0"},
        {"SELECT description, start_ts, end_ts FROM CcInstruction ORDER BY ALL",
         "SEMAPHORE_WAIT|2000|5000;TPB_TRIGGER|2000|2000"},
        {"SELECT timestamp, description, error_type_id, type, metadata, metadata_hex FROM Error "
         "ORDER BY ALL",
         "6000|EMBD OOB|0|Custom Notification|DMA descriptor 3: an index is out of the bounds of "
         "variable "
         "?|010000000300000011;"
         "7000|NaN|2|Custom Notification|NaN is written to output ?|000000001200000001"},
        {"SELECT timestamp, duration, k, n, type FROM Throttle ORDER BY ALL",
         "1000|1000|512|1024|activity_0;2000|3000|256|1024|activity_1"},
        {"SELECT nc_idx, throttle_type, throttle_active_time_ns, "
         "throttle_active_time_percent::DECIMAL(9, 6), "
         "max_achievable_util_with_throttling_percent::DECIMAL(9, 6) FROM ThrottleSummary "
         "ORDER BY ALL",
         "0|activity_0|1000|0.100000|0.950000;0|activity_1|3000|0.300000|0.775000"},
        {"SELECT e.name, e.start_ts, e.duration_ns FROM SystemProfileEvents e JOIN Track t ON "
         "t.id = e.track_id WHERE t.name IN ('Throttling', 'Custom Notification') ORDER BY 2",
         "activity_0|1000|1000;activity_1|2000|3000;EMBD OOB|6000|0;NaN|7000|0"},
        {"SELECT execution_index, execution_start_ts, execution_end_ts FROM ExecutionInfo",
         "1|0|10000"},
    };
    struct scratch_name tables = scratch_name(state, "tables");
    struct sql_database *database;
    struct sql_connection *connection;
    struct error err;
    make_tables(state, tables.path);
    assert_true(sql_open(&database, tables.path, &err));
    assert_true(sql_connect(&connection, database, &err));
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        assert_rows(connection, wanted[i].query, wanted[i].rows);
    sql_disconnect(connection);
    sql_close(database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(barriers_errors_and_throttling_have_their_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
