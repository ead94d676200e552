/*
 * kymo recommend: what costs time in a profile, and what to do about it.
 */
#include "cli/cli.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <unistd.h>

static int recommend(int count, char **arguments);

const struct command command_recommend = {
    .name = "recommend",
    .summary = "Show what costs time in a profile and what to do about it.",
    .about = "Prints the findings of a profile or a capture, the costliest first: what costs time, "
             "how much and which share, what was seen, and what to try. PROFILE is a name in the "
             "workspace, a directory of Parquet files, or a capture of any format that kymo view "
             "reads. For a profile in the workspace, each finding has links into the web UI and a "
             "query that lists its events.\n\n"
             "With -n and -s, the findings of a device profile are printed as Markdown: the "
             "critical path, then possible gains, largest first, with evidence and a query. No "
             "service is called.",
    .usage = "[options] [PROFILE|PATH]",
    .examples =
        (const char *const[]){
            "gpt",
            "run.xplane.pb",
            "-n file.neff -s profile.ntff",
            "gpt --format json | jq '.[0].statement'",
            "gpt --address http://host:3001",
            NULL,
        },
    .run = recommend,
};

static const char *const formats[] = {"text", "json", NULL};

struct recommend_options {
    const char *format, *data_path, *address;
    unsigned long jobs;
};

static bool print(const struct findings *findings, const char *profile,
                  const struct recommend_options *options, struct error *err)
{
    struct output out;
    if (!output_open(&out, NULL, err))
        return false;
    struct text_style style = style_for(false, 0);
    struct findings_options shown = {.profile = profile, .address = options->address};
    if (strcmp(options->format, "json") == 0)
        export_findings_json(findings, &out);
    else
        export_findings_text(findings, &shown, &style, &out);
    return output_commit(&out, err);
}

static bool print_profile(const char *directory, const char *profile,
                          const struct recommend_options *options, struct error *err)
{
    struct sql_database *database = NULL;
    struct sql_connection *connection = NULL;
    struct findings findings = {0};
    bool ok = sql_open(&database, directory, err) && sql_connect(&connection, database, err) &&
              findings_read(connection, &findings, err) && print(&findings, profile, options, err);
    if (connection)
        sql_disconnect(connection);
    if (database)
        sql_close(database);
    findings_free(&findings);
    return ok;
}

static int run_on_capture(const char *path, const struct recommend_options *options)
{
    struct session session;
    struct error err;
    if (!session_open(&session, path, options->jobs))
        return EXIT_FAILED;
    bool ok = print(&session.analysis.findings, NULL, options, &err);
    session_close(&session);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* Of a device: always Markdown. */
static int run_on_device(const char *neff, const char *ntff, const char *nki_source_root,
                         const struct recommend_options *options)
{
    struct error err;
    struct device_analysis analysis;
    struct device_profile *profile = device_open(neff, ntff, &err);
    if (!profile) {
        print_error(&err);
        return EXIT_FAILED;
    }
    struct pool *pool = pool_create((unsigned)(options->jobs < 256 ? options->jobs : 256));
    struct output out;
    device_analyze(&analysis, profile, nki_source_root, pool);
    warn_of_problems(&analysis, ntff);
    bool ok = output_open(&out, NULL, &err);
    if (ok) {
        export_device_findings(&analysis, &out);
        ok = output_commit(&out, &err);
    }
    device_analysis_free(&analysis);
    pool_destroy(pool);
    device_close(profile);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* Three sources: a device profile (-n and -s), a profile of the workspace, or a capture, which is
 * analyzed on the spot. A profile of that name comes first. */
static int recommend(int count, char **arguments)
{
    const char *neff = NULL, *ntff = NULL, *nki_source_root = NULL;
    struct recommend_options options = {.format = formats[0], .address = "http://localhost:3001"};
    const struct option table[] = {
        {"neff-path", 'n', OPTION_TEXT, &neff, "FILE", "the model of a device profile", NULL},
        {"session-file", 's', OPTION_TEXT, &ntff, "FILE",
         "the device profile (NTFF) of that model; findings are written as Markdown", NULL},
        {"nki-source-root", 0, OPTION_TEXT, &nki_source_root, "DIR",
         "directory of the source files of NKI kernels", NULL},
        {"format", 0, OPTION_CHOICE, &options.format, "FORMAT", "output format (default: text)",
         formats},
        {"address", 0, OPTION_TEXT, &options.address, "URL",
         "server for links (default: http://localhost:3001)", NULL},
        {"data-path", 0, OPTION_TEXT, &options.data_path, "DIR",
         "workspace directory (default: ~/.local/share/kymo)", NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
        {"jobs", 'j', OPTION_NUMBER, &options.jobs, "N", "threads to use (default: all cores)",
         NULL},
    };
    const char *operand = NULL;
    size_t operands;
    int result = options_read(&command_recommend, table, sizeof table / sizeof *table, count,
                              arguments, &operand, 1, &operands);
    if (result != EXIT_DONE)
        return result;
    if ((neff || ntff) && (!neff || !ntff || operands > 0)) {
        fprintf(stderr, "%s recommend: a device profile takes both -n NEFF and -s NTFF%s\n",
                program_name(), operands > 0 ? ", and nothing else" : "");
        return EXIT_USAGE;
    }
    if (nki_source_root && !neff) {
        fprintf(stderr, "%s recommend: --nki-source-root requires -n and -s\n", program_name());
        return EXIT_USAGE;
    }
    if (!is_source_root(&command_recommend, "nki-source-root", nki_source_root))
        return EXIT_USAGE;
    if (neff)
        return run_on_device(neff, ntff, nki_source_root, &options);
    if (operands == 0) {
        fprintf(stderr, "%s recommend: missing argument: a profile or a capture\n", program_name());
        return EXIT_USAGE;
    }
    struct error err;
    char *directory;
    if (!profile_find(options.data_path, operand, &directory, &err)) {
        if (access(operand, F_OK) == 0)
            return run_on_capture(operand, &options);
        print_error(&err);
        return EXIT_FAILED;
    }
    warn_of_drops(profile_drops(directory));
    bool is_named = !strchr(operand, '/');
    bool ok = print_profile(directory, is_named ? operand : NULL, &options, &err);
    mem_free(directory);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
