/*
 * Uploads: POST uploads reserves a name, PUT streams each file to disk, POST process queues the
 * job.
 */
#include "serve/jobs/uploads.h"
#include "serve/api/handlers.h"

#include <stdlib.h>

void post_upload(struct request *request, struct reply *reply)
{
    struct job job = {.state = JOB_RECEIVING};
    bool is_given;
    if (body_check(request, reply) && body_text(request, reply, "name", &job.name) &&
        body_flag(request, reply, "force", &job.force, &is_given)) {
        if (job.name)
            upload_create(request->server, reply, &job);
        else
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing \"name\"");
    }
    mem_free(job.name);
}

/* Failed jobs stay in the list with their reason until the client deletes them. The states are
 * those of enum job_state, in its order. */
void list_uploads(struct request *request, struct reply *reply)
{
    static const char *const states[] = {"receiving", "uploaded", "processing", "failed"};
    job_list jobs = jobs_list(request->server->jobs);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "uploads");
    json_open(&json, '[');
    const struct job *job;
    array_each (job, &jobs) {
        json_open(&json, '{');
        json_put_text(&json, "id", text_of(job->id));
        json_put_text(&json, "name", text_of(job->name));
        json_put_text(&json, "status", text_of(states[job->state]));
        json_put_uint(&json, "percent", job->percent);
        json_key(&json, "reason");
        if (job->reason)
            json_text(&json, text_of(job->reason));
        else
            json_null(&json);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    jobs_free(&jobs);
}

/* Finds the requested upload if it is still receiving; otherwise sets the reply. */
static bool find_receiving(struct request *request, struct reply *reply, struct job *job)
{
    if (!job_load(request->server->jobs, request->parameters[0], job)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "upload not found");
        return false;
    }
    if (job->state == JOB_RECEIVING)
        return true;
    job_free(job);
    reply_error(reply, MHD_HTTP_CONFLICT, "this upload is complete; start another");
    return false;
}

void begin_file(struct request *request, struct reply *reply)
{
    const struct upload_place place = {request->server->jobs, request->parameters[0], request->rest,
                                       request->rest_count};
    const char *length = request_header(request, "Content-Length");
    struct job job;
    if (!find_receiving(request, reply, &job))
        return;
    job_free(&job);
    request->sink =
        upload_begin(request->server, &place, length ? strtoull(length, NULL, 10) : 0, reply);
}

void put_file(struct request *request, struct reply *reply)
{
    struct job job;
    if (!upload_is_whole(request->sink, reply) || !find_receiving(request, reply, &job))
        return;
    job_free(&job);
    upload_finish(request->sink, reply);
}

/* The client says when all files have arrived; only then does the queue see the job. From here on
 * further files are refused. */
void process_upload(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    struct job job;
    struct error err;
    if (!find_receiving(request, reply, &job))
        return;
    char *folder = job_folder(server->jobs, job.id), *files = path_format("%s/files", folder);
    if (!file_is_directory(files)) {
        reply_error(reply, MHD_HTTP_CONFLICT, "no files uploaded yet");
    } else {
        job.state = JOB_QUEUED;
        if (job_save(server->jobs, &job, &err)) {
            jobs_wake(server->jobs);
            reply->status = MHD_HTTP_ACCEPTED;
            struct json json = reply_json(reply);
            json_open(&json, '{');
            json_put_text(&json, "name", text_of(job.name));
            json_put_text(&json, "status", TEXT("uploaded"));
            json_close(&json, '}');
        } else {
            reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
        }
    }
    mem_free(folder);
    mem_free(files);
    job_free(&job);
}

void delete_upload(struct request *request, struct reply *reply)
{
    struct job job;
    if (!job_load(request->server->jobs, request->parameters[0], &job)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "upload not found");
        return;
    }
    job_remove(request->server->jobs, job.id);
    job_free(&job);
    reply_no_content(reply);
}
