/*
 * kymo sql: runs a SQL query on a processed profile.
 */
#include "cli/on_run.h"
#include "serve/serve.h"
#include "store/tables/store.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int sql(int count, char **arguments);

static const char ranking[] =
    "gpt \"SELECT name, sum(duration_ns)/1e6 AS ms FROM SystemProfileEvents"
    " GROUP BY name ORDER BY ms DESC LIMIT 10\"";

const struct command command_sql = {
    .name = "sql",
    .summary = "Query a profile with SQL, or list its tables.",
    .about =
        "Runs a read-only SQL query on the tables of a profile, with DuckDB. PROFILE is a "
        "name in the workspace, a directory of Parquet files, or a run of many ranks, "
        "DATASET/RUN, whose tables are the results of kymo fleet report. Without a query, "
        "lists the tables; \"-\" reads the query from standard input. kymo --show-profile-schema "
        "documents tables and columns.\n\n"
        "With --timeout the query runs in a child process with limits on time, memory and "
        "the size of a value.",
    .usage = "[options] PROFILE|DATASET/RUN [QUERY]",
    .examples =
        (const char *const[]){
            "gpt",
            "gpt \"DESCRIBE SystemProfileEvents\"",
            ranking,
            "profiles/gpt --format csv --output-file events.csv \"FROM SystemProfileEvents\"",
            "gpt --format json - <query.sql | jq '.[0]'",
            "runs/night \"FROM Straggler\"",
            "gpt --timeout 10 \"SELECT count(*) FROM SystemProfileEvents a, SystemProfileEvents "
            "b\"",
            NULL,
        },
    .run = sql,
};

static const char *const formats[] = {"table", "csv", "json", NULL};

enum { TERMINAL_ROWS = 40, MAX_QUERY_BYTES = 16 << 20, MAX_TIMEOUT_S = 86400 };
#define NOT_GIVEN ULONG_MAX

struct sql_options {
    const char *format, *file, *data_path;
    unsigned long limit, timeout_s;
};

bool read_query(struct output *query, struct error *err)
{
    output_memory(query);
    for (ssize_t got = 1; got > 0;) {
        char part[16 << 10];
        got = read(STDIN_FILENO, part, sizeof part);
        if (got < 0)
            return error_in_file(err, "standard input", "cannot read: %s", strerror(errno));
        if (memchr(part, '\0', (size_t)got) || query->size > MAX_QUERY_BYTES)
            return error_in_file(err, "standard input", "no query: empty, or larger than 16 MB");
        output_write(query, part, (size_t)got);
    }
    output_char(query, '\0');
    return true;
}

static struct rows_format format_of(const struct sql_options *options)
{
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    bool on_terminal = !to_file && isatty(STDOUT_FILENO);
    bool is_given = options->limit != NOT_GIVEN;
    unsigned long limit = is_given ? options->limit : 0;
    struct rows_format format = {.kind = ROWS_TEXT, .limit = limit};
    if (strcmp(options->format, "csv") == 0)
        format.kind = ROWS_CSV;
    else if (strcmp(options->format, "json") == 0)
        format.kind = ROWS_JSON;
    format.style = style_for(to_file, on_terminal && !is_given ? TERMINAL_ROWS : limit);
    if (!on_terminal)
        format.style.width = SIZE_MAX; /* no truncation outside terminals */
    return format;
}

static bool run_query(struct sql_connection *connection, const char *query,
                      const struct sql_options *options, struct output *out, struct error *err)
{
    struct sql_result *result = NULL;
    struct rows_format format = format_of(options);
    bool ok =
        query ? sql_query(&result, connection, query, err) : sql_list(&result, connection, err);
    ok = ok && export_rows(result, &format, out, err);
    sql_free(result);
    return ok;
}

static bool write_rows(struct sql_result *result, struct text bytes, struct output *out,
                       struct error *err)
{
    struct rows_format format;
    if (bytes.size != sizeof format)
        return error_set(err, "the request is from another version");
    memcpy(&format, bytes.data, sizeof format);
    return export_rows(result, &format, out, err);
}

int run_sql_child(void)
{
    return sql_child_main(write_rows);
}

/* Runs the query in a child process with limits. */
static int run_in_child(const char *directory, const char *query, const struct sql_options *options,
                        struct output *out, struct error *err)
{
    struct rows_format format = format_of(options);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct sql_task task = {
        .directory = directory,
        .query = query,
        .format = {(const char *)&format, sizeof format},
        .limits = {.engine = {.memory_bytes = QUERY_MEMORY,
                              .threads = cores < QUERY_THREADS ? (unsigned)cores : QUERY_THREADS,
                              .spill_bytes = QUERY_SPILL,
                              .value_bytes = QUERY_MAX_VALUE},
                   .address_bytes = QUERY_ADDRESS_SPACE,
                   .seconds = (unsigned)options->timeout_s}};
    struct interrupt *interrupt = interrupt_start(NULL);
    enum sql_outcome outcome = sql_task_run(&task, NULL, out, interrupt_is_pending, NULL, err);
    if (interrupt_stop(interrupt))
        return EXIT_INTERRUPTED;
    bool is_written =
        outcome == SQL_DONE ||
        outcome == SQL_STOPPED; /* SQL_STOPPED: the output failed and holds the error */
    return is_written ? EXIT_DONE : EXIT_FAILED;
}

/* Runs the query and writes its result; EXIT_INTERRUPTED after Ctrl-C. */
static int run_here(const char *directory, const char *query, const struct sql_options *options,
                    struct output *out, struct error *err)
{
    struct sql_database *database = NULL;
    struct sql_connection *connection = NULL;
    bool interrupted = false;
    bool ok = sql_open(&database, directory, err) && sql_connect(&connection, database, err);
    if (ok) {
        struct interrupt *interrupt = interrupt_start(connection);
        ok = run_query(connection, query, options, out, err);
        interrupted = interrupt_stop(interrupt);
        sql_disconnect(connection);
    }
    if (database)
        sql_close(database);
    return interrupted ? EXIT_INTERRUPTED : ok ? EXIT_DONE : EXIT_FAILED;
}

/* The directory of a profile's tables, or of a run's results. Returns the exit code. */
static int find_tables(const char *place, const char *data_path, char **directory,
                       struct error *err)
{
    if (!profile_find(data_path, place, directory, err))
        return run_results(place, data_path, directory, err);
    warn_of_drops(profile_drops(*directory));
    return EXIT_DONE;
}

/* Output files are written atomically. */
static int run(const char *profile, const char *query, const struct sql_options *options,
               struct error *err)
{
    struct output out;
    char *directory;
    int result = find_tables(profile, options->data_path, &directory, err);
    if (result != EXIT_DONE)
        return result;
    result = EXIT_FAILED;
    if (output_open(&out, options->file, err)) { /* fail before the work, not after */
        result = (options->timeout_s == NOT_GIVEN ? run_here : run_in_child)(directory, query,
                                                                             options, &out, err);
        if (result != EXIT_DONE)
            output_discard(&out);
        else if (!output_commit(&out, err))
            result = EXIT_FAILED;
    }
    mem_free(directory);
    return result;
}

static int run_from_input(const char *profile, const struct sql_options *options, struct error *err)
{
    struct output query;
    int result = EXIT_FAILED;
    if (read_query(&query, err))
        result = run(profile, query.data, options, err);
    output_discard(&query);
    return result;
}

/* The table of options is also what the help, the manual and the completions are made from; it must
 * not depend on the arguments. */
static int sql(int count, char **arguments)
{
    struct sql_options options = {.format = formats[0], .limit = NOT_GIVEN, .timeout_s = NOT_GIVEN};
    const struct option table[] = {
        {"format", 0, OPTION_CHOICE, &options.format, "FORMAT", "output format (default: table)",
         formats},
        {"limit", 0, OPTION_NUMBER, &options.limit, "N",
         "maximum rows, 0 for all (default: all; 40 for a table on a terminal)", NULL},
        {"timeout", 0, OPTION_NUMBER, &options.timeout_s, "SECONDS",
         "time limit; also limits memory to 256 MiB and values to 16 MiB, as the server does "
         "(default: no limits)",
         NULL},
        {"data-path", 0, OPTION_TEXT, &options.data_path, "DIR",
         "workspace directory (default: ~/.local/share/kymo)", NULL},
        {"output-file", 0, OPTION_TEXT, &options.file, "FILE",
         "output file (default: standard output)", NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
    };
    const char *operands[2] = {NULL, NULL};
    size_t operand_count;
    int result = options_read(&command_sql, table, sizeof table / sizeof *table, count, arguments,
                              operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count == 0) {
        fprintf(stderr,
                "%s sql: missing argument: a profile, a directory of Parquet files, or a run\n",
                program_name());
        return EXIT_USAGE;
    }
    if (options.timeout_s != NOT_GIVEN &&
        (options.timeout_s == 0 || options.timeout_s > MAX_TIMEOUT_S)) {
        fprintf(stderr, "%s sql: --timeout must be 1 to %d (seconds)\n", program_name(),
                MAX_TIMEOUT_S);
        return EXIT_USAGE;
    }
    struct error err;
    bool from_input = operand_count == 2 && strcmp(operands[1], "-") == 0;
    result = from_input ? run_from_input(operands[0], &options, &err)
                        : run(operands[0], operands[1], &options, &err);
    if (result == EXIT_INTERRUPTED)
        log_fatal("interrupted");
    else if (result != EXIT_DONE)
        print_error(&err);
    return result;
}
