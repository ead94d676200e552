/*
 * Runs in a log directory, processed on request.
 */
#include "serve/runs/log_runs.h"

#include "import/import.h"
#include "serve/jobs/jobs.h"
#include "serve/runs/open_profiles.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "a/plugins/profile/run" becomes "a_run": the path without its constant parts. */
static char *run_name(const char *root, const char *path)
{
    size_t size = strlen(root);
    const char *below = strncmp(path, root, size) == 0 ? path + size : path;
    struct output name;
    output_memory(&name);
    for (below += strspn(below, "/"); *below;) {
        size_t part = strcspn(below, "/");
        struct text text = {below, part};
        bool says_nothing = text_equal(text, TEXT("plugins")) || text_equal(text, TEXT("profile"));
        if (!says_nothing || below[part] == '\0') {
            if (name.size > 0)
                output_char(&name, '_');
            for (size_t i = 0; i < part; i++)
                output_char(&name,
                            (unsigned char)below[i] < ' ' || below[i] == '@' ? '_' : below[i]);
        }
        below += part;
        below += strspn(below, "/");
    }
    size_t skipped = name.size > MAX_RUN_NAME ? name.size - MAX_RUN_NAME : 0;
    while (skipped < name.size &&
           (name.data[skipped] == '.' || (name.data[skipped] & 0xC0) == 0x80))
        skipped++;
    char *result = name.size > skipped ? mem_copy_text(name.data + skipped, name.size - skipped)
                                       : mem_copy_text("run", 3);
    output_discard(&name);
    return result;
}

static void add_run(run_list *runs, const char *root, const char *path)
{
    char *name = run_name(root, path);
    const struct run *other;
    unsigned number = 1;
    for (bool is_taken = true; is_taken;) {
        is_taken = false;
        array_each (other, runs)
            is_taken |= strcmp(other->name, name) == 0;
        if (is_taken) {
            mem_free(name);
            char *base = run_name(root, path);
            name = path_format("%s_%u", base, ++number);
            mem_free(base);
        }
    }
    struct run *run = array_push(runs);
    run->name = name;
    run->path = mem_copy_text(path, strlen(path));
}

/* False if the path is the root itself, which then is the only run. */
static bool is_inside(const char *path, const char *root)
{
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && path[size + strspn(path + size, "/")] != '\0';
}

/* The directory that all of the capture's files are in; the root if they are in several. */
static char *directory_of(const struct capture *capture, const char *root)
{
    const char *first = capture->files.items[0].path, *slash = strrchr(first, '/');
    size_t size = slash ? (size_t)(slash - first) : 0;
    const struct capture_file *file;
    array_each (file, &capture->files) {
        slash = strrchr(file->path, '/');
        if ((slash ? (size_t)(slash - file->path) : 0) != size ||
            strncmp(file->path, first, size) != 0)
            return mem_copy_text(root, strlen(root));
    }
    return mem_copy_text(first, size);
}

run_list runs_list(struct server *server)
{
    run_list runs = {0};
    const char *root = server->options->log_directory;
    struct capture capture;
    struct error ignored;
    if (!root)
        return runs;
    if (capture_find(&capture, root, &ignored) && capture.files.count > 0) {
        char *newest = directory_of(&capture, root);
        add_run(&runs, is_inside(newest, root) ? root : "", newest);
        char **other;
        array_each (other, &capture.other_runs)
            add_run(&runs, root, *other);
        mem_free(newest);
    }
    capture_free(&capture);
    return runs;
}

void runs_free(run_list *runs)
{
    struct run *run;
    array_each (run, runs) {
        mem_free(run->name);
        mem_free(run->path);
    }
    array_free(runs);
}

char *run_xprof_name(const struct server *server, const struct run *run)
{
    static const char middle[] = "plugins/profile/";
    const char *root = server->options->log_directory;
    size_t size = strlen(root);
    const char *below = strncmp(run->path, root, size) == 0 ? run->path + size : run->name;
    below += strspn(below, "/");
    const char *at = strstr(below, middle);
    if (*below == '\0')
        return mem_copy_text(run->name, strlen(run->name));
    return at ? path_format("%.*s%s", (int)(at - below), below, at + strlen(middle))
              : mem_copy_text(below, strlen(below));
}

bool run_has_name(const struct server *server, const struct run *run, const char *name)
{
    char *other = run_xprof_name(server, run);
    bool is_it = strcmp(other, name) == 0 || strcmp(run->name, name) == 0;
    mem_free(other);
    return is_it;
}

bool run_is_at(const struct run *run, const char *path)
{
    char *given = realpath(path, NULL), *own = realpath(run->path, NULL);
    bool is_same = given && own && strcmp(given, own) == 0;
    free(given);
    free(own);
    return is_same;
}

bool run_paths_check(const struct request *request, struct reply *reply)
{
    if (!request_argument(request, "run_path"))
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "\"run_path\" is not supported: runs are those of the log directory");
    return false;
}

static char *find_run(struct server *server, const char *name)
{
    run_list runs = runs_list(server);
    char *path = NULL;
    struct run *run;
    array_each (run, &runs)
        if (strcmp(run->name, name) == 0 && !path)
            path = mem_copy_text(run->path, strlen(run->path));
    runs_free(&runs);
    return path;
}

void reply_unready(struct server *server, struct reply *reply, const char *name)
{
    struct job job;
    char *run;
    if (job_find(server->jobs, name, &job)) {
        if (job.state == JOB_FAILED)
            reply_error(reply, MHD_HTTP_CONFLICT, "processing '%s' failed: %s", name,
                        job.reason ? job.reason : "unknown error");
        else
            reply_error(reply, MHD_HTTP_CONFLICT, "'%s' is being processed: %u %%", name,
                        job.percent);
        job_free(&job);
    } else if ((run = find_run(server, name))) {
        reply_error(reply, MHD_HTTP_CONFLICT, "'%s' is not processed yet", name);
        mem_free(run);
    } else {
        reply_no_profile(reply, name);
    }
}

static void reply_queued(struct reply *reply, const char *name)
{
    reply->status = MHD_HTTP_ACCEPTED;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "name", text_of(name));
    json_put_text(&json, "status", TEXT("uploaded"));
    json_close(&json, '}');
}

/* Idempotent: a job that is queued or running is left alone, a failed one is queued again, and a
 * run without a job gets one that replaces its profile. */
void run_process(struct server *server, const char *name, struct reply *reply)
{
    struct error err;
    struct job job;
    char *run = find_run(server, name), *directory = NULL;
    if (!profile_directory(server->data_path, name, &directory, &err)) {
        reply_failure(reply, MHD_HTTP_NOT_FOUND, &err);
    } else if (job_find(server->jobs, name, &job)) {
        bool is_again = job.state == JOB_FAILED;
        if (is_again) {
            job.state = JOB_QUEUED;
            mem_free(job.reason);
            job.reason = NULL;
        }
        if (is_again && !job_save(server->jobs, &job, &err))
            reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
        else
            reply_queued(reply, name);
        jobs_wake(server->jobs);
        job_free(&job);
    } else if (!run) {
        reply_error(reply, file_is_directory(directory) ? MHD_HTTP_CONFLICT : MHD_HTTP_NOT_FOUND,
                    "nothing to process for '%s'", name);
    } else {
        char *copy = mem_copy_text(name, strlen(name));
        job = (struct job){.name = copy, .source = run, .state = JOB_QUEUED, .force = true};
        if (job_create(server->jobs, &job, NULL, &err)) {
            jobs_wake(server->jobs);
            reply_queued(reply, name);
        } else {
            reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
        }
        mem_free(copy);
    }
    mem_free(run);
    mem_free(directory);
}

static bool has_profile(const struct server *server, const char *name)
{
    struct error ignored;
    char *directory;
    if (!profile_directory(server->data_path, name, &directory, &ignored))
        return false;
    bool is_there = file_is_directory(directory);
    mem_free(directory);
    return is_there;
}

static bool has_failed(struct server *server, const char *name)
{
    struct job job;
    if (!job_find(server->jobs, name, &job))
        return false;
    bool failed = job.state == JOB_FAILED;
    job_free(&job);
    return failed;
}

bool run_prepare(struct request *request, struct reply *reply, const char *name)
{
    if (has_profile(request->server, name) || has_failed(request->server, name))
        return true;
    run_process(request->server, name, reply);
    if (reply->status != MHD_HTTP_ACCEPTED)
        return false;
    reply->status = MHD_HTTP_OK;
    reply->body.size = 0;
    return true;
}

bool run_make_ready(struct request *request, struct reply *reply, const char *name)
{
    struct server *server = request->server;
    int64_t until = clock_monotonic_ms() + RUN_WAIT_MS;
    if (!run_prepare(request, reply, name))
        return false;
    while (!has_profile(server, name)) {
        if (has_failed(server, name) || clock_monotonic_ms() > until ||
            request_is_abandoned(request)) {
            reply_unready(server, reply, name);
            return false;
        }
        usleep(RUN_POLL_MS * 1000);
    }
    return true;
}
