/*
 * Jobs in memory and in their files, job.json.
 */
#include "serve/jobs/job_file.h"

#include <stdlib.h>

enum { ID_SIZE = 32 };

static const char *const state_names[] = {"receiving", "queued", "processing", "failed"};

bool job_is_id(const char *id)
{
    return strlen(id) == ID_SIZE && strspn(id, "0123456789abcdef") == ID_SIZE;
}

static char *job_path(const char *folder, const char *id)
{
    return path_format("%s/%s/" JOB_FILE, folder, id);
}

void job_free(struct job *job)
{
    mem_free(job->id);
    mem_free(job->name);
    mem_free(job->source);
    mem_free(job->addresses);
    mem_free(job->settings);
    mem_free(job->reason);
    *job = (struct job){0};
}

void jobs_free(job_list *list)
{
    struct job *job;
    array_each (job, list)
        job_free(job);
    array_free(list);
}

struct job job_copy(const struct job *job)
{
    struct job made = *job;
    made.id = mem_copy_string(job->id);
    made.name = mem_copy_string(job->name);
    made.source = mem_copy_string(job->source);
    made.addresses = mem_copy_string(job->addresses);
    made.settings = mem_copy_string(job->settings);
    made.reason = mem_copy_string(job->reason);
    return made;
}

static void read_field(struct job *job, struct text key, const struct json_value *value)
{
    char **text = text_equal(key, TEXT("name"))        ? &job->name
                  : text_equal(key, TEXT("source"))    ? &job->source
                  : text_equal(key, TEXT("addresses")) ? &job->addresses
                  : text_equal(key, TEXT("settings"))  ? &job->settings
                  : text_equal(key, TEXT("reason"))    ? &job->reason
                                                       : NULL;
    if (text && value->kind == JSON_STRING && !*text)
        *text = json_copy_string(value->text);
    else if (text_equal(key, TEXT("force")))
        job->force = value->kind == JSON_TRUE;
    else if (text_equal(key, TEXT("created_ms")))
        job->created_ms = strtoll(value->text.data, NULL, 10);
    else if (text_equal(key, TEXT("duration_ms")))
        job->duration_ms = strtoull(value->text.data, NULL, 10);
    for (size_t i = 0; i < sizeof state_names / sizeof *state_names; i++)
        if (text_equal(key, TEXT("state")) && text_equal(value->text, text_of(state_names[i])))
            job->state = (enum job_state)i;
}

bool job_read(const char *folder, const char *id, struct job *job)
{
    size_t size;
    *job = (struct job){0};
    if (!job_is_id(id))
        return false;
    char *path = job_path(folder, id), *content = file_content(path, JOB_FILE_BYTES, &size);
    mem_free(path);
    if (!content)
        return false;
    struct json_reader in = json_read((struct text){content, size});
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value))
            read_field(job, key.text, &value);
    mem_free(content);
    job->id = mem_copy_text(id, strlen(id));
    if (!in.problem && job->name)
        return true;
    job_free(job);
    return false;
}

static void put_optional(struct json *json, const char *key, const char *text)
{
    if (text)
        json_put_text(json, key, text_of(text));
}

/* Replaces the file as a whole: other servers on the same workspace read it at any time. Progress
 * is not in it, only what a restarted server needs. */
bool job_write(const char *folder, const struct job *job, struct error *err)
{
    struct output out;
    struct json json;
    output_memory(&out);
    json_begin(&json, &out, false);
    json_open(&json, '{');
    json_put_text(&json, "name", text_of(job->name));
    json_put_text(&json, "state", text_of(state_names[job->state]));
    json_key(&json, "force");
    json_bool(&json, job->force);
    json_put_int(&json, "created_ms", job->created_ms);
    put_optional(&json, "source", job->source);
    put_optional(&json, "addresses", job->addresses);
    put_optional(&json, "settings", job->settings);
    if (job->addresses)
        json_put_uint(&json, "duration_ms", job->duration_ms);
    put_optional(&json, "reason", job->reason);
    json_close(&json, '}');
    char *path = job_path(folder, job->id);
    bool ok = file_replace(path, (struct text){out.data, out.size}, err);
    mem_free(path);
    output_discard(&out);
    return ok;
}
