/*
 * kymo fleet sql and list: queries over the tables of a dataset.
 */
#include "cli/fleet_options.h"
#include "report/fleet/fleet.h"

#include <stdio.h>
#include <unistd.h>

enum { TERMINAL_ROWS = 40 };

/* A query to run, or NULL for the list of tables. */
struct question {
    const char *query;
    struct rows_format format;
};

static struct rows_format format_of(const struct fleet_options *options, bool is_whole)
{
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    bool on_terminal = !to_file && isatty(STDOUT_FILENO);
    bool is_given = options->limit != NOT_GIVEN || is_whole;
    unsigned long limit = options->limit != NOT_GIVEN ? options->limit : 0;
    const char *name = options->format ? options->format : "table";
    struct rows_format format = {.kind = strcmp(name, "csv") == 0    ? ROWS_CSV
                                         : strcmp(name, "json") == 0 ? ROWS_JSON
                                                                     : ROWS_TEXT,
                                 .limit = limit};
    format.style = style_for(to_file, on_terminal && !is_given ? TERMINAL_ROWS : limit);
    if (!on_terminal)
        format.style.width = SIZE_MAX; /* no truncation outside terminals */
    return format;
}

static bool answer(const void *context, struct sql_connection *connection, const char *directory,
                   struct output *out, struct error *err)
{
    (void)directory;
    const struct question *question = context;
    struct sql_result *result = NULL;
    bool ok = question->query ? sql_query(&result, connection, question->query, err)
                              : sql_list(&result, connection, err);
    ok = ok && export_rows(result, &question->format, out, err);
    sql_free(result);
    return ok;
}

static int ask(const struct fleet_options *options, const struct question *question)
{
    struct error err;
    if (!dataset_check(options->dataset, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    const struct profile_call call = {
        .place = options->dataset,
        .file = options->file,
        .query = question->query,
        .is_directory = true,
        .run = answer,
        .context = question,
    };
    return on_profile(&call);
}

int fleet_sql(const struct fleet_options *options)
{
    const char *query = options->operand_count > 0 ? options->operands[0] : NULL;
    struct question question = {query, format_of(options, false)};
    if (!query || strcmp(query, "-") != 0)
        return ask(options, &question);
    struct output input;
    struct error err;
    int result = EXIT_FAILED;
    if (read_query(&input, &err)) {
        question.query = input.data;
        result = ask(options, &question);
    } else {
        print_error(&err);
    }
    output_discard(&input);
    return result;
}

/* A query like any other; only people get rounded seconds. */
int fleet_list(const struct fleet_options *options)
{
    struct question question = {.format = format_of(options, true)};
    struct output query;
    output_memory(&query);
    output_format(&query,
                  "SELECT run, rank, instance, world_size, device_count AS devices,"
                  " device_name AS device, step_count AS steps,"
                  " %s AS seconds, capture FROM Rank",
                  question.format.kind == ROWS_TEXT ? "round((last_ts - first_ts) / 1e9, 3)"
                                                    : "(last_ts - first_ts) / 1e9");
    if (options->run) {
        output_text(&query, " WHERE run = '");
        for (const char *c = options->run; *c; c++) {
            output_char(&query, *c);
            if (*c == '\'')
                output_char(&query, '\'');
        }
        output_char(&query, '\'');
    }
    output_text(&query, " ORDER BY run, rank");
    output_char(&query, '\0');
    question.query = query.data;
    int result = ask(options, &question);
    output_discard(&query);
    return result;
}
