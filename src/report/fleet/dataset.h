/*
 * Datasets: the tables of many ranks as Parquet files, partitioned as Hive does it.
 *
 *     D/_dataset.json                                              says that D is a dataset
 *     D/<Table>/run=<run>/instance=<instance>/rank=<rank>/part-0.parquet
 *     D/_profile/run=<run>/instance=<instance>/rank=<rank>/        not a table: the timeline
 *     D/_staging/run=<run>/rank=<rank>/                            a rank that is being added
 *
 * A rank is there when its file of the table Rank is: that is put in place last and removed first.
 * Who adds or removes a rank holds its lock, D/_staging/run=<run>/rank=<rank>.lock; what a process
 * that was killed left behind is removed by the next that adds or removes a rank.
 */
#ifndef KYMO_REPORT_FLEET_DATASET_H
#define KYMO_REPORT_FLEET_DATASET_H

#include "sql/sql.h"
#include "store/tables/store.h"

/* Where a rank is in a dataset. */
struct rank_place {
    const char *run, *instance;
    int64_t rank;
};

/* Whether a directory says that it is a dataset, of whatever version. */
bool dataset_is_marked(const char *directory);
/* Whether a directory is a dataset that this version reads. */
bool dataset_check(const char *dataset, struct error *err);
/* Whether it is one, or can be made one: is missing or empty. */
bool dataset_is_usable(const char *dataset, struct error *err);
/* Makes it one, if it is none yet. */
bool dataset_create(const char *dataset, struct error *err);

/* What a capture says about the rank it is of; strings live as long as the catalog. */
struct rank_found {
    bool has_rank;
    int64_t rank, world_size; /* the world's size is 0 if unknown */
    const char *host;         /* NULL if unknown */
};
struct rank_found rank_find(const struct catalog *catalog);
/* The name of the directory that a capture is in, or "run"; free it with mem_free. */
char *run_of_path(const char *capture);
/* The machine, or a name for that of this rank if it is unknown; free it with mem_free. */
char *instance_of(const struct rank_found *found, int64_t rank);

/* Adds a rank. `profile` says how its profile is made; its target is set here. */
struct rank_addition {
    const char *dataset;
    struct rank_place place;
    bool replace; /* a rank that is there */
    struct profile_options profile;
};
bool dataset_add(const struct rank_addition *addition, const struct analysis *analysis,
                 struct source *source, struct pool *pool, struct error *err);
/* Fails if a rank is there or is being added: what can be known before the capture is read. */
bool dataset_is_free(const char *dataset, const char *run, int64_t rank, struct error *err);

/* A rank as a profile. Its name in the dataset, "run=night/rank=3", with the run's name escaped as
 * in paths; free it with mem_free. */
char *rank_name(const char *run, int64_t rank);
/* Reads such a name, exactly as it is written; free the run with mem_free. */
bool rank_name_read(const char *name, char **run, int64_t *rank);
/* Where a rank is, "run=night/instance=node7/rank=3"; fails if it is not there. Free it with
 * mem_free. */
bool rank_locate(const char *dataset, const char *run, int64_t rank, char **place,
                 struct error *err);
/* The file that is there as long as the rank is, and is another one when it was replaced; free the
 * path with mem_free. */
char *rank_mark(const char *dataset, const char *place);
bool rank_has_timeline(const char *dataset, const struct rank_place *place);
/* Whether ranks of the run have more than tables. */
bool run_has_timelines(const char *dataset, const char *run);
/* Links to the rank's files from a directory, under the names that a profile's files have. */
bool rank_link(const char *dataset, const char *place, const char *directory, struct error *err);

/* What the captures of a run's ranks dropped together. */
struct drops run_drops(const char *dataset, const char *run);

/* Removes the ranks of a run, or one of them (rank is -1 for all); says how many there were. */
bool dataset_remove(const char *dataset, const char *run, int64_t rank, size_t *removed,
                    struct error *err);

#endif
