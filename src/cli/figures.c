/*
 * kymo figures: what figures mean, and the queries that give them.
 */
#include "report/figures/figures.h"
#include "cli/on_diff.h"
#include "report/fleet/fleet.h"
#include "report/xprof/tools.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_ID = 256 };

static int figures(int count, char **arguments);

const struct command command_figures = {
    .name = "figures",
    .summary = "Define a figure: what it means, its unit, its formula and its query.",
    .about =
        "Every figure that a page, a summary or a tool shows has an id, one definition and a query "
        "over the tables of the profile. Without ID, all are listed but columns of tables; an ID "
        "may "
        "also be the beginning of several, such as a group, a tool or table.Step. With PROFILE, ID "
        "is a group of figures, and its query for that "
        "profile is printed: plain SQL, which kymo sql or any DuckDB runs over the profile's "
        "Parquet files. PROFILE is a name in the workspace, a directory of Parquet files, or a "
        "capture that kymo view reads; for figures of runs of many ranks it is DATASET/RUN, or "
        "DATASET if it has one run. Figures of two profiles compared, diff, need both, A and B; "
        "their query is over the tables of A in the schema a and those of B in the schema b. In "
        "the web UI, hover over a figure, or press ? there.",
    .usage = "[options] [ID [PROFILE|PATH|DATASET/RUN [PROFILE|PATH]]]",
    .examples =
        (const char *const[]){
            "summary.devices.busy_share",
            "kernel_stats",
            "summary.devices gpt",
            "summary.devices gpt | kymo sql gpt -",
            "run.slow_ranks runs/night | kymo sql runs/night -",
            "diff.kernels before after",
            NULL,
        },
    .run = figures,
};

/* ---- Definitions ---- */

struct listing {
    struct text id; /* a figure, or how they begin */
    struct output *out;
    struct text_style style;
    size_t found;
};

static size_t put_id(char id[static MAX_ID], const struct figure_group *group,
                     const struct figure *figure)
{
    int size = snprintf(id, MAX_ID, "%s.%s", group->id, figure->column);
    return size < MAX_ID ? (size_t)size : MAX_ID - 1;
}

static void put_definition(struct output *out, const char *id, const struct figure *figure)
{
    output_format(out, "%s\n  %s", id, figure->label);
    if (*figure->unit)
        output_format(out, " (%s)", figure->unit);
    bool is_sentence = text_ends(text_of(figure->text), TEXT("."));
    output_format(out, ": %s%s\n  = %s\n", figure->text, is_sentence ? "" : ".", figure->formula);
}

/* Whether the id begins with what was asked for, up to a dot. */
static bool is_wanted(struct text id, struct text wanted)
{
    return text_starts(id, wanted) &&
           (wanted.size == 0 || id.size == wanted.size || id.data[wanted.size] == '.');
}

/* The figures of a group that are wanted: all that is known of a single one, else a table. Columns
 * of tables are listed only if asked for. */
static void list_group(void *context, const struct figure_group *group,
                       const struct figure *figures, size_t count)
{
    static const struct column columns[] = {
        {"figure", true, false}, {"unit", true, false}, {"definition", true, true}};
    struct listing *listing = context;
    struct table table = table_begin(columns, 3);
    size_t listed = 0;
    if (figures_of_table(group) && listing->id.size == 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        char id[MAX_ID];
        struct text whole = {id, put_id(id, group, &figures[i])};
        if (!is_wanted(whole, listing->id))
            continue;
        listing->found++;
        if (text_equal(whole, listing->id)) {
            put_definition(listing->out, id, &figures[i]);
            continue;
        }
        listed++;
        table_text(&table, whole);
        table_text(&table, text_of(figures[i].unit));
        table_text(&table, text_of(figures[i].text));
    }
    if (listed > 0) {
        output_format(listing->out, "%s%s%s%s: %s\n", listing->found > listed ? "\n" : "",
                      listing->style.colored ? "\033[1m" : "", group->id,
                      listing->style.colored ? "\033[0m" : "", group->title);
        table_end(&table, &listing->style, listing->out);
    } else {
        array_free(&table.cells);
    }
}

/* Ids that a mistyped one may stand for: those that end with it, or the nearest. */
struct candidates {
    const char *word;
    ARRAY(char *) ids;
    size_t ending;
};

static void add_candidate(struct candidates *all, const char *id)
{
    size_t size = strlen(id), wanted = strlen(all->word);
    enum { MAX_NAMED = 5 };
    if (size > wanted && id[size - wanted - 1] == '.' &&
        strcmp(id + size - wanted, all->word) == 0 && all->ending++ < MAX_NAMED)
        fprintf(stderr, "did you mean %s?\n", id);
    *array_push(&all->ids) = mem_copy_string(id);
}

static void add_candidates(void *context, const struct figure_group *group,
                           const struct figure *figures, size_t count)
{
    add_candidate(context, group->id);
    for (size_t i = 0; i < count; i++) {
        char id[MAX_ID];
        put_id(id, group, &figures[i]);
        add_candidate(context, id);
    }
}

static void suggest_figures(const char *word)
{
    struct candidates all = {.word = word};
    figures_visit(add_candidates, &all);
    if (all.ending == 0)
        suggest(word, (const char *const *)all.ids.items, all.ids.count, "");
    char **id;
    array_each (id, &all.ids)
        mem_free(*id);
    array_free(&all.ids);
}

/* ---- Queries ---- */

/* Without a page nothing is chosen. */
static const char *default_parameter(const void *context, const char *name)
{
    (void)context;
    return strcmp(name, "group_by") == 0 ? tool_groupings[0] : NULL;
}

static bool write_query(const void *context, struct sql_connection *connection,
                        const char *directory, struct output *out, struct error *err)
{
    (void)directory;
    const char *id = context;
    if (!figures_put_query(out, text_of(id), default_parameter, NULL, connection, err))
        return false;
    output_char(out, '\n');
    char *why = figures_why_unknown(text_of(id), connection);
    if (why)
        fprintf(stderr, "%s\n", why);
    mem_free(why);
    return true;
}

/* What is needed for a query over two profiles. */
struct diff_query {
    const char *id, *file;
};

static int write_diff_query(const void *context, const struct diff *diff)
{
    const struct diff_query *query = context;
    struct output out;
    struct error err;
    bool ok = output_open(&out, query->file, &err);
    if (ok && !diff_put_query(diff, text_of(query->id), &out)) {
        output_discard(&out);
        log_error("figures of two runs have no query over tables: docs/diff.md defines them");
        return EXIT_FAILED;
    }
    if (ok) {
        output_char(&out, '\n');
        ok = output_commit(&out, &err);
    }
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* Says why there is no query of a group over so many profiles. */
static void explain_no_query(const char *id, enum figure_query found, size_t profiles)
{
    const char *why = found == FIGURE_NO_QUERY ? "depends on what was chosen on its page"
                      : found != FIGURE_OF_TWO ? "is over one profile or run"
                      : profiles == 1          ? "is over two profiles: name both"
                                               : NULL;
    if (found == FIGURE_NO_GROUP) {
        fprintf(stderr,
                "%s figures: no group of figures '%s'; %s figures lists figures as GROUP.FIGURE\n",
                program_name(), id, program_name());
        suggest_figures(id);
    } else if (why) {
        fprintf(stderr, "%s figures: the query of %s %s\n", program_name(), id, why);
    } else {
        fprintf(stderr, "%s figures: %s is of two runs, which have no query over tables\n",
                program_name(), id);
    }
}

struct figures_call {
    const char *file, *data_path;
    unsigned long jobs;
};

/* The query of a group of runs is the same for all of them. */
static int print_run_query(const struct figures_call *call, const char *id, const char *place)
{
    struct output out;
    struct error err;
    char *dataset, *run;
    enum run_path found = fleet_find_run(place, &dataset, &run, &err);
    bool ok = found == RUN_PATH_FOUND;
    if (found == RUN_PATH_OTHER && access(place, F_OK) != 0)
        error_in_file(&err, place, "cannot open: %s", strerror(errno));
    else if (found == RUN_PATH_OTHER)
        error_in_file(&err, place, "is not a run of many ranks; name one as DATASET/RUN for %s",
                      id);
    if (ok) {
        mem_free(dataset);
        mem_free(run);
        ok = output_open(&out, call->file, &err);
    }
    if (ok) {
        figures_put_run_query(&out, text_of(id), default_parameter, NULL);
        output_char(&out, '\n');
        ok = output_commit(&out, &err);
    }
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int print_query(const struct figures_call *call, const char *id, const char *place)
{
    enum figure_query found = figures_find_query(text_of(id));
    if (found == FIGURE_RUN_QUERY)
        return print_run_query(call, id, place);
    if (found == FIGURE_QUERY)
        return on_profile(&(struct profile_call){.place = place,
                                                 .data_path = call->data_path,
                                                 .file = call->file,
                                                 .jobs = call->jobs,
                                                 .run = write_query,
                                                 .context = id});
    explain_no_query(id, found, 1);
    return EXIT_USAGE;
}

static int print_diff_query(const struct figures_call *call, const char *id, const char *a,
                            const char *b)
{
    enum figure_query found = figures_find_query(text_of(id));
    unsigned kinds;
    if (found != FIGURE_OF_TWO || !diff_has_query(text_of(id), &kinds)) {
        explain_no_query(id, found, 2);
        return EXIT_USAGE;
    }
    return on_diff(
        &(struct diff_of_two){.places = {a, b},
                              .data_path = call->data_path,
                              .jobs = call->jobs,
                              .kinds = kinds,
                              .run = write_diff_query,
                              .context = &(struct diff_query){.id = id, .file = call->file}});
}

/* With a profile or a run, the query of a group; without, definitions. */
static int figures(int count, char **arguments)
{
    struct figures_call call = {0};
    const struct option table[] = {ANSWER_OPTIONS(call)};
    const char *operands[3];
    size_t operand_count;
    int result = options_read(&command_figures, table, sizeof table / sizeof *table, count,
                              arguments, operands, 3, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count == 3)
        return print_diff_query(&call, operands[0], operands[1], operands[2]);
    if (operand_count == 2)
        return print_query(&call, operands[0], operands[1]);
    struct output out;
    struct error err;
    if (!output_open(&out, call.file, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    struct listing listing = {.id = text_of(operand_count > 0 ? operands[0] : ""),
                              .out = &out,
                              .style = style_for(call.file != NULL, 0)};
    if (!isatty(STDOUT_FILENO) || call.file)
        listing.style.width = SIZE_MAX; /* no truncation outside terminals */
    figures_visit(list_group, &listing);
    if (listing.found == 0) {
        output_discard(&out);
        fprintf(stderr, "%s figures: no figure '%s'; %s figures lists them\n", program_name(),
                operands[0], program_name());
        suggest_figures(operands[0]);
        return EXIT_USAGE;
    }
    if (output_commit(&out, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}
