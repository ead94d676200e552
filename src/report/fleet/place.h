/*
 * Inside fleet: paths in datasets.
 */
#ifndef KYMO_REPORT_FLEET_PLACE_H
#define KYMO_REPORT_FLEET_PLACE_H

#include "report/fleet/dataset.h"

#define PART_FILE   "part-0.parquet"
#define RANK_TABLE  "Rank"
#define PROFILE_DIR "_profile"
#define STAGING_DIR "_staging"

/* A name as Hive writes it in paths: characters that mean something there as %3A. Free it with
 * mem_free. */
char *hive_escape(const char *name);
char *hive_unescape(const char *name);
/* Whether a name can be that of a run or an instance. `what` is for the message. */
bool hive_check(const char *what, const char *name, struct error *err);

/* "run=night/instance=node7/rank=3"; free it with mem_free. */
char *place_path(const struct rank_place *place);

/* The names in a directory that begin with a prefix, without it; empty if it cannot be read. Free
 * them with names_free. */
typedef ARRAY(char *) name_list;
void names_find(const char *directory, const char *prefix, name_list *names);
void names_free(name_list *names);

/* Directories inside a dataset, by their paths in it. Those that write and remove follow no links
 * there: these could lead into other datasets. */
/* Opens one; creates it, and those above it, if it is `made`. Returns -1 and sets errno on failure:
 * ELOOP for a link. */
int place_open(const char *dataset, const char *path, bool is_made);
bool place_make(const char *dataset, const char *path, struct error *err);
/* names_find, without following links. */
void place_names(const char *dataset, const char *path, const char *prefix, name_list *names);
/* Removes one with the files in it, and then directories above it that are empty, `levels` in all.
 */
void remove_upwards(const char *dataset, const char *path, unsigned levels);

/* The instances where a rank is, with escapes. */
void rank_instances(const char *dataset, const char *escaped_run, int64_t rank, name_list *found);
/* Fails if there are links on the way to a rank, in any table: it cannot be removed then. */
bool place_check(const char *dataset, const char *place, struct error *err);
/* Removes a rank from all tables, first from that of ranks. */
void place_remove(const char *dataset, const char *place);

/* The lock of a rank; with it held, what a killed process left of the rank is removed. */
struct rank_lock {
    char *path, *directory; /* of the lock and of the rank that is being added */
    int lock;
};
bool rank_lock_take(struct rank_lock *lock, const char *dataset, const char *run, int64_t rank,
                    struct error *err);
void rank_lock_drop(struct rank_lock *lock);
/* Removes the rank, wherever it is; counts in how many places that was. */
bool rank_remove(const struct rank_lock *lock, const char *dataset, const char *escaped_run,
                 int64_t rank, size_t *removed, struct error *err);
/* Removes what killed processes left of other ranks. */
void staging_clean(const char *dataset);

#endif
