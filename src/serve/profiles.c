/*
 * The list of profiles: those in the workspace, queued jobs, and unprocessed runs of the log
 * directory.
 */
#include "serve/handlers.h"

#include "serve/jobs.h"
#include "serve/notes.h"
#include "serve/open_profiles.h"
#include "serve/rank_profiles.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    char *name;
    char id[PROFILE_ID_SIZE]; /* empty until it is processed */
    const char *status;       /* static string */
    char *reason, *format;
    char *dropped; /* what is said of dropped events; NULL: nothing */
    unsigned percent;
    int64_t created_ms;
    uint64_t bytes, events;
    int64_t duration_ps;
    bool is_favourite, is_there;
};
typedef ARRAY(struct entry) entry_list;

static void entries_free(entry_list *list)
{
    struct entry *entry;
    array_each (entry, list) {
        mem_free(entry->name);
        mem_free(entry->reason);
        mem_free(entry->format);
        mem_free(entry->dropped);
    }
    array_free(list);
}

static char *copy(const char *text)
{
    return text ? mem_copy_text(text, strlen(text)) : NULL;
}

/* Format and number of events are among the first keys of the summary. */
static void read_summary(struct entry *entry, const char *directory)
{
    char *path = path_format("%s/%s", directory, SUMMARY_FILE), digits[24], text[DROPS_TEXT_SIZE];
    struct drops drops = profile_drops(directory);
    if (drops.dropped > 0)
        entry->dropped = copy(drops_text(&drops, text));
    struct file file;
    struct error ignored;
    if (file_open(&file, path, &ignored)) {
        struct json_reader in = json_read((struct text){(const char *)file.data, file.size});
        struct json_value key, value;
        bool has_events = false;
        for (bool more = json_enter(&in, '{'); more && !has_events; more = json_more(&in, '}')) {
            if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
                break;
            has_events = text_equal(key.text, TEXT("event_count"));
            if (text_equal(key.text, TEXT("format")))
                entry->format = mem_copy_text(value.text.data, value.text.size);
            snprintf(digits, sizeof digits, "%.*s", (int)value.text.size, value.text.data);
            entry->events = has_events ? strtoull(digits, NULL, 10) : 0;
        }
        file_close(&file);
    }
    mem_free(path);
}

static void measure_timeline(struct entry *entry, const char *directory)
{
    char *path = path_format("%s/%s", directory, TIMELINE_FILE);
    struct timeline *timeline;
    struct error ignored;
    if (timeline_open(&timeline, path, &ignored)) {
        int64_t from, to;
        timeline_span(timeline, &from, &to);
        entry->duration_ps = sub_saturated(to, from);
        timeline_close(timeline);
    }
    mem_free(path);
}

/* Cached statistics of a profile, valid until its directory changes. */
struct cached_profile {
    char *name;
    ino_t inode;
    struct timespec changed;
    struct entry entry;
};
static ARRAY(struct cached_profile) cache;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
enum { MAX_CACHED = 10000 };

static struct cached_profile *find_cached(const char *name)
{
    struct cached_profile *cached;
    array_each (cached, &cache)
        if (strcmp(cached->name, name) == 0)
            return cached;
    return NULL;
}

void profiles_cache_free(void)
{
    struct cached_profile *cached;
    array_each (cached, &cache) {
        mem_free(cached->name);
        mem_free(cached->entry.format);
        mem_free(cached->entry.dropped);
    }
    array_free(&cache);
}

static void measure(struct entry *entry, const char *directory, const struct stat *status)
{
    pthread_mutex_lock(&cache_lock);
    struct cached_profile *cached = find_cached(entry->name);
    bool is_fresh = cached && cached->inode == status->st_ino &&
                    cached->changed.tv_sec == status->st_mtim.tv_sec &&
                    cached->changed.tv_nsec == status->st_mtim.tv_nsec;
    if (!is_fresh) {
        if (cached) {
            mem_free(cached->entry.format);
            mem_free(cached->entry.dropped);
        } else {
            if (cache.count >= MAX_CACHED)
                profiles_cache_free();
            cached = array_push(&cache);
            cached->name = copy(entry->name);
        }
        cached->inode = status->st_ino;
        cached->changed = status->st_mtim;
        cached->entry = (struct entry){0};
        read_summary(&cached->entry, directory);
        measure_timeline(&cached->entry, directory);
        cached->entry.bytes = folder_size(directory, 0);
    }
    entry->format = copy(cached->entry.format);
    entry->dropped = copy(cached->entry.dropped);
    entry->bytes = cached->entry.bytes;
    entry->events = cached->entry.events;
    entry->duration_ps = cached->entry.duration_ps;
    pthread_mutex_unlock(&cache_lock);
}

static bool add_profile(struct server *server, const char *name, entry_list *list)
{
    char *directory;
    struct error ignored;
    struct stat status;
    if (!profile_directory(server->data_path, name, &directory, &ignored))
        return false;
    bool is_there = lstat(directory, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_there) {
        struct entry *entry = array_push(list);
        *entry =
            (struct entry){.name = copy(name), .status = "ready", .percent = 100, .is_there = true};
        entry->created_ms =
            (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
        measure(entry, directory, &status);
    }
    mem_free(directory);
    return is_there;
}

static struct entry *find_entry(const entry_list *list, const char *name)
{
    struct entry *entry;
    array_each (entry, list)
        if (entry->name && strcmp(entry->name, name) == 0)
            return entry;
    return NULL;
}

/* A profile being reprocessed is still listed; only its status changes. */
static void add_job(entry_list *list, const struct job *job)
{
    static const char *const names[] = {"uploaded", "uploaded", "processing", "failed"};
    if (job->state == JOB_RECEIVING)
        return;
    struct entry *entry = find_entry(list, job->name);
    if (!entry) {
        entry = array_push(list);
        *entry = (struct entry){.name = copy(job->name), .created_ms = job->created_ms};
    }
    if (!entry->is_there || job->state != JOB_FAILED) {
        entry->status = names[job->state];
        entry->percent = job->percent;
    }
    mem_free(entry->reason);
    entry->reason = copy(job->reason);
}

static void add_runs(struct server *server, entry_list *list)
{
    run_list runs = runs_list(server);
    const struct run *run;
    array_each (run, &runs) {
        struct stat status;
        if (find_entry(list, run->name) || stat(run->path, &status) != 0)
            continue;
        struct entry *entry = array_push(list);
        *entry = (struct entry){.name = copy(run->name), .status = "uploaded"};
        entry->created_ms =
            (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    }
    runs_free(&runs);
}

static int newest_first(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->created_ms != right->created_ms)
        return left->created_ms < right->created_ms ? 1 : -1;
    return strcmp(left->name, right->name);
}

/* All profiles, or only the one named `only`. */
static entry_list find_entries(struct server *server, const char *only)
{
    entry_list list = {0};
    profile_names names = {0};
    struct error ignored;
    if (only)
        add_profile(server, only, &list);
    else if (profile_list(server->data_path, &names, &ignored))
        for (size_t i = 0; i < names.count; i++)
            add_profile(server, names.items[i], &list);
    profile_names_free(&names);
    job_list jobs = jobs_list(server->jobs);
    const struct job *job;
    array_each (job, &jobs)
        if (!only || strcmp(job->name, only) == 0)
            add_job(&list, job);
    jobs_free(&jobs);
    add_runs(server, &list);
    struct entry *entry;
    array_each (entry, &list) {
        entry->is_favourite = notes_is_favourite(server, entry->name);
        if (!entry->is_there || !notes_id(server, entry->name, entry->id))
            entry->id[0] = '\0';
    }
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, newest_first);
    return list;
}

static void put_text_or_null(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        json_text(json, text_of(text));
    else
        json_null(json);
}

static void put_entry(struct json *json, const struct entry *entry)
{
    char created[32] = "";
    time_t seconds = (time_t)(entry->created_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_open(json, '{');
    json_put_text(json, "name", text_of(entry->name));
    put_text_or_null(json, "id", entry->id[0] ? entry->id : NULL);
    json_put_text(json, "status", text_of(entry->status));
    json_put_uint(json, "percent", entry->percent);
    put_text_or_null(json, "reason", entry->reason);
    json_put_text(json, "created", text_of(created));
    json_put_uint(json, "bytes", entry->bytes);
    json_put_uint(json, "events", entry->events);
    json_put_double(json, "duration_ns", (double)entry->duration_ps / 1e3);
    put_text_or_null(json, "format", entry->format);
    put_text_or_null(json, "dropped_warning", entry->dropped);
    json_key(json, "favourite");
    json_bool(json, entry->is_favourite);
    json_close(json, '}');
}

void list_profiles(struct request *request, struct reply *reply)
{
    const char *search = request_argument(request, "search");
    const char *id = request_argument(request, "id");
    entry_list list = find_entries(request->server, NULL);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "profiles");
    json_open(&json, '[');
    const struct entry *entry;
    array_each (entry, &list)
        if ((!search || strcasestr(entry->name, search)) && (!id || strcmp(entry->id, id) == 0))
            put_entry(&json, entry);
    json_close(&json, ']');
    json_close(&json, '}');
    entries_free(&list);
}

/* Compatible with clients of Neuron Explorer. */
void search_profiles(struct request *request, struct reply *reply)
{
    static const char *const statuses[][2] = {{"uploaded", "UPLOADED"},
                                              {"processing", "PROCESSING"},
                                              {"ready", "PROCESSED"},
                                              {"failed", "ERROR_PROCESS_INCOMPLETE"}};
    entry_list list = find_entries(request->server, NULL);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "data");
    json_open(&json, '[');
    const struct entry *entry;
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
    entries_free(&list);
}

static void reply_entry(struct request *request, struct reply *reply, const char *name)
{
    entry_list list = find_entries(request->server, name);
    const struct entry *entry = find_entry(&list, name);
    if (entry) {
        struct json json = reply_json(reply);
        put_entry(&json, entry);
    } else {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "profile '%s' not found", name);
    }
    entries_free(&list);
}

/* A rank of a dataset is listed nowhere; its entry is made for it alone. */
static void reply_rank(struct request *request, struct reply *reply)
{
    struct opened *opened = open_profile(request, reply);
    if (!opened)
        return;
    const char *directory = opened_directory(opened);
    const struct timespec *changed = &opened_status(opened)->st_mtim;
    struct entry entry = {.name = copy(request->parameters[0]),
                          .status = "ready",
                          .percent = 100,
                          .created_ms = (int64_t)changed->tv_sec * 1000,
                          .bytes = rank_links_size(directory)};
    read_summary(&entry, directory);
    measure_timeline(&entry, directory);
    struct json json = reply_json(reply);
    put_entry(&json, &entry);
    mem_free(entry.name);
    mem_free(entry.format);
    mem_free(entry.dropped);
    close_profile(opened);
}

void get_profile(struct request *request, struct reply *reply)
{
    if (is_rank_name(request->parameters[0]))
        reply_rank(request, reply);
    else
        reply_entry(request, reply, request->parameters[0]);
}

static bool rename_entry(struct server *server, const char *name, const char *new_name,
                         struct error *err)
{
    return profile_rename(server->data_path, name, new_name, err) &&
           notes_rename(server, name, new_name, err);
}

static bool is_known(struct server *server, const char *name, bool *is_there)
{
    entry_list list = find_entries(server, name);
    const struct entry *entry = find_entry(&list, name);
    *is_there = entry && entry->is_there;
    bool is_listed = entry != NULL;
    entries_free(&list);
    return is_listed;
}

void patch_profile(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    const char *name = request->parameters[0];
    char *new_name = NULL;
    bool favourite = false, has_favourite = false, is_there = false;
    struct error err;
    if (reply_if_rank(request, reply) || !body_check(request, reply) ||
        !body_text(request, reply, "name", &new_name) ||
        !body_flag(request, reply, "favourite", &favourite, &has_favourite)) {
        mem_free(new_name);
        return;
    }
    bool is_renamed = new_name && strcmp(new_name, name) != 0, other_is_there;
    char *directory = NULL;
    if (!is_known(server, name, &is_there))
        reply_error(reply, MHD_HTTP_NOT_FOUND, "profile '%s' not found", name);
    else if (is_renamed && has_controls(new_name))
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "the name contains control characters");
    else if (is_renamed && !profile_directory(server->data_path, new_name, &directory, &err))
        reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
    else if (is_renamed && is_known(server, new_name, &other_is_there))
        reply_error(reply, MHD_HTTP_CONFLICT, "profile '%s' already exists", new_name);
    else if (is_renamed && !is_there)
        reply_error(reply, MHD_HTTP_CONFLICT, "'%s' is not processed yet", name);
    else if ((is_renamed && !rename_entry(server, name, new_name, &err)) ||
             (has_favourite &&
              !notes_set_favourite(server, is_renamed ? new_name : name, favourite, &err)))
        reply_failure(reply, MHD_HTTP_CONFLICT, &err);
    else
        reply_entry(request, reply, is_renamed ? new_name : name);
    mem_free(directory);
    mem_free(new_name);
}

void delete_profile(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    const char *name = request->parameters[0];
    bool is_there, is_removed = false;
    struct error err;
    if (reply_if_rank(request, reply))
        return;
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
        reply_error(reply, MHD_HTTP_NOT_FOUND, "profile '%s' not found", name);
        return;
    }
    notes_remove(server, name);
    reply_no_content(reply);
}

void get_summary(struct request *request, struct reply *reply)
{
    struct opened *opened = open_profile(request, reply);
    if (!opened)
        return;
    char *path = path_format("%s/%s", opened_directory(opened), SUMMARY_FILE);
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
    close_profile(opened);
}

void get_health(struct request *request, struct reply *reply)
{
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "status", TEXT("healthy"));
    json_put_text(&json, "version", text_of(request->server->options->version));
    json_close(&json, '}');
}
