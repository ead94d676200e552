/*
 * kymo view: the summary or the JSON of a device profile, an NTFF with its NEFF.
 */
#include "cli/view_options.h"

static void write_json(const struct device_analysis *analysis, const char *ntff_path,
                       const struct view_options *options, struct pool *pool, struct output *out)
{
    export_device_json(
        analysis,
        &(struct device_json_options){.ntff_path = ntff_path,
                                      .version = KYMO_VERSION,
                                      .is_pretty = options->pretty,
                                      .tracks_memory = options->choice.tracks_memory},
        pool, out);
}

static void write_device_view(const struct device_analysis *analysis,
                              const struct view_options *options, struct pool *pool,
                              struct output *out)
{
    if (is_format(options, "summary-text"))
        export_device_text(&analysis, 1, KYMO_VERSION, out);
    else if (is_format(options, "summary-json"))
        export_device_summary_json(&analysis, 1, NULL, NULL, KYMO_VERSION, options->pretty, out);
    else
        write_json(analysis, options->session_file, options, pool, out);
}

/* A failure is the first finding. */
static void warn_of_failure(const struct device_analysis *analysis, const char *path)
{
    if (analysis->findings.count > 0 && analysis->findings.items[0].is_failure)
        log_warn("%s: %s", path, analysis->findings.items[0].text);
}

void warn_of_problems(const struct device_analysis *analysis, const char *path)
{
    char text[NTFF_LOSS_SIZE];
    warn_of_failure(analysis, path);
    if (ntff_is_partial(analysis->profile->ntff))
        log_warn("%s: the profile was cut off; the part before that is shown", path);
    if (analysis->loss.places > 0)
        log_warn("%s: %s", path, ntff_loss_text(&analysis->loss, text));
}

bool view_is_device_document(const struct view_options *options)
{
    return options->choice.neff && options->session_file &&
           (is_format(options, "summary-text") || is_format(options, "summary-json") ||
            is_format(options, "json"));
}

/* A single NTFF file is analyzed directly, without importing it as a capture. The output is opened
 * before the work, so that a wrong path fails at once. */
int view_device_document(const struct view_options *options)
{
    struct error err;
    struct output out;
    struct device_analysis analysis;
    struct device_profile *profile = device_open(options->choice.neff, options->session_file, &err);
    if (!profile) {
        print_error(&err);
        return EXIT_FAILED;
    }
    if (!output_open(&out, options->file, &err)) {
        device_close(profile);
        print_error(&err);
        return EXIT_FAILED;
    }
    struct pool *pool = pool_create((unsigned)(options->jobs < 256 ? options->jobs : 256));
    device_analyze(&analysis, profile, options->choice.nki_source_root, pool);
    warn_of_problems(&analysis, options->session_file);
    write_device_view(&analysis, options, pool, &out);
    device_analysis_free(&analysis);
    pool_destroy(pool);
    bool ok = output_commit(&out, &err);
    device_close(profile);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* The system's summary comes first; how ranks waited for each other is shown only if there are
 * several cores. */
void view_device_summary(const struct device_cores *cores, const struct analysis *system,
                         const struct view_options *options, const struct text_style *style,
                         struct output *out)
{
    const struct device_analysis **list = mem_zeroed(cores->count, sizeof *list);
    struct device_ranks ranks = {0};
    device_ranks_of(&ranks, cores);
    for (size_t i = 0; i < cores->count; i++) {
        list[i] = cores->items[i].analysis;
        warn_of_problems(list[i], cores->items[i].ntff_path);
    }
    bool is_several = cores->count > 1;
    if (is_format(options, "summary-json")) {
        export_device_summary_json(list, cores->count, is_several ? &ranks : NULL, system,
                                   KYMO_VERSION, options->pretty, out);
    } else {
        if (system) {
            export_summary_text(system, style, out);
            output_char(out, '\n');
        }
        export_device_text(list, cores->count, KYMO_VERSION, out);
        if (is_several)
            export_device_ranks_text(&ranks, style, out);
    }
    device_ranks_free(&ranks);
    mem_free(list);
}

void view_device_overview(const struct session *session, const struct text_style *style,
                          struct output *out)
{
    const struct device_cores *cores = import_device_cores(session->source);
    if (cores->count == 1) {
        export_device_overview(&session->analysis, cores->items[0].analysis, style, out);
    } else {
        struct device_ranks ranks = {0};
        device_ranks_of(&ranks, cores);
        export_ranks_overview(&session->analysis, &ranks, style, out);
        device_ranks_free(&ranks);
    }
}

void view_device_json(const struct device_core *core, const struct view_options *options,
                      struct pool *pool, struct output *out)
{
    warn_of_problems(core->analysis, core->ntff_path);
    write_json(core->analysis, core->ntff_path, options, pool, out);
}

int view_terminology(void)
{
    struct error err;
    struct output out;
    if (!output_open(&out, NULL, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    export_terminology(&out);
    if (output_commit(&out, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}
