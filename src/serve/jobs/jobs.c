/*
 * The job queue and its thread: starts a child process per job, tracks its progress and records its
 * outcome.
 */
#include "serve/jobs/jobs.h"

#include "serve/http/access.h"
#include "serve/jobs/children.h"
#include "serve/jobs/job_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct running_job {
    char *id;
    struct child child;
    unsigned percent;
    bool is_canceled;
    bool is_capturing, has_captured; /* over the network, before the import */
    char *loss;                      /* what a capture has failed to get, or NULL */
};

struct jobs {
    struct server *server;
    char *folder;
    int lock_file; /* -1 unless this server holds the lock of the queue */
    unsigned max_running;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields below and changes to job files */
    pthread_cond_t woken;
    bool is_woken, is_stopping;
    ARRAY(struct running_job) running;
    job_list failed_captures; /* got nothing, so there is nothing to store: known until the end */
};

char *job_folder(struct jobs *jobs, const char *id)
{
    return path_format("%s/%s", jobs->folder, id);
}

bool server_keeps_captures(const struct server *server)
{
    return server->options->log_directory && !server->options->is_dataset;
}

/* Where the capture of a job is written: as a run of the log directory, where XProf and TensorBoard
 * find it too, or else among the files of the job. */
static char *captured_path(struct jobs *jobs, const struct job *job)
{
    return server_keeps_captures(jobs->server)
               ? path_format("%s/plugins/profile/%s", jobs->server->options->log_directory,
                             job->name)
               : path_format("%s/%s/files", jobs->folder, job->id);
}

static void remove_captured(struct jobs *jobs, const char *id)
{
    struct job job;
    if (!job_read(jobs->folder, id, &job))
        return;
    if (job.addresses) {
        char *path = captured_path(jobs, &job);
        folder_remove(path);
        mem_free(path);
    }
    job_free(&job);
}

static struct running_job *find_running(struct jobs *jobs, const char *id)
{
    struct running_job *running;
    array_each (running, &jobs->running)
        if (strcmp(running->id, id) == 0)
            return running;
    return NULL;
}

static struct job *find_failed_capture(struct jobs *jobs, const char *id)
{
    struct job *job;
    array_each (job, &jobs->failed_captures)
        if (strcmp(job->id, id) == 0)
            return job;
    return NULL;
}

static bool drop_failed_capture(struct jobs *jobs, const char *id)
{
    struct job *job = find_failed_capture(jobs, id);
    if (!job)
        return false;
    job_free(job);
    *job = jobs->failed_captures.items[--jobs->failed_captures.count];
    return true;
}

bool job_load(struct jobs *jobs, const char *id, struct job *job)
{
    pthread_mutex_lock(&jobs->lock);
    const struct job *failed = find_failed_capture(jobs, id);
    if (failed)
        *job = job_copy(failed);
    bool is_there = failed || job_read(jobs->folder, id, job);
    const struct running_job *running = is_there ? find_running(jobs, id) : NULL;
    if (running) {
        job->state = JOB_PROCESSING;
        job->percent = running->is_capturing   ? running->percent / 2
                       : running->has_captured ? 50 + running->percent / 2
                                               : running->percent;
        if (running->is_canceled) {
            job_free(job);
            is_there = false;
        }
    }
    pthread_mutex_unlock(&jobs->lock);
    return is_there;
}

static int oldest_first(const void *a, const void *b)
{
    const struct job *left = a, *right = b;
    if (left->created_ms != right->created_ms)
        return left->created_ms > right->created_ms ? 1 : -1;
    return strcmp(left->id, right->id);
}

static bool has_job(const job_list *list, const char *id)
{
    const struct job *job;
    array_each (job, list)
        if (strcmp(job->id, id) == 0)
            return true;
    return false;
}

job_list jobs_list(struct jobs *jobs)
{
    job_list list = {0};
    struct job job;
    DIR *stream = opendir(jobs->folder);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        if (job_load(jobs, entry->d_name, &job))
            *array_push(&list) = job;
    if (stream)
        closedir(stream);
    pthread_mutex_lock(&jobs->lock);
    const struct job *failed;
    array_each (failed, &jobs->failed_captures)
        if (!has_job(&list, failed->id)) /* it may have failed meanwhile */
            *array_push(&list) = job_copy(failed);
    pthread_mutex_unlock(&jobs->lock);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, oldest_first);
    return list;
}

bool job_find(struct jobs *jobs, const char *name, struct job *found)
{
    job_list list = jobs_list(jobs);
    bool is_there = false;
    for (size_t i = list.count; i-- > 0 && !is_there;)
        if (strcmp(list.items[i].name, name) == 0 && list.items[i].state != JOB_RECEIVING) {
            *found = list.items[i];
            list.items[i] = (struct job){0};
            is_there = true;
        }
    jobs_free(&list);
    return is_there;
}

bool job_save(struct jobs *jobs, const struct job *job, struct error *err)
{
    char *folder = job_folder(jobs, job->id);
    pthread_mutex_lock(&jobs->lock);
    bool ok = !drop_failed_capture(jobs, job->id) || make_directories(folder, err);
    ok = ok && job_write(jobs->folder, job, err);
    pthread_mutex_unlock(&jobs->lock);
    mem_free(folder);
    return ok;
}

bool job_create(struct jobs *jobs, const struct job *job, char **id, struct error *err)
{
    char name[TOKEN_SIZE];
    struct job made = *job;
    if (!token_make(name, err))
        return false;
    made.id = name;
    made.created_ms = clock_wall_ms();
    char *folder = job_folder(jobs, name);
    bool ok = make_directories(folder, err) && job_save(jobs, &made, err);
    if (!ok)
        folder_remove(folder);
    mem_free(folder);
    if (ok && id)
        *id = mem_copy_text(name, strlen(name));
    return ok;
}

/* Unlinks job.json first: the job disappears at once, its files follow. */
static void remove_files(struct jobs *jobs, const char *id)
{
    char *folder = job_folder(jobs, id), *path = path_format("%s/" JOB_FILE, folder);
    unlink(path);
    folder_remove(folder);
    mem_free(path);
    mem_free(folder);
}

void job_remove(struct jobs *jobs, const char *id)
{
    pthread_mutex_lock(&jobs->lock);
    struct running_job *running = find_running(jobs, id);
    if (running) { /* the queue thread removes it once the child has exited */
        running->is_canceled = true;
        child_terminate(&running->child);
    } else if (!drop_failed_capture(jobs, id) && job_is_id(id)) {
        remove_files(jobs, id);
    }
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_wake(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->is_woken = true;
    pthread_cond_signal(&jobs->woken);
    pthread_mutex_unlock(&jobs->lock);
}

/* Removes the server's internal upload path from the message. */
static char *strip_path(struct jobs *jobs, const char *id, char *reason)
{
    char *prefix = path_format("%s/%s/files", jobs->folder, id);
    char *found = reason ? strstr(reason, prefix) : NULL;
    if (found) {
        const char *rest = found + strlen(prefix);
        rest += *rest == '/' ? 1 : strncmp(rest, ": ", 2) == 0 ? 2 : 0;
        memmove(found, rest, strlen(rest) + 1);
    }
    mem_free(prefix);
    return reason;
}

/* What was uploaded is kept to be processed again. A capture can only be taken again: all that is
 * kept is the reason, on disk where there is a profile of the hosts that answered. There the job
 * is written before its files go, so that nobody finds the profile without the reason. */
static void record_failure(struct jobs *jobs, const char *id, const char *reason, bool has_profile)
{
    struct job job;
    struct error ignored;
    if (!job_read(jobs->folder, id, &job))
        return;
    log_warn("%s '%s' failed: %s", job.addresses ? "capturing" : "processing", job.name, reason);
    job.state = JOB_FAILED;
    mem_free(job.reason);
    job.reason = mem_copy_text(reason, strlen(reason));
    if (job.addresses && !has_profile) {
        remove_files(jobs, id);
        *array_push(&jobs->failed_captures) = job;
        return;
    }
    job_write(jobs->folder, &job, &ignored);
    if (job.addresses && !server_keeps_captures(jobs->server))
        remove_captured(jobs, id);
    job_free(&job);
}

/* A capture that has got some hosts is a profile, too; the others are the reason it has. */
static void finish(struct jobs *jobs, struct running_job *running, char *reason)
{
    bool is_over = running->is_canceled || (running->is_capturing && jobs->is_stopping);
    if (is_over && running->is_capturing)
        remove_captured(jobs, running->id);
    if (is_over || (!reason && !running->loss))
        remove_files(jobs, running->id);
    else if (!jobs->is_stopping)
        record_failure(jobs, running->id, reason ? reason : running->loss, !reason);
    mem_free(running->loss);
    mem_free(running->id);
}

static bool start_import(struct jobs *jobs, const struct job *job, struct child *child,
                         struct error *err);

/* Goes on with the import of what was captured; false when there is nothing. */
static bool import_captured(struct jobs *jobs, struct running_job *running, char **reason)
{
    struct error err;
    struct job job;
    if (running->is_canceled || jobs->is_stopping || !job_read(jobs->folder, running->id, &job))
        return false;
    char *captured = captured_path(jobs, &job);
    bool ok = folder_size(captured, CAPTURE_DEPTH) > 0;
    if (ok) {
        running->loss = *reason;
        *reason = NULL;
        running->is_capturing = false;
        running->has_captured = true;
        running->percent = 0;
        ok = start_import(jobs, &job, &running->child, &err);
        if (!ok)
            *reason = mem_copy_text(err.text, strlen(err.text));
    }
    mem_free(captured);
    job_free(&job);
    return ok;
}

static void poll_children(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->running.count;) {
        struct running_job *running = &jobs->running.items[i];
        if (child_poll(&running->child, &running->percent)) {
            i++;
            continue;
        }
        char *reason = strip_path(jobs, running->id, child_failure(&running->child));
        if (running->is_capturing && import_captured(jobs, running, &reason)) {
            i++;
            continue;
        }
        finish(jobs, running, reason);
        mem_free(reason);
        *running = jobs->running.items[--jobs->running.count];
    }
}

/* A single file is passed by its path, not its folder: it may have any name. */
static char *uploaded_path(const char *folder)
{
    char *files = path_format("%s/files", folder), *only = NULL;
    DIR *stream = opendir(files);
    struct dirent *entry;
    size_t count = 0;
    while (stream && (entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && count++ == 0)
            only = path_format("%s/%s", files, entry->d_name);
    if (stream)
        closedir(stream);
    bool is_file = count == 1 && !file_is_directory(only);
    mem_free(is_file ? files : only);
    return is_file ? only : files;
}

/* The folder of source files that were uploaded with a capture, or NULL. It is moved away from the
 * capture's files, as there may be anything in it. */
static char *uploaded_sources(const char *folder)
{
    char *from = path_format("%s/files/source", folder),
         *sources = path_format("%s/source", folder);
    bool is_there =
        file_is_directory(sources) || (file_is_directory(from) && rename(from, sources) == 0);
    mem_free(from);
    if (is_there)
        return sources;
    mem_free(sources);
    return NULL;
}

static bool start_import(struct jobs *jobs, const struct job *job, struct child *child,
                         struct error *err)
{
    char *folder = job_folder(jobs, job->id), *sources = uploaded_sources(folder);
    char *files = job->addresses ? captured_path(jobs, job) : uploaded_path(folder);
    struct child_task task = {.source = job->source ? job->source : files,
                              .name = job->name,
                              .data_path = jobs->server->data_path,
                              .folder = folder,
                              .source_root = sources,
                              .force = job->force,
                              .limits = &jobs->server->options->processing,
                              .threads =
                                  (pool_workers(jobs->server->pool) + 1) / jobs->max_running};
    bool ok = child_start(child, &task, err);
    mem_free(folder);
    mem_free(sources);
    mem_free(files);
    return ok;
}

static bool start_capture(struct jobs *jobs, const struct job *job, struct child *child,
                          struct error *err)
{
    char *folder = job_folder(jobs, job->id), *files = path_format("%s/files", folder);
    const struct serve_options *options = jobs->server->options;
    struct child_capture capture = {
        .addresses = job->addresses,
        .settings = job->settings,
        .duration_ms = job->duration_ms,
        .directory = server_keeps_captures(jobs->server) ? options->log_directory : files,
        .folder = folder,
        .limits = &options->processing};
    remove_captured(jobs, job->id); /* of an earlier attempt */
    bool ok = child_start_capture(child, &capture, err);
    mem_free(folder);
    mem_free(files);
    return ok;
}

static void start(struct jobs *jobs, const struct job *job)
{
    struct error err;
    struct running_job running = {.id = mem_copy_text(job->id, strlen(job->id)),
                                  .is_capturing = job->addresses};
    if (job->addresses ? start_capture(jobs, job, &running.child, &err)
                       : start_import(jobs, job, &running.child, &err)) {
        *array_push(&jobs->running) = running;
    } else {
        record_failure(jobs, running.id, err.text, false);
        mem_free(running.id);
    }
}

/* Captures take place when they are asked for, whatever else there is to do. */
static bool may_start(const struct jobs *jobs, const struct job *job)
{
    size_t most = job->addresses ? jobs->max_running + MAX_CAPTURES : jobs->max_running;
    return jobs->running.count < most;
}

/* Starts queued jobs, oldest first, and removes abandoned uploads. */
static void start_next(struct jobs *jobs)
{
    job_list list = {0};
    struct job job;
    DIR *stream = opendir(jobs->folder);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        if (job_read(jobs->folder, entry->d_name, &job)) {
            if (job.state == JOB_RECEIVING &&
                clock_wall_ms() - job.created_ms > UPLOAD_ABANDONED_MS)
                remove_files(jobs, job.id);
            if (job.state == JOB_QUEUED && !find_running(jobs, job.id))
                *array_push(&list) = job;
            else
                job_free(&job);
        }
    if (stream)
        closedir(stream);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, oldest_first);
    for (size_t i = 0; i < list.count; i++)
        if (may_start(jobs, &list.items[i]))
            start(jobs, &list.items[i]);
    jobs_free(&list);
}

/* Only one of several servers on a workspace runs jobs; another takes over when it exits. */
static bool acquire_lock(struct jobs *jobs)
{
    if (jobs->lock_file >= 0)
        return true;
    char *path = path_format("%s/.lock", jobs->folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    mem_free(path);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        jobs->lock_file = fd;
    else if (fd >= 0)
        close(fd);
    return jobs->lock_file >= 0;
}

/* The queue thread. It holds the lock except while it waits; other threads only set flags and wake
 * it. On stop it terminates all children and reaps each of them before it returns. */
static void *run_queue(void *context)
{
    struct jobs *jobs = context;
    unsigned tick = 0;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->is_stopping) {
        /* Other servers may have queued jobs: scan every fifth tick. */
        bool is_time = jobs->is_woken || tick % 5 == 0;
        jobs->is_woken = false;
        if (is_time && acquire_lock(jobs))
            start_next(jobs);
        struct timespec until = clock_after_ms(JOBS_TICK_MS);
        if (!jobs->is_woken)
            pthread_cond_clockwait(&jobs->woken, &jobs->lock, CLOCK_MONOTONIC, &until);
        size_t before = jobs->running.count;
        poll_children(jobs);
        jobs->is_woken |= jobs->running.count < before;
        tick++;
    }
    struct running_job *running;
    array_each (running, &jobs->running)
        child_terminate(&running->child);
    while (jobs->running.count > 0) {
        poll_children(jobs);
        usleep(1000);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

bool jobs_start(struct jobs **result, struct server *server, struct error *err)
{
    struct jobs *jobs = mem_zeroed(1, sizeof *jobs);
    unsigned cores = pool_workers(server->pool);
    *jobs = (struct jobs){.server = server,
                          .folder = path_format("%s/uploads", server->data_path),
                          .lock_file = -1,
                          .max_running = cores / 2 ? cores / 2 : 1};
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->woken, NULL);
    if (make_directories(jobs->folder, err)) {
        if (pthread_create(&jobs->thread, NULL, run_queue, jobs) == 0) {
            *result = jobs;
            return true;
        }
        error_set(err, "cannot create a thread");
    }
    mem_free(jobs->folder);
    mem_free(jobs);
    return false;
}

void jobs_stop(struct jobs *jobs)
{
    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->is_stopping = true;
    pthread_cond_signal(&jobs->woken);
    pthread_mutex_unlock(&jobs->lock);
    pthread_join(jobs->thread, NULL);
    if (jobs->lock_file >= 0)
        close(jobs->lock_file);
    array_free(&jobs->running);
    jobs_free(&jobs->failed_captures);
    pthread_cond_destroy(&jobs->woken);
    pthread_mutex_destroy(&jobs->lock);
    mem_free(jobs->folder);
    mem_free(jobs);
}
