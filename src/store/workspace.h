/*
 * The workspace: where processed profiles lie, by name:
 *
 *     <data path>/profiles/global/<name>@latest/<Table>.parquet, timeline.kymo, summary.json
 *
 * A profile is made in a hidden directory beside its place, under a lock, and then renamed: others
 * see the old one or the whole new one. What a killed writer left behind, the next one removes.
 */
#ifndef KYMO_STORE_WORKSPACE_H
#define KYMO_STORE_WORKSPACE_H

#include "base/base.h"

#define TIMELINE_FILE "timeline.kymo"
#define SUMMARY_FILE  "summary.json"

/* Where a profile of this name belongs; free it with mem_free. data_path NULL is the default,
 * ~/.local/share/kymo. False for names that cannot be. */
bool profile_directory(const char *data_path, const char *name, char **directory,
                       struct error *err);

/* A name made from the contents of files and how they are processed: kind_ and 40 hex digits; the
 * same files and manner, the same name. */
enum { CONTENT_NAME_SIZE = 43 };
bool content_name(char kind, const char *const *paths, size_t count, struct text manner,
                  struct pool *pool, char name[static CONTENT_NAME_SIZE], struct error *err);

/* The directory of a processed profile: the name of one in the workspace, or a path to one. */
bool profile_find(const char *data_path, const char *name, char **directory, struct error *err);

/* The directory of the workspace, made if it is not there yet; free it with mem_free. */
bool workspace_open(const char *data_path, char **directory, struct error *err);
/* Names of all profiles in it, in no order; free each and the list. */
typedef ARRAY(char *) profile_names;
bool profile_list(const char *data_path, profile_names *names, struct error *err);
void profile_names_free(profile_names *names);
/* Both fail while a process is writing the profile. */
bool profile_remove(const char *data_path, const char *name, struct error *err);
/* Fails when the new name is taken. */
bool profile_rename(const char *data_path, const char *name, const char *new_name,
                    struct error *err);

/* A profile that is being made. */
struct staging {
    char *place;     /* where it goes */
    char *directory; /* where it is made */
    char *lock_path;
    int lock;
};

/* Fails when the place is taken (unless replace), or another process is writing there. */
bool staging_begin(struct staging *staging, const char *place, bool replace, struct error *err);
/* Puts the profile in its place. On failure nothing is left of it. */
bool staging_commit(struct staging *staging, struct error *err);
/* Removes what was made so far. */
void staging_abandon(struct staging *staging);
/* The same for the profile that is being made, if one is; may be called from a signal handler. */
void staging_abandon_now(void);

#endif
