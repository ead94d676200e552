/*
 * kymo fleet: datasets of many ranks. The first word says what to do; each has a file of its own.
 */
#include "cli/fleet_options.h"

#include <stdio.h>

static int run(int count, char **arguments);

const struct command command_fleet = {
    .name = "fleet",
    .summary = "Collect the ranks of a run in a dataset, and query it.",
    .about =
        "A dataset is a directory with the tables of many profiles, one of each rank of a run, as "
        "Parquet files: TABLE/run=RUN/instance=INSTANCE/rank=RANK/part-0.parquet. DuckDB, Spark, "
        "pandas, ClickHouse and others read it as it is.\n\n"
        "add processes captures, one per rank, and adds their tables. In a directory, each file "
        "is a rank. Ranks can be added at any time, by several machines at once; a rank "
        "is added completely or not at all. The number of the rank is found in the capture, or in "
        "the name of its file (rank-3), or given by --rank.\n\n"
        "list prints the ranks, remove removes those of a run or one of them. sql runs a query "
        "over the tables of all ranks, which have the columns run, instance and rank besides "
        "their own; without a query it lists the tables, \"-\" reads the query from standard "
        "input.\n\n"
        "report compares the ranks of a run: which is slow, since when and why, what the others "
        "lose "
        "by waiting, collectives and their bandwidths, clocks of machines, the critical path of "
        "steps and how long they would take with a change. Ranks with unreadable files are left "
        "out; a warning names them. Results are kept in the dataset (_analysis), or in the "
        "workspace if the dataset is read-only, and updated when ranks are added or removed. "
        "queries prints the SQL of all this as JSON.",
    .usage = "add|list|remove|sql|report|queries [options] DATASET [CAPTURE...]",
    .examples =
        (const char *const[]){
            "add runs traces/rank-0.json.gz traces/rank-1.json.gz --run night",
            "add runs traces -j 8",
            "add runs host7.xplane.pb --run night --rank 7 --instance node7",
            "list runs",
            "remove runs --run night --rank 7",
            "sql runs \"SELECT rank, avg(duration_ns)/1e6 AS ms FROM RankStep GROUP BY rank\"",
            "report runs --run night",
            "report runs --format markdown --sql --output-file report.md",
            NULL,
        },
    .run = run,
};

/* The first word after the command, how many words may follow the dataset, and the options it takes
 * besides the common ones. */
static const struct action {
    const char *name;
    int (*run)(const struct fleet_options *options);
    const char *operands; /* name of the operands, for the message when they are missing; NULL: none
                             are needed */
    size_t max_operands;
    const char *options[10]; /* ends with NULL */
} actions[] = {
    {"add",
     fleet_add,
     "a capture",
     SIZE_MAX,
     {"run", "rank", "instance", "engine", "force", "jobs", "scratch-limit", "track-limit",
      "name-limit", NULL}},
    {"list", fleet_list, NULL, 0, {"run", "format", NULL}},
    {"remove", fleet_remove, NULL, 0, {"run", "rank", NULL}},
    {"sql", fleet_sql, NULL, 1, {"format", "limit", "output-file", NULL}},
    {"report",
     fleet_print_report,
     NULL,
     0,
     {"run", "format", "sql", "engine", "force", "jobs", "data-path", "output-file", "progress-fd",
      NULL}},
    {"queries", fleet_print_queries, NULL, 0, {"output-file", NULL}},
};
enum { ACTION_COUNT = sizeof actions / sizeof *actions };

static const struct action *action_named(const char *word)
{
    const char *names[ACTION_COUNT];
    for (size_t i = 0; i < ACTION_COUNT; i++)
        names[i] = actions[i].name;
    size_t found = find_action(&command_fleet, word, names, ACTION_COUNT);
    return found < ACTION_COUNT ? &actions[found] : NULL;
}

static bool is_given(const struct option *option)
{
    switch (option->kind) {
    case OPTION_FLAG:
        return *(const bool *)option->value;
    case OPTION_NUMBER:
        return *(const unsigned long *)option->value != NOT_GIVEN;
    default:
        return *(const char *const *)option->value != NULL;
    }
}

/* Rejects options of other actions. */
static bool takes_options(const struct action *action, const struct option *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_taken = table[i].value == &log_level || !is_given(&table[i]);
        for (const char *const *name = action->options; *name && !is_taken; name++)
            is_taken = strcmp(*name, table[i].name) == 0;
        if (!is_taken) {
            fprintf(stderr, "%s fleet %s: takes no --%s\n", program_name(), action->name,
                    table[i].name);
            return false;
        }
    }
    return true;
}

/* Formats of tables and of reports differ. */
static bool takes_format(const struct action *action, const char *format)
{
    bool is_report = action->run == fleet_print_report;
    bool is_word = format && (strcmp(format, "text") == 0 || strcmp(format, "markdown") == 0);
    bool is_table = format && (strcmp(format, "table") == 0 || strcmp(format, "csv") == 0);
    bool ok = is_report ? !is_table : !is_word;
    if (!ok)
        fprintf(stderr, "%s fleet %s: --format must be one of %s\n", program_name(), action->name,
                is_report ? "text, json, markdown" : "table, csv, json");
    return ok;
}

static bool takes_operands(const struct action *action, size_t count)
{
    if (action->run == fleet_print_queries && count == 0)
        return true; /* they are the same for all */
    const char *missing = count == 0 ? "a dataset" : count == 1 ? action->operands : NULL;
    if (missing)
        fprintf(stderr, "%s fleet %s: missing argument: %s\n", program_name(), action->name,
                missing);
    else if (count - 1 > action->max_operands)
        fprintf(stderr, "%s fleet %s: too many arguments\n", program_name(), action->name);
    return !missing && count - 1 <= action->max_operands;
}

/* One table of options for all actions: each action then refuses those it does not take. The common
 * limits start as NOT_GIVEN to tell whether they were given. */
static int run(int count, char **arguments)
{
    static const char *const formats[] = {"table", "csv", "json", "text", "markdown", NULL};
    struct fleet_options options = {
        .rank = NOT_GIVEN, .jobs = NOT_GIVEN, .limit = NOT_GIVEN, .progress_fd = NOT_GIVEN};
    const struct option table[] = {
        {"run", 0, OPTION_TEXT, &options.run, "NAME",
         "add: name of the run (default: that of the captures' directory); list, remove, report: "
         "only "
         "this run",
         NULL},
        {"rank", 0, OPTION_NUMBER, &options.rank, "N",
         "add: number of the rank (default: found in the capture); remove: only this rank", NULL},
        {"instance", 0, OPTION_TEXT, &options.instance, "NAME",
         "add: machine the rank ran on (default: found in the capture)", NULL},
        {"force", 0, OPTION_FLAG, &options.force, NULL,
         "add: replace an existing rank; report: recompute results", NULL},
        {"format", 0, OPTION_CHOICE, &options.format, "FORMAT",
         "list, sql: table, csv or json (default: table); report: text, json or markdown (default: "
         "text)",
         formats},
        {"sql", 0, OPTION_FLAG, &options.with_sql, NULL,
         "report: show the query behind each finding", NULL},
        {"engine", 0, OPTION_TEXT, &options.engine, "URL",
         "add, report: where captures are processed and queries run: local (default), or an "
         "Apache Spark master, such as spark://HOST:7077 or local[4]; needs pyspark",
         NULL},
        {"data-path", 0, OPTION_TEXT, &options.data_path, "DIR",
         "report: workspace directory (default: ~/.local/share/kymo)", NULL},
        {"limit", 0, OPTION_NUMBER, &options.limit, "N",
         "sql: maximum rows, 0 for all (default: all; 40 for a table on a terminal)", NULL},
        {"output-file", 0, OPTION_TEXT, &options.file, "FILE",
         "sql, report, queries: output file (default: standard output)", NULL},
        {"jobs", 'j', OPTION_NUMBER, &options.jobs, "N",
         "add, report: threads to use (default: all cores)", NULL},
        {"progress-fd", 0, OPTION_NUMBER, &options.progress_fd, "N",
         "report: write progress (percentage and current stage) to this file descriptor, one line "
         "each",
         NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
    };
    unsigned long *limits[] = {&scratch_limit_gib, &catalog_limits.tracks, &catalog_limits.names};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        *limits[i] = NOT_GIVEN;
    const size_t option_count = sizeof table / sizeof *table;
    const char **words = mem_alloc(((size_t)count + 1) * sizeof *words);
    size_t word_count;
    int result = options_read(&command_fleet, table, option_count, count, arguments, words,
                              (size_t)count + 1, &word_count);
    if (result == EXIT_DONE && word_count == 0) {
        fprintf(stderr, "%s fleet: the usage is %s fleet %s\n", program_name(), program_name(),
                command_fleet.usage);
        result = EXIT_USAGE;
    }
    const struct action *action = result == EXIT_DONE ? action_named(words[0]) : NULL;
    if (!action || !takes_options(action, table, option_count) ||
        !takes_format(action, options.format) || !takes_operands(action, word_count - 1)) {
        mem_free(words);
        return result == EXIT_DONE ? EXIT_USAGE : result;
    }
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        *limits[i] = *limits[i] == NOT_GIVEN ? 0 : *limits[i];
    options.dataset = word_count > 1 ? words[1] : NULL;
    options.operands = words + 2;
    options.operand_count = word_count > 2 ? word_count - 2 : 0;
    result = action->run(&options);
    mem_free(words);
    return result;
}
