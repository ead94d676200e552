/*
 * Captures over the network: POST captures queues a job that captures and imports. The server
 * connects to addresses that its users name, which it does only where that is allowed.
 */
#include "capture/client/remote.h"
#include "serve/api/handlers.h"
#include "serve/http/listen.h"
#include "serve/jobs/jobs.h"
#include "serve/jobs/uploads.h"

/* Whoever can use a server on loopback can connect to these addresses without it. */
static bool is_allowed(const struct server *server)
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
    json_bool(&json, is_allowed(request->server));
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
 * can only lower it. */
static bool bound(struct server *server, struct job *job, struct reply *reply)
{
    uint64_t left = upload_bytes_left(server, reply);
    const char *given = job->settings ? job->settings : "";
    if (left == 0)
        return false;
    char *settings =
        path_format("max_bytes=%llu%s%s", (unsigned long long)left, *given ? "," : "", given);
    mem_free(job->settings);
    job->settings = settings;
    return true;
}

void post_capture(struct request *request, struct reply *reply)
{
    struct job job = {.state = JOB_QUEUED, .duration_ms = CAPTURE_DEFAULT_MS};
    bool is_given;
    if (!is_allowed(request->server)) {
        reply_error(reply, MHD_HTTP_FORBIDDEN, "captures over the network are not allowed here; %s",
                    request->server->options->is_xprof ? "kymo serve --allow-capture allows them"
                                                       : "start the server with --allow-capture");
        return;
    }
    bool ok = body_check(request, reply) && body_text(request, reply, "name", &job.name) &&
              body_text(request, reply, "addresses", &job.addresses) &&
              body_text(request, reply, "options", &job.settings) &&
              body_number(request, reply, "duration_ms", CAPTURE_MAX_MS, &job.duration_ms) &&
              body_flag(request, reply, "force", &job.force, &is_given);
    if (ok && check(&job, reply) && bound(request->server, &job, reply) &&
        upload_create(request->server, reply, &job))
        jobs_wake(request->server->jobs);
    job_free(&job);
}
