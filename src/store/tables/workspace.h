/*
 * The workspace: a directory of processed profiles by name.
 *
 *     <data path>/profiles/global/<name>@latest/<Table>.parquet, timeline.kymo,
 *         summary.json, modules.hlo.zst
 *
 * A profile is written to a hidden directory next to its final path, under a lock, and then
 * renamed: readers see the old or the complete new one. Leftovers of a killed writer are removed by
 * the next one.
 */
#ifndef KYMO_STORE_TABLES_WORKSPACE_H
#define KYMO_STORE_TABLES_WORKSPACE_H

#include "model/model.h"

#define TIMELINE_FILE "timeline.kymo"
#define SUMMARY_FILE  "summary.json"
#define MODULES_FILE  "modules.hlo.zst" /* HLO modules, a frame each: HloModule.file_offset */

/* The directory of a profile; free with mem_free. data_path NULL is the default,
 * ~/.local/share/kymo. False for invalid names. */
bool profile_directory(const char *data_path, const char *name, char **directory,
                       struct error *err);

/* A name derived from the contents of files and how they are processed: kind, _ and 40 hex digits.
 * Deterministic. */
enum { CONTENT_NAME_SIZE = 43 };
bool content_name(char kind, const char *const *paths, size_t count, struct text settings,
                  struct pool *pool, char name[static CONTENT_NAME_SIZE], struct error *err);

/* Finds a processed profile, by name in the workspace or by path. */
bool profile_find(const char *data_path, const char *name, char **directory, struct error *err);

/* What a profile's capture dropped; nothing if its summary says nothing. */
struct drops profile_drops(const char *directory);

/* The directory of the workspace, created if missing; free with mem_free. */
bool workspace_open(const char *data_path, char **directory, struct error *err);
/* Names of all its profiles, unordered; free with profile_names_free. */
typedef ARRAY(char *) profile_names;
bool profile_list(const char *data_path, profile_names *names, struct error *err);
void profile_names_free(profile_names *names);
/* Both fail while a process writes the profile. */
bool profile_remove(const char *data_path, const char *name, struct error *err);
/* Removes the directory of a profile outside the workspace: files; profiles have no subdirectories.
 */
bool remove_profile(const char *path);
/* The same, by its name in an open directory. */
bool remove_profile_at(int parent, const char *name);
/* Fails if the new name exists. */
bool profile_rename(const char *data_path, const char *name, const char *new_name,
                    struct error *err);

/* The path for a profile that is removed after use, in a new directory of its own below `parent`;
 * NULL if that cannot be created. One at a time. */
char *temporary_profile_begin(const char *parent, struct error *err);
/* Removes the profile, if it was made, and its directory; frees the path. */
void temporary_profile_end(char *path);

/* Returns the descriptor of the lock file, or -1 with errno set; EWOULDBLOCK if another process
 * holds it. */
int take_lock(const char *path);
void drop_lock(const char *path, int lock);

/* An unfinished profile. */
struct staging {
    char *target;    /* final path */
    char *directory; /* temporary directory */
    char *lock_path;
    int lock;
};

/* Fails if the target exists (unless replace), or another process is writing it. */
bool staging_begin(struct staging *staging, const char *target, bool replace, struct error *err);
/* Renames the profile into place. A failure removes it. */
bool staging_commit(struct staging *staging, struct error *err);
/* Removes the unfinished profile. */
void staging_abandon(struct staging *staging);
/* The same for the current unfinished profile and the temporary one, if any; async-signal-safe. */
void staging_abandon_now(void);

#endif
