/*
 * Captures over the network: POST captures queues a job that captures and imports. The server
 * connects to addresses that its users name, which it does only where that is allowed.
 */
#include "capture/client/remote.h"
#include "serve/api/handlers.h"
#include "serve/http/listen.h"
#include "serve/jobs/jobs.h"
#include "serve/jobs/uploads.h"
#include "serve/runs/log_runs.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Whoever can use a server on loopback can connect to these addresses without it. */
bool captures_are_allowed(const struct server *server)
{
    const struct serve_options *options = server->options;
    return !options->forbids_capture &&
           (options->allows_capture || !options->host || is_loopback(options->host));
}

void get_captures(struct request *request, struct reply *reply)
{
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "allowed");
    json_bool(&json, captures_are_allowed(request->server));
    if (captures_are_allowed(request->server) && server_keeps_captures(request->server))
        json_put_text(&json, "log_directory", text_of(request->server->options->log_directory));
    json_close(&json, '}');
}

static bool check(const struct job *job, struct reply *reply)
{
    struct error err;
    const char *settings = job->settings;
    struct remote_options options = {
        .addresses = job->addresses, .settings = &settings, .setting_count = settings != NULL};
    if (!job->name || !job->addresses)
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing \"%s\"",
                    job->name ? "addresses" : "name");
    else if (job->duration_ms == 0)
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"duration_ms\" must be at least 1");
    else if (!remote_check(&options, &err))
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "%s", err.text);
    else
        return true;
    return false;
}

/* Captures are bounded like uploads: by what is left now. The smallest max_bytes counts, so users
 * can only lower it. A run has the name of its profile. */
static bool complete(struct server *server, struct job *job, struct reply *reply)
{
    uint64_t left = upload_bytes_left(server, reply);
    const char *given = job->settings ? job->settings : "";
    bool is_run = server_keeps_captures(server);
    if (left == 0)
        return false;
    char *settings =
        path_format("max_bytes=%llu%s%s%s%s", (unsigned long long)left, *given ? "," : "", given,
                    is_run ? ",session_id=" : "", is_run ? job->name : "");
    mem_free(job->settings);
    job->settings = settings;
    return true;
}

static bool is_run_name(const char *name)
{
    return strlen(name) <= MAX_RUN_NAME && name[0] != '.' &&
           name[strspn(
               name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

/* A capture never replaces a run of the log directory: others may have written it. */
static bool is_free_run(struct server *server, const char *name)
{
    char *path = path_format("%s/plugins/profile/%s", server->options->log_directory, name);
    bool is_free = access(path, F_OK) != 0;
    run_list runs = runs_list(server);
    const struct run *run;
    array_each (run, &runs)
        is_free = is_free && strcmp(run->name, name) != 0;
    runs_free(&runs);
    mem_free(path);
    return is_free;
}

static bool check_run(struct server *server, const char *name, struct reply *reply)
{
    if (!server_keeps_captures(server))
        return true;
    if (!is_run_name(name))
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "a run of the log directory may have letters, digits, '.', '_' and '-' in its "
                    "name, %d at most, and no dot at its beginning",
                    MAX_RUN_NAME);
    else if (!is_free_run(server, name))
        reply_error(reply, MHD_HTTP_CONFLICT,
                    "the log directory already has a run '%s'; choose another name", name);
    else
        return true;
    return false;
}

static bool check_allowed(struct request *request, struct reply *reply)
{
    if (captures_are_allowed(request->server))
        return true;
    reply_error(reply, MHD_HTTP_FORBIDDEN, "captures over the network are not allowed here; %s",
                request->server->options->is_xprof ? "kymo serve --allow-capture allows them"
                                                   : "start the server with --allow-capture");
    return false;
}

/* Queues the capture; the reply has its id, or why it cannot be. */
static bool queue(struct request *request, struct reply *reply, struct job *job)
{
    if (!check(job, reply) || !check_run(request->server, job->name, reply) ||
        !complete(request->server, job, reply) || !upload_create(request->server, reply, job))
        return false;
    jobs_wake(request->server->jobs);
    return true;
}

void post_capture(struct request *request, struct reply *reply)
{
    struct job job = {.state = JOB_QUEUED, .duration_ms = CAPTURE_DEFAULT_MS};
    bool is_given;
    if (!check_allowed(request, reply))
        return;
    if (body_check(request, reply) && body_text(request, reply, "name", &job.name) &&
        body_text(request, reply, "addresses", &job.addresses) &&
        body_text(request, reply, "options", &job.settings) &&
        body_number(request, reply, "duration_ms", CAPTURE_MAX_MS, &job.duration_ms) &&
        body_flag(request, reply, "force", &job.force, &is_given))
        queue(request, reply, &job);
    job_free(&job);
}

/* ---- XProf's request ------------------------------------------------------------------------ */

/* As JAX and XProf name runs; a second one in a second gets a number. */
static char *new_run_name(struct server *server)
{
    char name[64];
    time_t now = time(NULL);
    struct tm date;
    gmtime_r(&now, &date);
    strftime(name, sizeof name, "%Y_%m_%d_%H_%M_%S", &date);
    char *run = mem_copy_text(name, strlen(name));
    for (unsigned i = 1; !is_free_run(server, run) && i < MAX_CAPTURES; i++) {
        mem_free(run);
        run = path_format("%s_%u", name, i);
    }
    return run;
}

/* Levels and the delay, under the names they have here. A delay of 0 is XProf's default, which is
 * for one host. */
static bool xprof_settings(const struct request *request, struct reply *reply, char **settings)
{
    uint64_t host = 2, device = 1, python = 0, delay = 0;
    if (!request_number(request, reply, "host_tracer_level", UINT32_MAX, &host) ||
        !request_number(request, reply, "device_tracer_level", UINT32_MAX, &device) ||
        !request_number(request, reply, "python_tracer_level", UINT32_MAX, &python) ||
        !request_number(request, reply, "delay", UINT32_MAX, &delay))
        return false;
    char wait[32] = "";
    if (delay > 0)
        snprintf(wait, sizeof wait, ",delay_ms=%llu", (unsigned long long)delay);
    *settings = path_format(
        "host_tracer_level=%llu,device_tracer_level=%llu,python_tracer_level=%llu%s",
        (unsigned long long)host, (unsigned long long)device, (unsigned long long)python, wait);
    return true;
}

/* Addresses of profiler servers; names of TPUs would need TensorFlow to be resolved. */
static bool xprof_addresses(const struct request *request, struct reply *reply, char **addresses)
{
    static const char scheme[] = "grpc://";
    const char *given = request_argument(request, "service_addr");
    const char *is_name = request_argument(request, "is_tpu_name");
    if (is_name && strcmp(is_name, "true") == 0) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "names of TPUs are not resolved here: give the addresses of their hosts, as "
                    "HOST:PORT,HOST:PORT");
        return false;
    }
    if (given && strncmp(given, scheme, sizeof scheme - 1) == 0)
        given += sizeof scheme - 1;
    *addresses = given && *given ? mem_copy_string(given) : NULL;
    return true;
}

/* Waits for the end of the job; its failure is the reply. */
static void wait_for_capture(struct request *request, struct reply *reply, const char *name)
{
    struct job job;
    while (job_find(request->server->jobs, name, &job)) {
        bool has_failed = job.state == JOB_FAILED, is_over = request_is_abandoned(request);
        if (has_failed)
            reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", job.reason);
        else if (is_over)
            reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is stopping");
        job_free(&job);
        if (has_failed || is_over)
            return;
        usleep(RUN_POLL_MS * 1000);
    }
    reply->status = MHD_HTTP_OK;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "result", TEXT("Capture profile successfully. Please refresh."));
    json_close(&json, '}');
}

/* XProf's CAPTURE PROFILE, which answers when the run is in the log directory. The answers are
 * XProf's: `result`, or `error`. */
void plugin_capture(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    struct job job = {.state = JOB_QUEUED, .duration_ms = CAPTURE_DEFAULT_MS};
    if (!check_allowed(request, reply))
        return;
    if (!server_keeps_captures(server)) {
        reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR,
                    "logdir is not set, abort capturing: start the server with a log directory");
        return;
    }
    bool ok = xprof_addresses(request, reply, &job.addresses) &&
              xprof_settings(request, reply, &job.settings) &&
              request_number(request, reply, "duration", CAPTURE_MAX_MS, &job.duration_ms);
    if (ok) {
        job.name = new_run_name(server);
        if (queue(request, reply, &job))
            wait_for_capture(request, reply, job.name);
    }
    job_free(&job);
}
