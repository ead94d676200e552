/*
 * kymo fleet add: processes captures of ranks and adds their tables to a dataset. Several are
 * processed at once, each by a process of its own, so that none can take the others down.
 */
#include "cli/fleet_options.h"
#include "report/fleet/fleet.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_RANK = INT32_MAX };

/* The rank of a capture, from the options or from the capture itself. */
static bool find_place(const struct fleet_options *options, const char *path,
                       const struct rank_found *found, struct rank_place *place, struct error *err)
{
    bool is_given = options->rank != NOT_GIVEN;
    if (!is_given && !found->has_rank)
        return error_in_file(err, path,
                             "does not say which rank it belongs to; give the number with --rank");
    if ((is_given ? options->rank : (unsigned long)found->rank) > MAX_RANK)
        return error_in_file(err, path, "the number of the rank is too large");
    place->rank = is_given ? (int64_t)options->rank : found->rank;
    place->run =
        options->run ? mem_copy_text(options->run, strlen(options->run)) : run_of_path(path);
    place->instance = options->instance
                          ? mem_copy_text(options->instance, strlen(options->instance))
                          : instance_of(found, place->rank);
    return true;
}

/* Options decide which rank it is, else the capture, else its file's name. The dataset shows the
 * rank only once all its tables are written. */
static bool add_session(const struct fleet_options *options, const char *path,
                        struct session *session, struct error *err)
{
    struct rank_found found = rank_find(&session->source->catalog);
    struct rank_addition addition = {.dataset = options->dataset, .replace = options->force};
    if (!found.has_rank)
        found.has_rank = rank_in_name(path_name(path), &found.rank);
    if (!find_place(options, path, &found, &addition.place, err))
        return false;
    struct rank_info info = {
        .capture = path_name(path),
        .host = found.host,
        .rank = addition.place.rank,
        .world_size = found.world_size,
    };
    addition.profile = (struct profile_options){.version = KYMO_VERSION,
                                                .summarize = write_summary_file,
                                                .devices = import_device_cores(session->source),
                                                .rank = &info};
    struct progress *progress = progress_start(session->source, "writing");
    bool ok = dataset_add(&addition, &session->analysis, session->source, session->pool, err);
    progress_stop(progress);
    if (ok)
        printf("Rank %lld of run \"%s\" is added\n", (long long)addition.place.rank,
               addition.place.run);
    mem_free((char *)addition.place.run);
    mem_free((char *)addition.place.instance);
    return ok;
}

/* Reports what can be checked before the capture is read. */
static bool check_first(const struct fleet_options *options, const char *path, struct error *err)
{
    if (!dataset_is_usable(options->dataset, err))
        return false;
    if (options->force || options->rank == NOT_GIVEN || options->rank > MAX_RANK)
        return true;
    char *run =
        options->run ? mem_copy_text(options->run, strlen(options->run)) : run_of_path(path);
    bool is_free = dataset_is_free(options->dataset, run, (int64_t)options->rank, err);
    mem_free(run);
    return is_free;
}

static int add_one(const struct fleet_options *options, const char *path)
{
    struct error err;
    struct session session;
    bool ok = check_first(options, path, &err);
    if (ok) {
        if (!session_open(&session, path, options->jobs == NOT_GIVEN ? 0 : options->jobs))
            return EXIT_FAILED;
        ok = add_session(options, path, &session, &err);
        session_close(&session);
    }
    if (!ok)
        print_error(&err);
    return ok ? finish_printing() : EXIT_FAILED;
}

/* --- several --- */

/* A recording is a directory of files that belong together; other files stand for themselves. */
static char *unit_of(const struct capture_file *file)
{
    const char *slash = strrchr(file->path, '/');
    if (!slash)
        return mem_copy_text(file->path, strlen(file->path));
    char *directory = mem_copy_text(file->path, (size_t)(slash - file->path));
    char *info = path_join(directory, "trace_info.pb");
    bool is_recording = file->is_rings || access(info, F_OK) == 0;
    mem_free(info);
    if (is_recording)
        return directory;
    mem_free(directory);
    return mem_copy_text(file->path, strlen(file->path));
}

static bool is_listed(const path_list *paths, const char *path)
{
    char **other;
    array_each (other, paths)
        if (strcmp(*other, path) == 0)
            return true;
    return false;
}

/* The captures of ranks in a directory of them; or the capture, where its files belong together. */
static bool list_captures(const char *path, path_list *captures, struct error *err)
{
    struct capture capture;
    path_list units = {0};
    bool ok = capture_find(&capture, path, err);
    bool are_ranks = ok && !capture.tables;
    print_warnings(&capture);
    const struct capture_file *file;
    array_each (file, &capture.files) {
        char *unit = unit_of(file);
        are_ranks &= !file->is_device;
        if (units.count > 0 && is_listed(&units, unit))
            mem_free(unit);
        else
            *array_push(&units) = unit;
    }
    if (are_ranks && units.count > 1)
        for (size_t i = 0; i < units.count; i++)
            *array_push(captures) = mem_copy_text(units.items[i], strlen(units.items[i]));
    else if (ok)
        *array_push(captures) = mem_copy_text(path, strlen(path));
    paths_free(&units);
    capture_free(&capture);
    return ok;
}

/* A process for one capture; no thread runs yet that it could miss. */
static pid_t start_one(const struct fleet_options *options, const char *path, unsigned long jobs)
{
    pid_t child = child_fork(SIGTERM);
    if (child != 0)
        return child;
    struct fleet_options own = *options;
    own.jobs = jobs;
    _exit(add_one(&own, path));
}

static bool has_one_failed(void)
{
    int status;
    return child_wait_any(&status) < 0 || !child_has_succeeded(status);
}

/* A process for each capture, as many at once as there are threads to use; those threads are
 * divided among them. One failure does not stop the others. */
static int add_several(const struct fleet_options *options, const path_list *files)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned long jobs = options->jobs != NOT_GIVEN && options->jobs > 0 ? options->jobs
                         : cores > 0                                     ? (unsigned long)cores
                                                                         : 1;
    unsigned long together = jobs < files->count ? jobs : (unsigned long)files->count;
    size_t running = 0, failed = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (running == together) {
            failed += has_one_failed();
            running--;
        }
        if (start_one(options, files->items[i], jobs / together) < 0) {
            log_error("%s: cannot start a process: %s", files->items[i], strerror(errno));
            failed++;
        } else {
            running++;
        }
    }
    for (; running > 0; running--)
        failed += has_one_failed();
    if (failed > 0)
        log_fatal("%zu of %zu captures could not be added", failed, files->count);
    return failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* Workers of Spark process the captures; their paths must be the same there. */
static bool add_by_spark(const struct fleet_options *options, path_list *captures,
                         struct error *err)
{
    char **path;
    array_each (path, captures) {
        char *absolute = realpath(*path, NULL);
        if (!absolute)
            return error_in_file(err, *path, "cannot open: %s", strerror(errno));
        mem_free(*path);
        *path = mem_copy_text(absolute, strlen(absolute));
        free(absolute);
    }
    bool is_address = strstr(options->dataset, "://") != NULL;
    char *dataset = NULL;
    if (!is_address &&
        !(dataset_create(options->dataset, err) && (dataset = realpath(options->dataset, NULL))))
        return false;
    bool ok = spark_add(&(struct spark_addition){.master = options->engine,
                                                 .dataset = is_address ? options->dataset : dataset,
                                                 .run = options->run,
                                                 .instance = options->instance,
                                                 .replace = options->force,
                                                 .captures = (const char *const *)captures->items,
                                                 .capture_count = captures->count},
                        err);
    free(dataset);
    return ok;
}

/* Everything that can be checked is checked before the first capture is read. Object stores are
 * left to Spark and Python: Kymo itself writes to file systems alone. */
int fleet_add(const struct fleet_options *options)
{
    struct error err;
    path_list files = {0};
    bool ok = true;
    for (size_t i = 0; i < options->operand_count && ok; i++)
        ok = list_captures(options->operands[i], &files, &err);
    bool is_spark = options->engine && strcmp(options->engine, ENGINE_LOCAL) != 0;
    bool is_address = strstr(options->dataset, "://") != NULL;
    if (ok && is_address && !is_spark)
        ok = error_in_file(&err, options->dataset,
                           "is not a path; use the Python module kymo.fleet, or --engine, to add "
                           "to object stores");
    ok = ok && (is_address || dataset_is_usable(options->dataset, &err));
    int result = EXIT_FAILED;
    if (!ok)
        print_error(&err);
    else if (is_spark && options->rank != NOT_GIVEN) {
        fprintf(stderr, "%s fleet add: --rank cannot be used with Spark (--engine)\n",
                program_name());
        result = EXIT_USAGE;
    } else if (is_spark) {
        ok = add_by_spark(options, &files, &err);
        if (!ok)
            print_error(&err);
        result = ok ? EXIT_DONE : EXIT_FAILED;
    } else if (files.count > 1 && options->rank != NOT_GIVEN) {
        fprintf(stderr, "%s fleet add: --rank takes a single capture, not %zu\n", program_name(),
                files.count);
        result = EXIT_USAGE;
    } else {
        result = files.count == 1 ? add_one(options, files.items[0]) : add_several(options, &files);
    }
    paths_free(&files);
    return result;
}
