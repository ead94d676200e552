/*
 * Datasets that are served, and the analysis of their runs.
 */
#include "serve/runs/analyses.h"

#include "report/fleet/fleet.h"
#include "serve/jobs/children.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* The analysis of a run, at work or done. */
struct analyzing {
    struct fleet_runs *runs;
    char *dataset, *run;
    char *directory; /* of the results, once they are there; looked_ms: when that was so */
    char *reason;    /* why it failed, or NULL */
    unsigned percent;
    char stage[64]; /* what the analysis does, "6 of 27: LaneStep"; empty before it begins */
    bool is_running, has_thread;
    int64_t started_ms, ended_ms, looked_ms;
    pthread_t thread;
    struct analyzing *next;
};

struct fleet_runs {
    struct server *server;
    pthread_mutex_t lock;
    pthread_mutex_t turn; /* held by the analysis at work: it uses all cores */
    struct analyzing *list;
    atomic_bool is_stopping;
};

struct fleet_runs *fleet_runs_create(struct server *server)
{
    struct fleet_runs *runs = mem_zeroed(1, sizeof *runs);
    runs->server = server;
    pthread_mutex_init(&runs->lock, NULL);
    pthread_mutex_init(&runs->turn, NULL);
    return runs;
}

void fleet_runs_stop(struct fleet_runs *runs)
{
    atomic_store(&runs->is_stopping, true);
}

void fleet_runs_destroy(struct fleet_runs *runs)
{
    for (struct analyzing *one = runs->list, *next; one; one = next) {
        next = one->next;
        if (one->has_thread)
            pthread_join(one->thread, NULL);
        mem_free(one->dataset);
        mem_free(one->run);
        mem_free(one->directory);
        mem_free(one->reason);
        mem_free(one);
    }
    pthread_mutex_destroy(&runs->lock);
    pthread_mutex_destroy(&runs->turn);
    mem_free(runs);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_dataset(const char *path)
{
    struct error ignored;
    return dataset_check(path, &ignored);
}

static bool is_served_part(const char *name)
{
    return name[0] != '.' && name[0] != '_' && name[0] != '\0';
}

/* Looks for datasets below a directory; recursion is bounded by depth. */
static void find_datasets(const char *root, const char *below, unsigned depth, dataset_names *names)
{
    char *path = path_format("%s/%s", root, below);
    DIR *stream = opendir(path);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)) && names->count < MAX_DATASETS) {
        if (!is_served_part(entry->d_name) ||
            (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        char *name = path_format("%s%s%s", below, *below ? "/" : "", entry->d_name);
        char *full = path_format("%s/%s", root, name);
        if (is_dataset(full))
            *array_push(names) = mem_copy_text(name, strlen(name));
        else if (depth > 1)
            find_datasets(root, name, depth - 1, names);
        mem_free(full);
        mem_free(name);
    }
    if (stream)
        closedir(stream);
    mem_free(path);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

dataset_names datasets_list(const struct server *server)
{
    dataset_names names = {0};
    const char *root = server->options->log_directory;
    if (root && is_dataset(root))
        *array_push(&names) = mem_copy_text(last_part(root), strlen(last_part(root)));
    else if (root)
        find_datasets(root, "", MAX_FLEET_DEPTH, &names);
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, compare_names);
    return names;
}

void datasets_free(dataset_names *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

/* A path below the log directory, without parts that lead elsewhere. */
static bool is_served_name(const char *name)
{
    size_t parts = 0;
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (!is_served_part(at) || *at == '/' || ++parts > MAX_FLEET_DEPTH)
            return false;
    }
    return true;
}

char *dataset_path(const struct server *server, const char *name)
{
    const char *root = server->options->log_directory;
    if (!root || !is_served_name(name))
        return NULL;
    if (is_dataset(root))
        return strcmp(name, last_part(root)) == 0 ? mem_copy_text(root, strlen(root)) : NULL;
    char *path = path_format("%s/%s", root, name);
    if (!is_dataset(path)) {
        mem_free(path);
        return NULL;
    }
    return path;
}

bool dataset_has_run(const char *dataset, const char *run)
{
    run_names names;
    struct error ignored;
    bool is_there = false;
    if (!fleet_runs(dataset, &names, &ignored))
        return false;
    char **name;
    array_each (name, &names)
        is_there |= strcmp(*name, run) == 0;
    run_names_free(&names);
    return is_there;
}

static bool is_over(const struct request *request)
{
    return atomic_load(&request->server->fleet_runs->is_stopping);
}

static void note_progress(void *context, unsigned percent, const char *doing)
{
    struct analyzing *one = context;
    pthread_mutex_lock(&one->runs->lock);
    one->percent = percent;
    snprintf(one->stage, sizeof one->stage, "%s", doing);
    pthread_mutex_unlock(&one->runs->lock);
}

/* A thread per analysis; `turn` lets one at a time run, as it uses all cores. `lock` is taken only
 * to store the outcome, so that requests are answered meanwhile. */
static void *run_analysis(void *context)
{
    struct analyzing *one = context;
    struct server *server = one->runs->server;
    const struct request request = {.server = server};
    struct error err;
    char *reason = NULL;
    char *folder = path_format("%s/.fleet", server->data_path);
    char *run = path_format("--run=%s", one->run);
    const char *const arguments[] = {
        "kymo",     "fleet", "report",        one->dataset, run, "--data-path", server->data_path,
        "--format", "json",  "--progress-fd", "3",          NULL};
    const struct child_watch watch = {is_over, &request, note_progress, one};
    pthread_mutex_lock(&one->runs->turn);
    if (!make_directories(folder, &err))
        reason = mem_copy_text(err.text, strlen(err.text));
    else if (!is_over(&request))
        reason = child_run_watched(arguments, folder, &watch);
    pthread_mutex_unlock(&one->runs->turn);
    mem_free(run);
    mem_free(folder);
    pthread_mutex_lock(&one->runs->lock);
    mem_free(one->reason);
    one->reason = reason;
    one->is_running = false;
    one->ended_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&one->runs->lock);
    return NULL;
}

/* Call with the lock held. */
static struct analyzing *find_analyzing(struct fleet_runs *runs, const char *dataset,
                                        const char *run)
{
    for (struct analyzing *one = runs->list; one; one = one->next)
        if (strcmp(one->dataset, dataset) == 0 && strcmp(one->run, run) == 0)
            return one;
    struct analyzing *one = mem_zeroed(1, sizeof *one);
    *one = (struct analyzing){.runs = runs,
                              .dataset = mem_copy_text(dataset, strlen(dataset)),
                              .run = mem_copy_text(run, strlen(run)),
                              .next = runs->list};
    runs->list = one;
    return one;
}

/* Call with the lock held. */
static void begin_analysis(struct analyzing *one)
{
    if (one->has_thread)
        pthread_join(one->thread, NULL); /* it has ended, or is about to return */
    mem_free(one->reason);
    one->reason = NULL;
    one->percent = 0;
    one->stage[0] = '\0';
    one->started_ms = clock_monotonic_ms();
    one->is_running = one->has_thread = pthread_create(&one->thread, NULL, run_analysis, one) == 0;
    if (!one->has_thread)
        one->reason = mem_copy_text("cannot create a thread", 22);
}

/* Call with the lock held. */
static bool look_for_results(struct analyzing *one, const char *data_path)
{
    if (one->directory && clock_monotonic_ms() - one->looked_ms < RESULTS_FRESH_MS)
        return true;
    const struct fleet_analysis_options options = {
        .dataset = one->dataset, .run = one->run, .data_path = data_path};
    mem_free(one->directory);
    one->directory = fleet_results(&options);
    one->looked_ms = clock_monotonic_ms();
    return one->directory != NULL;
}

static void reply_analyzing(struct reply *reply, const char *dataset, const struct analyzing *one)
{
    reply->status = MHD_HTTP_ACCEPTED;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "dataset", text_of(dataset));
    json_put_text(&json, "run", text_of(one->run));
    json_put_text(&json, "status", TEXT("analyzing"));
    json_put_int(&json, "seconds", (clock_monotonic_ms() - one->started_ms) / 1000);
    json_put_uint(&json, "percent", one->percent);
    json_put_text(&json, "stage", text_of(one->stage));
    json_close(&json, '}');
}

/* Call with the lock held. */
static bool is_ready(struct analyzing *one, const char *dataset, struct reply *reply)
{
    if (!one->is_running && look_for_results(one, one->runs->server->data_path))
        return true;
    if (!one->is_running && one->reason &&
        clock_monotonic_ms() - one->ended_ms < ANALYSIS_RETRY_MS) {
        reply_error(reply, MHD_HTTP_CONFLICT, "the analysis failed: %s", one->reason);
        return false;
    }
    if (!one->is_running)
        begin_analysis(one);
    reply_analyzing(reply, dataset, one);
    return false;
}

char *fleet_run_results(struct fleet_runs *runs, const struct fleet_run *run, struct reply *reply)
{
    char *directory = NULL;
    pthread_mutex_lock(&runs->lock);
    struct analyzing *one = find_analyzing(runs, run->path, run->name);
    if (is_ready(one, run->dataset, reply))
        directory = mem_copy_text(one->directory, strlen(one->directory));
    pthread_mutex_unlock(&runs->lock);
    return directory;
}
