/*
 * The list of profiles; renaming, deleting and processing them.
 */
#include "serve/api/handlers.h"

#include "serve/jobs/jobs.h"
#include "serve/runs/log_runs.h"
#include "serve/runs/profile_list.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>

static void put_text_or_null(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        json_text(json, text_of(text));
    else
        json_null(json);
}

void put_created(struct json *json, int64_t unix_ms)
{
    char created[32] = "";
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_put_text(json, "created", text_of(created));
}

static void put_raw_or_null(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        json_raw(json, text_of(text));
    else
        json_null(json);
}

static void put_figures(struct json *json, const struct list_figures *figures)
{
    put_raw_or_null(json, "events", figures->events);
    put_raw_or_null(json, "duration_ns", figures->span_ns);
    put_text_or_null(json, "format", figures->format);
    put_text_or_null(json, "device_model", figures->model);
    json_key(json, "device_count");
    if (figures->has_devices)
        json_uint(json, figures->devices);
    else
        json_null(json);
    put_raw_or_null(json, "step_ns", figures->step_ns);
    put_raw_or_null(json, "finding", figures->finding);
    put_text_or_null(json, "dropped_warning", figures->dropped);
}

static void put_entry(struct json *json, const struct profile_entry *entry)
{
    json_open(json, '{');
    json_put_text(json, "name", text_of(entry->name));
    put_text_or_null(json, "id", entry->id[0] ? entry->id : NULL);
    json_put_text(json, "status", text_of(entry->status));
    json_put_uint(json, "percent", entry->percent);
    put_text_or_null(json, "reason", entry->reason);
    put_created(json, entry->created_ms);
    json_put_uint(json, "bytes", entry->bytes);
    put_figures(json, &entry->figures);
    json_key(json, "is_capture");
    json_bool(json, entry->is_capture);
    json_key(json, "favorite");
    json_bool(json, entry->is_favorite);
    json_close(json, '}');
}

void list_profiles(struct request *request, struct reply *reply)
{
    const char *search = request_argument(request, "search");
    const char *id = request_argument(request, "id");
    profile_entries list = profile_entries_find(request->server, NULL);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "profiles");
    json_open(&json, '[');
    const struct profile_entry *entry;
    array_each (entry, &list)
        if ((!search || strcasestr(entry->name, search)) && (!id || strcmp(entry->id, id) == 0))
            put_entry(&json, entry);
    json_close(&json, ']');
    json_close(&json, '}');
    profile_entries_free(&list);
}

/* Compatible with clients of Neuron Explorer. */
void search_profiles(struct request *request, struct reply *reply)
{
    static const char *const statuses[][2] = {{"uploaded", "UPLOADED"},
                                              {"processing", "PROCESSING"},
                                              {"ready", "PROCESSED"},
                                              {"failed", "ERROR_PROCESS_INCOMPLETE"}};
    profile_entries list = profile_entries_find(request->server, NULL);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "data");
    json_open(&json, '[');
    const struct profile_entry *entry;
    array_each (entry, &list) {
        json_open(&json, '{');
        json_put_text(&json, "profile_name", text_of(entry->name));
        json_put_text(&json, "type", TEXT("system"));
        for (size_t i = 0; i < 4; i++)
            if (strcmp(entry->status, statuses[i][0]) == 0)
                json_put_text(&json, "status", text_of(statuses[i][1]));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    profile_entries_free(&list);
}

static void reply_entry(struct request *request, struct reply *reply, const char *name)
{
    profile_entries list = profile_entries_find(request->server, name);
    const struct profile_entry *entry = profile_entry_named(&list, name);
    if (entry) {
        struct json json = reply_json(reply);
        put_entry(&json, entry);
    } else {
        reply_no_profile(reply, name);
    }
    profile_entries_free(&list);
}

void get_profile(struct request *request, struct reply *reply)
{
    const struct subject *subject = request->subject;
    if (!subject->opened) {
        reply_entry(request, reply, subject->name);
        return;
    }
    struct profile_entry entry = rank_entry(subject->name, subject->opened);
    struct json json = reply_json(reply);
    put_entry(&json, &entry);
    profile_entry_free(&entry);
}

static bool rename_entry(struct server *server, const char *name, const char *new_name,
                         struct error *err)
{
    return profile_rename(server->data_path, name, new_name, err) &&
           notes_rename(server, name, new_name, err);
}

static bool is_known(struct server *server, const char *name, bool *is_there)
{
    profile_entries list = profile_entries_find(server, name);
    const struct profile_entry *entry = profile_entry_named(&list, name);
    *is_there = entry && entry->is_there;
    bool is_listed = entry != NULL;
    profile_entries_free(&list);
    return is_listed;
}

/* Everything is checked before anything changes. A rename comes first, so that the favorite is
 * stored under the new name. */
void patch_profile(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    const char *name = request->subject->name;
    char *new_name = NULL;
    bool favorite = false, has_favorite = false, is_there = false;
    struct error err;
    if (!body_check(request, reply) || !body_text(request, reply, "name", &new_name) ||
        !body_flag(request, reply, "favorite", &favorite, &has_favorite)) {
        mem_free(new_name);
        return;
    }
    bool is_renamed = new_name && strcmp(new_name, name) != 0, other_is_there;
    char *directory = NULL;
    if (!is_known(server, name, &is_there))
        reply_no_profile(reply, name);
    else if (is_renamed && has_controls(new_name))
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "the name contains control characters");
    else if (is_renamed && !profile_directory(server->data_path, new_name, &directory, &err))
        reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
    else if (is_renamed && is_known(server, new_name, &other_is_there))
        reply_error(reply, MHD_HTTP_CONFLICT, "profile '%s' already exists", new_name);
    else if (is_renamed && !is_there)
        reply_error(reply, MHD_HTTP_CONFLICT, "'%s' is not processed yet", name);
    else if ((is_renamed && !rename_entry(server, name, new_name, &err)) ||
             (has_favorite &&
              !notes_set_favorite(server, is_renamed ? new_name : name, favorite, &err)))
        reply_failure(reply, MHD_HTTP_CONFLICT, &err);
    else
        reply_entry(request, reply, is_renamed ? new_name : name);
    mem_free(directory);
    mem_free(new_name);
}

/* Jobs go first: one that runs would write the profile again. Notes go last, so that a failed
 * removal keeps them. */
void delete_profile(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    const char *name = request->subject->name;
    bool is_there, is_removed = false;
    struct error err;
    job_list jobs = jobs_list(server->jobs);
    const struct job *job;
    array_each (job, &jobs)
        if (strcmp(job->name, name) == 0) {
            job_remove(server->jobs, job->id);
            is_removed = true;
        }
    jobs_free(&jobs);
    is_known(server, name, &is_there);
    if (is_there && !profile_remove(server->data_path, name, &err)) {
        reply_failure(reply, MHD_HTTP_CONFLICT, &err);
        return;
    }
    if (!is_there && !is_removed) {
        reply_no_profile(reply, name);
        return;
    }
    notes_remove(server, name);
    reply_no_content(reply);
}

void process_profile(struct request *request, struct reply *reply)
{
    run_process(request->server, request->subject->name, reply);
}

void get_summary(struct request *request, struct reply *reply)
{
    char *path = path_format("%s/%s", opened_directory(request->subject->opened), SUMMARY_FILE);
    struct file file;
    struct error ignored;
    if (!file_open(&file, path, &ignored)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "this profile has no summary; process its capture again");
    } else {
        reply->type = "application/json";
        output_write(&reply->body, (const char *)file.data, file.size);
        file_close(&file);
    }
    mem_free(path);
}

void get_health(struct request *request, struct reply *reply)
{
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "status", TEXT("healthy"));
    json_put_text(&json, "version", text_of(request->server->options->version));
    json_close(&json, '}');
}
