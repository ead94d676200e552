#include "report/fleet/spark.h"

#include "base/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODULE      "kymo/python/kymo/spark.py"
#define MODULE_NAME "kymo.spark"

struct spark {
    pid_t process;
    FILE *requests, *replies;
    char *reply;
    size_t reply_size;
};

/* Puts the program's Python package before those on PYTHONPATH; a wheel's Python has it anyway. */
static void find_package(void)
{
    char *module = installed_library(MODULE);
    if (!module)
        return;
    const char *others = getenv("PYTHONPATH");
    module[strlen(module) - strlen("/kymo/spark.py")] = '\0';
    char *path =
        others && *others ? path_format("%s:%s", module, others) : path_format("%s", module);
    setenv("PYTHONPATH", path, 1);
    mem_free(path);
    mem_free(module);
}

/* Starts the module with arguments; requests and replies are its standard input and output. */
static bool spawn(pid_t *process, const char *const *arguments, int requests, int replies,
                  struct error *err)
{
    find_package(); /* changes the environment: first */
    const char *named = getenv("KYMO_PYTHON"), *python = named && *named ? named : "python3";
    ARRAY(const char *) all = {0};
    const char *const first[] = {python, "-m", MODULE_NAME};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        *array_push(&all) = first[i];
    for (; *arguments; arguments++)
        *array_push(&all) = *arguments;
    *array_push(&all) = NULL;
    const struct child_command command = {.program = python,
                                          .arguments = all.items,
                                          .files = {requests, replies, CHILD_SAME, CHILD_NONE},
                                          .death_signal = SIGTERM};
    int problem = child_exec(&command, process);
    array_free(&all);
    return problem == 0 || error_set(err, "cannot run %s: %s", python, strerror(problem));
}

static bool read_reply(struct spark *spark, const char *expected, struct error *err)
{
    ssize_t size = getline(&spark->reply, &spark->reply_size, spark->replies);
    if (size <= 0)
        return error_set(err, "Spark's process has ended; its messages are above");
    if (spark->reply[size - 1] == '\n')
        spark->reply[size - 1] = '\0';
    if (strncmp(spark->reply, expected, strlen(expected)) == 0)
        return true;
    const char *problem = spark->reply;
    if (strncmp(problem, "error ", 6) == 0)
        problem += 6;
    return error_set(err, "Spark: %s", problem);
}

bool spark_start(struct spark **spark, const char *master, struct error *err)
{
    struct spark *started = mem_zeroed(1, sizeof *started);
    int requests[2] = {-1, -1}, replies[2] = {-1, -1};
    bool ok = pipe2(requests, O_CLOEXEC) == 0 && pipe2(replies, O_CLOEXEC) == 0 &&
              (started->requests = fdopen(requests[1], "w")) &&
              (started->replies = fdopen(replies[0], "r"));
    if (!ok)
        error_set(err, "cannot make a pipe: %s", strerror(errno));
    signal(SIGPIPE, SIG_IGN); /* a child that has died is an error of the next request */
    const char *const arguments[] = {"--master", master, NULL};
    ok = ok && spawn(&started->process, arguments, requests[0], replies[1], err);
    const int unused[] = {requests[0], replies[1], started->requests ? -1 : requests[1],
                          started->replies ? -1 : replies[0]};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i] >= 0)
            close(unused[i]);
    if (!ok || !read_reply(started, "ready", err)) {
        spark_stop(started);
        started = NULL;
    }
    *spark = started;
    return started != NULL;
}

void spark_stop(struct spark *spark)
{
    int status;
    if (spark->requests)
        fclose(spark->requests); /* which ends it */
    if (spark->process > 0)
        child_wait(spark->process, &status);
    if (spark->replies)
        fclose(spark->replies);
    free(spark->reply);
    mem_free(spark);
}

/* A request, begun with what to do and the name it is about. */
static void begin(struct json *json, struct output *out, const char *kind, const char *name)
{
    output_memory(out);
    json_begin(json, out, false);
    json_open(json, '{');
    json_put_text(json, "do", text_of(kind));
    json_put_text(json, "name", text_of(name));
}

static bool ask(struct spark *spark, struct json *json, struct output *out, struct error *err)
{
    json_close(json, '}'); /* and the line */
    bool ok = fwrite(out->data, 1, out->size, spark->requests) == out->size &&
              fflush(spark->requests) == 0;
    output_discard(out);
    if (!ok)
        return error_set(err, "Spark's process has ended; its messages are above");
    return read_reply(spark, "ok", err);
}

/* Columns of the table, as Spark names their types. */
static void put_columns(struct json *json, const struct table_schema *schema)
{
    static const char *const types[] = {
        [FIELD_INT64] = "bigint",
        [FIELD_INT32] = "int",
        [FIELD_FLOAT32] = "float",
        [FIELD_FLOAT64] = "double",
        [FIELD_BOOL] = "boolean",
        [FIELD_NAME] = "string",
        [FIELD_TEXT] = "string",
        [FIELD_TEXT_LIST] = "array<string>",
        [FIELD_INT64_LIST] = "array<bigint>",
    };
    json_key(json, "columns");
    json_open(json, '{');
    for (size_t i = 0; i < schema->field_count; i++)
        json_put_text(json, schema->fields[i].name, text_of(types[schema->fields[i].type]));
    json_close(json, '}');
}

bool spark_table(struct spark *spark, const struct table_schema *schema, const char *dataset,
                 const char *run, const uint64_t *ranks, size_t rank_count, struct error *err)
{
    struct json json;
    struct output out;
    begin(&json, &out, "table", schema->name);
    json_put_text(&json, "path", text_of(dataset));
    json_put_text(&json, "run", text_of(run));
    put_columns(&json, schema);
    if (ranks) {
        json_key(&json, "ranks");
        json_open(&json, '[');
        for (size_t i = 0; i < rank_count && ranks[i] <= INT64_MAX; i++)
            json_uint(&json, ranks[i]);
        json_close(&json, ']');
    }
    return ask(spark, &json, &out, err);
}

bool spark_result(struct spark *spark, const char *name, const char *path, struct error *err)
{
    struct json json;
    struct output out;
    begin(&json, &out, "result", name);
    json_put_text(&json, "path", text_of(path));
    return ask(spark, &json, &out, err);
}

bool spark_query(struct spark *spark, const char *name, const char *sql, const char *path,
                 struct error *err)
{
    struct json json;
    struct output out;
    begin(&json, &out, "query", name);
    json_put_text(&json, "sql", text_of(sql));
    json_put_text(&json, "path", text_of(path));
    return ask(spark, &json, &out, err);
}

/* Runs in the foreground with our own stdout and stderr, since Spark's messages are what explains a
 * failure; hence the flush before it starts. */
bool spark_add(const struct spark_addition *addition, struct error *err)
{
    ARRAY(const char *) arguments = {0};
    const char *const named[][2] = {{"--master", addition->master},
                                    {"--add", addition->dataset},
                                    {"--run", addition->run},
                                    {"--instance", addition->instance}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i][1]) {
            *array_push(&arguments) = named[i][0];
            *array_push(&arguments) = named[i][1];
        }
    if (addition->replace)
        *array_push(&arguments) = "--force";
    *array_push(&arguments) = "--";
    for (size_t i = 0; i < addition->capture_count; i++)
        *array_push(&arguments) = addition->captures[i];
    *array_push(&arguments) = NULL;
    pid_t process;
    int status = 0;
    fflush(stdout);
    bool ok = spawn(&process, arguments.items, CHILD_SAME, CHILD_SAME, err);
    array_free(&arguments);
    if (ok)
        child_wait(process, &status);
    return ok && (child_has_succeeded(status) ||
                  error_set(err, "not all captures could be added; what Spark said is above"));
}
