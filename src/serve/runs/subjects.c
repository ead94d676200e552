/*
 * Resolves the names in a request to profiles, ranks and runs. Profiles of the workspace have names
 * without slashes. A rank is named "runs/run=night/rank=3": its dataset, which is a path below the
 * log directory, its run and its number. A run is named by its dataset and its own name.
 */
#include "serve/runs/subjects.h"

#include "report/fleet/fleet.h"
#include "serve/runs/log_runs.h"
#include "serve/runs/rank_links.h"
#include "store/tables/store.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_SUBJECTS = 2 }; /* a pair */

static char *copy(const char *text)
{
    return mem_copy_text(text, strlen(text));
}

static void reply_no_dataset(struct reply *reply, const char *dataset)
{
    reply_error(reply, MHD_HTTP_NOT_FOUND, "no dataset '%s' is served", dataset);
}

/* No profile of the workspace can have this name. */
static bool is_rank_name(const char *name)
{
    return strchr(name, '/') != NULL;
}

/* The parts of a rank's name. */
struct rank_words {
    char *dataset, *run;
    int64_t number;
};

/* False if it is not written as the name of a rank. */
static bool read_rank_name(struct rank_words *words, const char *name)
{
    const char *at = strrchr(name, '/');
    while (at && at > name && *--at != '/')
        continue;
    if (!at || *at != '/' || !rank_name_read(at + 1, &words->run, &words->number))
        return false;
    words->dataset = mem_copy_text(name, (size_t)(at - name));
    return true;
}

static void rank_words_free(struct rank_words *words)
{
    mem_free(words->dataset);
    mem_free(words->run);
}

static bool is_written_as_rank(const char *name)
{
    struct rank_words words;
    if (!read_rank_name(&words, name))
        return false;
    rank_words_free(&words);
    return true;
}

/* A rank that is there. */
struct served_rank {
    char *dataset, *place; /* its path, and the rank's place in it */
    char *mark;            /* the file that changes when the rank does */
};

static void served_rank_free(struct served_rank *rank)
{
    mem_free(rank->dataset);
    mem_free(rank->place);
    mem_free(rank->mark);
}

/* False with the reply set if no dataset that is served has it. */
static bool find_rank(struct served_rank *rank, const struct server *server, const char *name,
                      struct reply *reply)
{
    struct rank_words words;
    struct error err;
    *rank = (struct served_rank){0};
    if (!read_rank_name(&words, name)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "'%s' names neither a profile nor a rank, such as runs/run=night/rank=3", name);
        return false;
    }
    rank->dataset = dataset_path(server, words.dataset);
    bool ok =
        rank->dataset && rank_locate(rank->dataset, words.run, words.number, &rank->place, &err);
    if (ok)
        rank->mark = rank_mark(rank->dataset, rank->place);
    else if (rank->dataset)
        reply_failure(reply, MHD_HTTP_NOT_FOUND, &err);
    else
        reply_no_dataset(reply, words.dataset);
    if (!ok)
        served_rank_free(rank);
    rank_words_free(&words);
    return ok;
}

/* Opens a rank as a directory of links to its files, or shares one that is open: that saves looking
 * for the rank, which takes time in proportion to the machines of its run. */
static struct opened *open_rank(struct server *server, const char *name, struct reply *reply)
{
    struct served_rank rank;
    struct stat before, after;
    struct error err;
    struct opened *opened = opened_find_rank(server->open_profiles, name);
    if (opened || !find_rank(&rank, server, name, reply))
        return opened;
    bool is_there = lstat(rank.mark, &before) == 0;
    char *directory = rank_links_make(server->rank_links, rank.dataset, rank.place, &err);
    if (!directory) {
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    } else if (!is_there || lstat(rank.mark, &after) != 0 || !is_same_file(&before, &after)) {
        /* Links that were made while the rank was replaced may be of both. */
        reply_error(reply, MHD_HTTP_CONFLICT, "'%s' was replaced meanwhile; try again", name);
        rank_links_remove(directory);
    } else {
        opened = opened_share(server->open_profiles, name, directory, rank.mark, &before);
        rank.mark = NULL;
    }
    served_rank_free(&rank);
    return opened;
}

static bool open_profile(struct subject *subject, struct server *server, struct reply *reply)
{
    struct error err;
    struct stat status;
    char *directory;
    if (is_rank_name(subject->name)) {
        subject->opened = open_rank(server, subject->name, reply);
    } else if (!profile_directory(server->data_path, subject->name, &directory, &err)) {
        reply_failure(reply, MHD_HTTP_NOT_FOUND, &err);
    } else if (lstat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
        reply_unready(server, reply, subject->name);
        mem_free(directory);
    } else {
        subject->opened =
            opened_share(server->open_profiles, subject->name, directory, NULL, &status);
    }
    return subject->opened != NULL;
}

/* If it is a rank, replies that it cannot be changed, or that it does not exist. */
static bool reply_if_rank(const struct server *server, const char *name, struct reply *reply)
{
    struct served_rank rank;
    if (!is_rank_name(name))
        return false;
    if (find_rank(&rank, server, name, reply)) {
        served_rank_free(&rank);
        reply_error(reply, MHD_HTTP_CONFLICT,
                    "'%s' is a rank of a dataset, which the server only reads; kymo fleet changes "
                    "it",
                    name);
    }
    return true;
}

static bool find_run(struct subject *subject, const struct server *server, const char *dataset,
                     const char *run, struct reply *reply)
{
    char *path = dataset_path(server, dataset);
    bool is_there = path && dataset_has_run(path, run);
    if (!path)
        reply_no_dataset(reply, dataset);
    else if (!is_there)
        reply_error(reply, MHD_HTTP_NOT_FOUND, "dataset '%s' has no run '%s'", dataset, run);
    if (is_there)
        subject->run = (struct fleet_run){copy(dataset), path, copy(run)};
    else
        mem_free(path);
    return is_there;
}

/* The longest part of a name, up to a slash or its end, that is a dataset; NULL if there is none.
 * Free with mem_free. */
static char *dataset_of_name(const struct server *server, const char *name)
{
    for (size_t size = strlen(name); size > 0; size--) {
        if (name[size] != '/' && name[size] != '\0')
            continue;
        char *part = mem_copy_text(name, size);
        char *path = dataset_path(server, part);
        if (path) {
            mem_free(path);
            return part;
        }
        mem_free(part);
    }
    return NULL;
}

/* Two profiles, or two runs: names that begin with that of a dataset. A rank is a profile. Both are
 * looked up before anything is read, so that a typo costs no analysis. */
static bool find_pair(struct request *request, struct reply *reply)
{
    static const char *const arguments[] = {"a", "b"};
    struct subject *pair = request->subject;
    char *datasets[2] = {NULL, NULL};
    bool ok = true;
    for (size_t i = 0; i < 2 && ok; i++) {
        const char *name = request_argument(request, arguments[i]);
        ok = name != NULL;
        if (!ok) {
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"%s\" must name a profile or a run",
                        arguments[i]);
            break;
        }
        pair[i].name = copy(name);
        datasets[i] = is_written_as_rank(name) ? NULL : dataset_of_name(request->server, name);
    }
    if (ok && !datasets[0] != !datasets[1]) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "a run of many ranks is compared with a run, a profile with a profile");
        ok = false;
    }
    for (size_t i = 0; i < 2 && ok; i++) {
        const char *rest = datasets[i] ? pair[i].name + strlen(datasets[i]) : NULL;
        ok = rest ? find_run(&pair[i], request->server, datasets[i], rest + (*rest == '/'), reply)
                  : open_profile(&pair[i], request->server, reply);
    }
    mem_free(datasets[0]);
    mem_free(datasets[1]);
    return ok;
}

/* The profile of the run that was asked for; else one of that name. It may not be processed yet:
 * only subject_make_ready waits for that, after the handler has checked its arguments. */
static bool find_log_run(struct request *request, struct reply *reply, bool needs_path)
{
    const char *wanted = request_argument(request, "run");
    const char *path = request_argument(request, "session_path");
    if (needs_path && !path) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing \"session_path\"");
        return false;
    }
    if (!run_paths_check(request, reply))
        return false;
    if (!wanted && !path) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing \"run\"");
        return false;
    }
    char *name = NULL;
    run_list runs = runs_list(request->server);
    const struct run *run;
    array_each (run, &runs)
        if (!name && (path ? run_is_at(run, path) : run_has_name(request->server, run, wanted)))
            name = copy(run->name);
    runs_free(&runs);
    if (!name && path) {
        reply_error(reply, MHD_HTTP_NOT_FOUND,
                    "\"session_path\" is not a run in the log directory");
        return false;
    }
    request->subject->name = name ? name : copy(wanted);
    return !reply_if_rank(request->server, request->subject->name, reply);
}

/* The one place where a name from a client becomes a profile, a rank or a run. What it took before
 * it failed is in request->subject, too, so that subject_release gives everything back. */
bool subject_resolve(struct request *request, struct reply *reply)
{
    struct server *server = request->server;
    enum subject_kind kind = request->route->subject;
    const char *const *names = request->parameters;
    if (kind == NO_SUBJECT)
        return true;
    struct subject *subject = request->subject = mem_zeroed(MAX_SUBJECTS, sizeof *subject);
    switch (kind) {
    case SUBJECT_RUN:
        return find_run(subject, server, names[0], names[1], reply);
    case SUBJECT_PAIR:
        return find_pair(request, reply);
    case SUBJECT_LOG_RUN:
    case SUBJECT_LOG_SESSION:
        return find_log_run(request, reply, kind == SUBJECT_LOG_SESSION);
    default:
        break;
    }
    bool is_changed = kind == SUBJECT_OWN_PROFILE || kind == SUBJECT_OWN_NAME;
    subject->name = copy(names[0]);
    if (is_changed && reply_if_rank(server, names[0], reply))
        return false;
    if (kind == SUBJECT_OWN_NAME || (kind == SUBJECT_NAME && !is_rank_name(names[0])))
        return true;
    return open_profile(subject, server, reply);
}

void subject_release(struct request *request)
{
    for (size_t i = 0; request->subject && i < MAX_SUBJECTS; i++) {
        struct subject *subject = &request->subject[i];
        close_profile(subject->opened);
        mem_free(subject->name);
        mem_free(subject->run.dataset);
        mem_free(subject->run.path);
        mem_free(subject->run.name);
    }
    mem_free(request->subject);
    request->subject = NULL;
}

bool subject_make_ready(struct request *request, struct reply *reply)
{
    return run_make_ready(request, reply, request->subject->name) &&
           open_profile(request->subject, request->server, reply);
}
