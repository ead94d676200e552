/*
 * kymo convert: writes a capture as XPlane, as a single file or as a session in a log directory for
 * XProf.
 */
#include "base/directory.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 256, MAX_PATH_BYTES = 4096 };

static int convert(int count, char **arguments);

const struct command command_convert = {
    .name = "convert",
    .summary = "Convert a capture to XPlane for XProf and jaxlib: one file, or a session in a log "
               "directory.",
    .about = "Converts a capture of any supported format to XPlane: a single file, or a session "
             "in a log directory for XProf and TensorBoard. An XPlane file is written unchanged.",
    .usage = "[options] CAPTURE FILE.xplane.pb|DIR",
    .examples =
        (const char *const[]){
            "run.pt.trace.json.gz run.xplane.pb",
            "traces logs",
            "large.xplane.pb.zst logs --force",
            "output/i-1_pid_7 run.xplane.pb --merge jax.xplane.pb",
            NULL,
        },
    .run = convert,
};

struct convert_options {
    const char *capture, *out, *other;
    unsigned long jobs;
    bool force, is_plugin;
};

/* A capture opened without analysis, which conversion does not need. */
struct opened {
    struct capture capture;
    struct pool *pool;
    struct source *source;
};

static void mention_other_runs(const struct capture *capture)
{
    if (capture->other_runs.count > 0)
        log_warn("%zu other run%s in this directory %s skipped; converting the newest, %s",
                 capture->other_runs.count, capture->other_runs.count == 1 ? "" : "s",
                 capture->other_runs.count == 1 ? "is" : "are", capture->run);
}

static void close_capture(struct opened *opened)
{
    if (opened->source)
        source_close(opened->source);
    pool_destroy(opened->pool);
    capture_free(&opened->capture);
}

static bool open_capture(struct opened *opened, const struct convert_options *options,
                         struct error *err)
{
    limit_memory();
    *opened = (struct opened){0};
    bool is_found = capture_find(&opened->capture, options->capture, err);
    print_warnings(&opened->capture);
    if (!is_found)
        return false;
    if (capture_is_mixed(&opened->capture)) {
        log_info("device profiles are left out; kymo view shows them");
        capture_keep(&opened->capture, CAPTURE_SYSTEM, 0);
    }
    mention_other_runs(&opened->capture);
    opened->pool = pool_create((unsigned)(options->jobs < MAX_JOBS ? options->jobs : MAX_JOBS));
    if (!import_capture(&opened->capture, opened->pool, &opened->source, err))
        return false;
    warn_of_drops(catalog_drops(&opened->source->catalog));
    return true;
}

static bool write_file(struct opened *opened, const struct convert_options *options,
                       struct output *out, struct error *err)
{
    struct source *source = opened->source;
    if (options->other)
        return export_xplane_with(source, options->other, opened->pool, XPLANE_MAX_BYTES, out, err);
    if (options->is_plugin)
        return export_xplane_plugin(source, opened->pool, XPLANE_MAX_BYTES, out, err);
    return export_xplane(source, opened->pool, XPLANE_MAX_BYTES, out, err);
}

static bool convert_to_file(struct opened *opened, const struct convert_options *options,
                            struct error *err)
{
    struct output out;
    struct stat status;
    if (!options->force && stat(options->out, &status) == 0 && !S_ISDIR(status.st_mode))
        return error_in_file(err, options->out, "already exists; use --force to replace it");
    if (!output_open(&out, options->out, err)) /* before the work, not after it */
        return false;
    bool ok = open_capture(opened, options, err);
    if (ok) {
        struct progress *progress = progress_start(opened->source, "converting");
        ok = write_file(opened, options, &out, err);
        progress_stop(progress);
    }
    if (ok)
        return output_commit(&out, err);
    output_discard(&out);
    return false;
}

/* JAX's naming of runs by time: 2026_11_15_00_02_23. */
static void name_run(const struct opened *opened, char *name, size_t size)
{
    int64_t start_ns = opened->source->catalog.start_epoch_ns;
    time_t seconds = (time_t)(start_ns / 1000000000);
    struct tm date;
    if (start_ns != TIME_UNSET && gmtime_r(&seconds, &date) &&
        strftime(name, size, "%Y_%m_%d_%H_%M_%S", &date) > 0)
        return;
    snprintf(name, size, "%s", opened->capture.run ? opened->capture.run : "run");
}

static void remove_directories(char *path, size_t made)
{
    for (size_t size = strlen(path); size >= made; size--) {
        if (path[size] != '/' && path[size] != '\0')
            continue;
        path[size] = '\0';
        if (rmdir(path) != 0)
            return;
    }
}

/* Whether the directory contains input files: output replaces the whole directory. */
static bool has_input(const struct capture *capture, const char *directory)
{
    struct stat wanted, found;
    bool is_input = false;
    const struct capture_file *file;
    if (stat(directory, &wanted) != 0)
        return false;
    array_each (file, &capture->files) {
        const char *slash = strrchr(file->path, '/');
        char *above = slash ? path_format("%.*s/", (int)(slash - file->path), file->path)
                            : mem_copy_text(".", 1);
        is_input |= stat(above, &found) == 0 && found.st_dev == wanted.st_dev &&
                    found.st_ino == wanted.st_ino;
        mem_free(above);
    }
    return is_input;
}

/* XProf shows every run it finds: a conversion that fails removes the directories it made. Output
 * must not replace its own input. */
static bool convert_to_session(struct opened *opened, const struct convert_options *options,
                               struct error *err)
{
    char run[256], path[MAX_PATH_BYTES];
    size_t made;
    if (!open_capture(opened, options, err))
        return false;
    name_run(opened, run, sizeof run);
    if (snprintf(path, sizeof path, "%s/plugins/profile/%s", options->out, run) >= MAX_PATH_BYTES)
        return error_in_file(err, options->out, "path is too long");
    if (has_input(&opened->capture, path))
        return error_in_file(err, path,
                             "contains the capture being converted; choose another directory");
    if (!options->force && file_is_directory(path))
        return error_in_file(err, path, "already exists; use --force to replace it");
    int problem = directory_make_each(path, &made);
    if (problem != 0)
        return error_in_file(err, path, "cannot create directory: %s", strerror(problem));
    struct progress *progress = progress_start(opened->source, "converting");
    bool ok = export_xplane_session(opened->source, opened->pool, XPLANE_MAX_BYTES, path, err);
    progress_stop(progress);
    if (ok)
        printf("%s\n", path);
    else
        remove_directories(path, made);
    return ok;
}

static bool is_file_name(const char *out)
{
    return text_ends(text_of(out), TEXT(".xplane.pb"));
}

/* Rejects names that look like other file formats rather than directories. */
static int check_out(const char *out)
{
    static const char *const others[] = {".pb", ".gz", ".zst", ".json", ".pftrace"};
    bool is_other = out[0] == '\0' || strcmp(out, "-") == 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is_other |= !is_file_name(out) && text_ends(text_of(out), text_of(others[i]));
    if (!is_other)
        return EXIT_DONE;
    fprintf(stderr,
            "%s convert: the output must be a directory or a file named *.xplane.pb, not '%s'\n",
            program_name(), out);
    return EXIT_USAGE;
}

/* The output's name decides: *.xplane.pb is a file, anything else a log directory. */
static int convert(int count, char **arguments)
{
    struct convert_options options = {0};
    const struct option table[] = {
        {"force", 0, OPTION_FLAG, &options.force, NULL, "replace existing output", NULL},
        LIMIT_OPTIONS,
        LOG_LEVEL_OPTION,
        {"merge", 0, OPTION_TEXT, &options.other, "FILE",
         "merge this XPlane file, recorded in the same process at the same time (for example by "
         "jaxlib's profiler), into the output, a single file",
         NULL},
        {"epoch-times", 0, OPTION_FLAG, &options.is_plugin, NULL,
         "write absolute times and no environment plane, as XLA's profiler expects from a "
         "plug-in; the output is a single file",
         NULL},
        {"jobs", 'j', OPTION_NUMBER, &options.jobs, "N", "threads to use (default: all cores)",
         NULL},
    };
    const char *operands[2];
    size_t operand_count;
    int result = options_read(&command_convert, table, sizeof table / sizeof *table, count,
                              arguments, operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count < 2) {
        fprintf(stderr, "%s convert: missing arguments: a capture and an output path\n",
                program_name());
        return EXIT_USAGE;
    }
    options.capture = operands[0];
    options.out = operands[1];
    result = check_out(options.out);
    if (result != EXIT_DONE)
        return result;
    if ((options.other || options.is_plugin) && !is_file_name(options.out)) {
        fprintf(stderr, "%s convert: --%s writes a single file: name it *.xplane.pb\n",
                program_name(), options.other ? "merge" : "epoch-times");
        return EXIT_USAGE;
    }
    if (options.other && options.is_plugin) {
        fprintf(stderr, "%s convert: --merge and --epoch-times exclude each other\n",
                program_name());
        return EXIT_USAGE;
    }
    struct opened opened = {0};
    struct error err;
    bool ok = is_file_name(options.out) ? convert_to_file(&opened, &options, &err)
                                        : convert_to_session(&opened, &options, &err);
    close_capture(&opened);
    if (!ok)
        print_error(&err);
    return ok ? finish_printing() : EXIT_FAILED;
}
