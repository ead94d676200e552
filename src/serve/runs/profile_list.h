/*
 * The list of profiles, internal to serve: those in the workspace, queued jobs, and unprocessed
 * runs of the log directory.
 */
#ifndef KYMO_SERVE_RUNS_PROFILE_LIST_H
#define KYMO_SERVE_RUNS_PROFILE_LIST_H

#include "serve/runs/list_figures.h"
#include "serve/runs/notes.h"
#include "serve/runs/open_profiles.h"

struct profile_entry {
    char *name;
    char id[PROFILE_ID_SIZE]; /* empty until it is processed */
    const char *status;       /* static string */
    char *reason;
    unsigned percent;
    int64_t created_ms;
    uint64_t bytes;
    struct list_figures figures; /* zeros until it is processed */
    bool is_favorite, is_there;
    bool is_capture; /* its job captures over the network; processing it again captures again */
};
typedef ARRAY(struct profile_entry) profile_entries;

/* All profiles, newest first; or only the one named `only`. */
profile_entries profile_entries_find(struct server *server, const char *only);
void profile_entries_free(profile_entries *list);
/* NULL if the list does not have it. */
struct profile_entry *profile_entry_named(const profile_entries *list, const char *name);

/* Ranks of datasets are not listed; each gets an entry of its own. Free with
 * profile_entry_free. */
struct profile_entry rank_entry(const char *name, const struct opened *opened);
void profile_entry_free(struct profile_entry *entry);

/* Frees the cache of the list; at shutdown. */
void profiles_cache_free(void);

#endif
