/*
 * Inside fleet: the files of a run's ranks, as they lie in a dataset:
 * <table>/run=<run>/instance=<instance>/rank=<rank>/part-0.parquet. A rank is there when its file
 * of table Rank is.
 */
#ifndef KYMO_REPORT_FLEET_RANKS_H
#define KYMO_REPORT_FLEET_RANKS_H

#include "base/base.h"

struct rank_file {
    char *place; /* instance=<instance>/rank=<rank> */
    uint64_t rank;
    uint64_t size;
    int64_t changed_ns;        /* time of its last change */
    char *damage;              /* why a file cannot be read: the rank is left out; or NULL */
    const char *damaged_table; /* of that file */
};

struct run_files {
    char *folder; /* run=<run>, escaped as Hive does */
    ARRAY(struct rank_file) ranks;
};

/* Fails if there are none. */
bool run_files_find(struct run_files *files, const char *dataset, const char *run,
                    struct error *err);
void run_files_free(struct run_files *files);
/* How many events the capture of a rank dropped; folder is that of the run. */
uint64_t rank_dropped(const char *dataset, const char *folder, const char *place);

#endif
