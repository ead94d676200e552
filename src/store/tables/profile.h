/*
 * Writes processed profiles from an analyzed capture.
 */
#ifndef KYMO_STORE_TABLES_PROFILE_H
#define KYMO_STORE_TABLES_PROFILE_H

#include "analyze/profile/analyze.h"

struct device_cores;

/* A row of DeviceProfileList. */
struct device_profile_entry {
    const char *name, *instance, *model;
    int64_t process, core; /* the core as its machine numbers them */
    int64_t logical_core;  /* as its process does */
};

/* Whose capture it is, for the table Rank of a dataset. */
struct rank_info {
    const char *capture, *host; /* the host is NULL if unknown */
    int64_t rank, world_size;   /* the world's size is 0 if unknown */
};

struct profile_options {
    const char *target;                 /* target directory; see profile_directory */
    const char *name;                   /* display name; NULL for none */
    const char *version;                /* of the program */
    bool replace;                       /* an existing profile */
    const struct device_cores *devices; /* whose lanes the tracks are; NULL: no device profile */
    const struct device_profile_entry *device_profiles; /* that belong to this system profile */
    size_t device_profile_count;
    const struct rank_info *rank;                        /* NULL: not part of a dataset */
    const char *framework_source_root, *nki_source_root; /* of SourceFile; NULL: not given */
    /* Writes SUMMARY_FILE into the directory of the unfinished profile; may be NULL. */
    bool (*summarize)(const struct analysis *analysis, const char *path, struct error *err);
};

/* Writes tables and timeline; a failure leaves an existing profile as it was. */
bool profile_make(const struct profile_options *options, const struct analysis *analysis,
                  struct source *source, struct pool *pool, struct error *err);

#endif
