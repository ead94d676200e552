/*
 * Sessions: opening and analyzing a capture, shared by subcommands.
 */
#include "base/clock.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 256, FILE_WIDTH = 140, NARROW = 60 };

void print_error(const struct error *err)
{
    char line[ERROR_LINE_SIZE];
    log_fatal("%s", error_line(err, line));
}

void print_warnings(const struct capture *capture)
{
    char **warning;
    array_each (warning, &capture->warnings)
        log_warn("%s", *warning);
}

void warn_of_drops(struct drops drops)
{
    char text[DROPS_TEXT_SIZE];
    if (drops.dropped > 0)
        log_warn("%s", drops_text(&drops, text));
}

static void mention_other_runs(const struct capture *capture)
{
    if (capture->other_runs.count == 0)
        return;
    log_warn("%zu other run%s in this directory %s skipped; showing the newest, %s",
             capture->other_runs.count, capture->other_runs.count == 1 ? "" : "s",
             capture->other_runs.count == 1 ? "is" : "are", capture->run);
    char **run;
    array_each (run, &capture->other_runs)
        log_info("other run: %s", *run);
}

/* Applies the filter and prints its warnings before anything else. */
static bool put_filter(struct session *session, const struct filter *filter, struct error *err)
{
    const struct catalog *catalog = &session->source->catalog;
    size_t before = catalog->messages.count;
    bool ok = filter_source(&session->source, filter, session->pool, err);
    catalog = &session->source->catalog;
    for (size_t i = before; i < catalog->messages.count; i++)
        log_warn("%s", catalog_text(catalog, catalog->messages.items[i].text).data);
    return ok;
}

unsigned long scratch_limit_gib;

void limit_memory(void)
{
    struct mem_limits limits = mem_default_limits();
    limits.scratch_bytes =
        scratch_limit_gib < SIZE_MAX >> 30 ? (size_t)scratch_limit_gib << 30 : SIZE_MAX;
    mem_limit(&limits);
}

bool session_open(struct session *session, const char *path, unsigned long jobs)
{
    return session_open_chosen(session, path, jobs, &(struct choice){0});
}

static bool has_ntff(const struct capture *capture)
{
    const struct capture_file *file;
    array_each (file, &capture->files)
        if (file->is_ntff)
            return true;
    return false;
}

bool choice_find(struct capture *capture, const char *path, const struct choice *choice,
                 struct error *err)
{
    bool ok = capture_find(capture, path, err);
    print_warnings(capture);
    if (!ok || (choice->neff && !capture_set_neff(capture, choice->neff, err)))
        return false;
    const char *for_devices = choice->tracks_memory     ? "enable-memory-tracker"
                              : choice->nki_source_root ? "nki-source-root"
                                                        : NULL;
    if (for_devices && !has_ntff(capture))
        return error_in_file(err, path, "--%s needs a device profile (NTFF)", for_devices);
    capture->tracks_memory = choice->tracks_memory;
    capture_keep(capture, choice->part, choice->device);
    if (capture->files.count > 0)
        return true;
    return error_in_file(err, path,
                         choice->part == CAPTURE_SYSTEM
                             ? "no system profiles found, only device profiles"
                             : "no device profiles found");
}

/* Opens, filters and analyzes in this order; whatever fails releases what came before, so that the
 * caller has nothing to close. */
bool session_open_chosen(struct session *session, const char *path, unsigned long jobs,
                         const struct choice *choice)
{
    struct error err;
    int64_t started_ns = clock_monotonic_ns();
    limit_memory();
    *session = (struct session){0};
    bool ok = choice_find(&session->capture, path, choice, &err);
    if (ok && capture_is_mixed(&session->capture)) {
        log_info("device profiles are left out; kymo view shows them");
        capture_keep(&session->capture, CAPTURE_SYSTEM, 0);
    }
    if (ok) {
        mention_other_runs(&session->capture);
        session->pool = pool_create((unsigned)(jobs < MAX_JOBS ? jobs : MAX_JOBS));
        log_debug("%zu file%s, %u threads", session->capture.files.count,
                  session->capture.files.count == 1 ? "" : "s", pool_workers(session->pool));
        ok = import_capture(&session->capture, session->pool, &session->source, &err);
        if (ok)
            warn_of_drops(catalog_drops(&session->source->catalog));
    }
    if (ok && !filter_is_empty(&choice->filter) && !put_filter(session, &choice->filter, &err)) {
        source_close(session->source);
        ok = false;
    }
    if (ok) {
        struct progress *progress = progress_start(session->source, "reading");
        ok = analyze(&session->analysis, session->source, session->pool, &err);
        progress_stop(progress);
        if (ok && session->analysis.idle_excess_ps > 0)
            log_warn("the causes of idle time claimed %.3f ms more than the devices idled, which "
                     "is a defect of Kymo; it is left out of the findings",
                     (double)session->analysis.idle_excess_ps / 1e9);
        if (ok)
            session_find_on_devices(session, choice->nki_source_root);
        if (ok)
            log_debug("read and analyzed in %.3f s",
                      (double)(clock_monotonic_ns() - started_ns) / 1e9);
        else
            source_close(session->source);
    }
    if (!ok) {
        print_error(&err);
        pool_destroy(session->pool);
        capture_free(&session->capture);
    }
    return ok;
}

void session_close(struct session *session)
{
    analysis_free(&session->analysis);
    source_close(session->source);
    pool_destroy(session->pool);
    capture_free(&session->capture);
}

struct text_style style_for(bool to_file, size_t top)
{
    struct text_style style = {.width = FILE_WIDTH, .top = top};
    struct winsize size;
    if (to_file || !isatty(STDOUT_FILENO))
        return style;
    style.colored = !getenv("NO_COLOR");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= NARROW)
        style.width = size.ws_col;
    return style;
}
