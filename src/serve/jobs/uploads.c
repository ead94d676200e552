/*
 * Uploads: reserves names and space, and streams files to disk. A file becomes visible once it is
 * complete.
 */
#include "serve/jobs/uploads.h"

#include "serve/http/access.h"
#include "store/tables/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct upload {
    struct body_sink sink;
    struct server *server;
    int fd;
    char *path, *partial;
    uint64_t size, reserved; /* bytes received; bytes reserved in the quota */
    int problem;             /* errno of the first write that failed */
    bool is_too_large, is_complete;
};

/* Total bytes of all uploads: on disk, and reserved for files being received. */
static struct {
    pthread_mutex_t lock;
    uint64_t on_disk, reserved;
    uint64_t partial; /* of reserved, what is on disk already */
    int64_t measured_ms;
} quota = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What the limit leaves; under the lock. The disk, which also has what captures in progress have
 * written, is measured at most once a second. */
static uint64_t quota_left(struct server *server)
{
    uint64_t limit = server->options->upload_limit;
    if (quota.measured_ms == 0 || clock_monotonic_ms() - quota.measured_ms > UPLOAD_MEASURE_MS) {
        char *folder = path_format("%s/uploads", server->data_path);
        uint64_t all = folder_size(folder, UPLOAD_MAX_DEPTH + 2);
        mem_free(folder);
        quota.on_disk = all > quota.partial ? all - quota.partial : 0;
        quota.measured_ms = clock_monotonic_ms();
    }
    uint64_t taken = quota.on_disk + quota.reserved;
    return taken < limit ? limit - taken : 0;
}

/* Reserves more bytes for a file if the limit allows. */
static bool quota_reserve(struct upload *upload, uint64_t more)
{
    pthread_mutex_lock(&quota.lock);
    bool ok = more <= quota_left(upload->server);
    if (ok) {
        quota.reserved += more;
        upload->reserved += more;
    }
    pthread_mutex_unlock(&quota.lock);
    return ok;
}

static void quota_received(uint64_t size)
{
    pthread_mutex_lock(&quota.lock);
    quota.partial += size;
    pthread_mutex_unlock(&quota.lock);
}

/* Call when the file is complete or was aborted. */
static void quota_release(const struct upload *upload, bool is_complete)
{
    pthread_mutex_lock(&quota.lock);
    quota.reserved -= upload->reserved;
    quota.partial -= upload->size;
    if (is_complete)
        quota.on_disk += upload->size;
    pthread_mutex_unlock(&quota.lock);
}

static void reply_too_large(struct server *server, struct reply *reply)
{
    reply_error(reply, MHD_HTTP_CONTENT_TOO_LARGE,
                "uploads exceed %llu bytes (--upload-limit); delete failed or incomplete ones",
                (unsigned long long)server->options->upload_limit);
}

uint64_t upload_bytes_left(struct server *server, struct reply *reply)
{
    pthread_mutex_lock(&quota.lock);
    uint64_t left = quota_left(server);
    pthread_mutex_unlock(&quota.lock);
    if (left == 0)
        reply_too_large(server, reply);
    return left;
}

/* Whether the name is free for a new profile; otherwise sets the reply. */
static bool is_free(struct server *server, struct reply *reply, const char *name, bool force)
{
    char *directory;
    struct error err;
    if (has_controls(name)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "the name contains control characters");
        return false;
    }
    if (!profile_directory(server->data_path, name, &directory, &err)) {
        reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
        return false;
    }
    bool is_taken = !force && file_is_directory(directory);
    mem_free(directory);
    job_list jobs = jobs_list(server->jobs);
    const struct job *job;
    array_each (job, &jobs)
        is_taken |= !force && job->state != JOB_FAILED && strcmp(job->name, name) == 0;
    bool is_full = jobs.count >= MAX_UPLOADS;
    jobs_free(&jobs);
    if (is_taken)
        reply_error(reply, MHD_HTTP_CONFLICT,
                    "profile '%s' already exists; upload with \"force\" to replace it", name);
    else if (is_full)
        reply_error(reply, MHD_HTTP_CONFLICT, "too many uploads; delete failed ones");
    return !is_taken && !is_full;
}

/* A new job replaces failed ones with the same name. */
static void remove_failed(struct server *server, const char *name)
{
    job_list jobs = jobs_list(server->jobs);
    const struct job *job;
    array_each (job, &jobs)
        if (job->state == JOB_FAILED && strcmp(job->name, name) == 0)
            job_remove(server->jobs, job->id);
    jobs_free(&jobs);
}

bool upload_create(struct server *server, struct reply *reply, const struct job *job)
{
    struct error err;
    char *id;
    if (!is_free(server, reply, job->name, job->force))
        return false;
    remove_failed(server, job->name);
    if (!job_create(server->jobs, job, &id, &err)) {
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
        return false;
    }
    reply->status = MHD_HTTP_CREATED;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "id", text_of(id));
    json_close(&json, '}');
    mem_free(id);
    return true;
}

static bool is_file_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size <= UPLOAD_MAX_NAME && name[0] != '.' && !has_controls(name) &&
           !strchr(name, '/') && !strchr(name, '\\');
}

/* The path for the file; creates its folders. NULL with the reply set for an invalid name. */
static char *make_file_path(const struct upload_place *place, struct reply *reply)
{
    char *folder = job_folder(place->jobs, place->id);
    char *path = path_format("%s/files", folder);
    struct error err;
    bool is_good = place->count <= UPLOAD_MAX_DEPTH;
    size_t size = 0;
    for (size_t i = 0; i < place->count && is_good; i++) {
        is_good = is_file_name(place->names[i]);
        size += strlen(place->names[i]) + 1;
    }
    mem_free(folder);
    if (!is_good || size > UPLOAD_MAX_PATH) {
        mem_free(path);
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "a path may have %d names of %d bytes at most, without leading dots, control "
                    "characters, slashes or backslashes",
                    UPLOAD_MAX_DEPTH, UPLOAD_MAX_NAME);
        return NULL;
    }
    for (size_t i = 0; i < place->count; i++) {
        if (!make_directories(path, &err)) {
            mem_free(path);
            reply_error(reply, MHD_HTTP_CONFLICT, "a folder of the path is an existing file");
            return NULL;
        }
        char *longer = path_format("%s/%s", path, place->names[i]);
        mem_free(path);
        path = longer;
    }
    return path;
}

static bool write_upload(struct body_sink *sink, const char *data, size_t size)
{
    struct upload *upload = (struct upload *)sink;
    if (upload->is_too_large)
        return false; /* it was set by an earlier chunk */
    uint64_t left = upload->reserved - upload->size;
    if (size > left && !quota_reserve(upload, size - left)) {
        upload->is_too_large = true;
        return true;
    }
    quota_received(size);
    upload->size += size;
    while (size > 0 && !upload->problem) {
        ssize_t written = write(upload->fd, data, size);
        if (written < 0 && errno != EINTR)
            upload->problem = errno;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return true;
}

static void close_upload(struct body_sink *sink)
{
    struct upload *upload = (struct upload *)sink;
    if (upload->fd >= 0) { /* the client disconnected */
        close(upload->fd);
        unlink(upload->partial);
    }
    quota_release(upload, upload->is_complete);
    mem_free(upload->path);
    mem_free(upload->partial);
    mem_free(upload);
}

/* Reserves quota before the first byte arrives; the returned sink owns the reservation, the file
 * and both paths. NULL with the reply set if the upload is refused; nothing stays reserved then. */
struct body_sink *upload_begin(struct server *server, const struct upload_place *place,
                               uint64_t announced, struct reply *reply)
{
    char *folder = job_folder(place->jobs, place->id);
    struct upload upload = {.sink = {write_upload, close_upload}, .server = server, .fd = -1},
                  *begun = NULL;
    char number[TOKEN_SIZE];
    struct error err;
    bool is_small = quota_reserve(&upload, announced);
    char *path = is_small ? make_file_path(place, reply) : NULL;
    if (!is_small) {
        reply_too_large(server, reply);
    } else if (path && file_is_directory(path)) {
        reply_error(reply, MHD_HTTP_CONFLICT, "a folder of that name exists");
    } else if (path && token_make(number, &err)) {
        /* Outside files/, so that processing never sees partial files. */
        upload.partial = path_format("%s/%s.partial", folder, number);
        upload.fd = open(upload.partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (upload.fd < 0) {
            error_in_file(&err, upload.partial, "cannot write: %s", strerror(errno));
            reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
            mem_free(upload.partial);
        } else {
            upload.path = path;
            path = NULL;
            begun = mem_alloc(sizeof upload);
            *begun = upload;
        }
    }
    if (!begun)
        quota_release(&upload, false);
    mem_free(path);
    mem_free(folder);
    return begun ? &begun->sink : NULL;
}

bool upload_is_whole(const struct body_sink *sink, struct reply *reply)
{
    const struct upload *upload = (const struct upload *)sink;
    if (upload->is_too_large)
        reply_too_large(upload->server, reply);
    else if (upload->problem)
        reply_error(reply,
                    upload->problem == ENOSPC ? MHD_HTTP_INSUFFICIENT_STORAGE
                                              : MHD_HTTP_INTERNAL_SERVER_ERROR,
                    "cannot write the file: %s", strerror(upload->problem));
    return !upload->is_too_large && !upload->problem;
}

void upload_finish(struct body_sink *sink, struct reply *reply)
{
    struct upload *upload = (struct upload *)sink;
    int result = close(upload->fd);
    upload->fd = -1;
    upload->is_complete = result == 0 && rename(upload->partial, upload->path) == 0;
    if (upload->is_complete) {
        struct json json = reply_json(reply);
        json_open(&json, '{');
        json_put_uint(&json, "bytes", upload->size);
        json_close(&json, '}');
    } else {
        reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "cannot write the file: %s",
                    strerror(errno));
        unlink(upload->partial);
    }
}
