/*
 * Processed profiles: making one from a capture that was worked out.
 */
#ifndef KYMO_STORE_PROFILE_H
#define KYMO_STORE_PROFILE_H

#include "analyze/analyze.h"

struct profile_options {
    const char *place;   /* the directory it becomes; see profile_directory */
    const char *name;    /* shown to people; NULL for none */
    const char *version; /* of the program that makes it */
    bool replace;        /* one that is there already */
    /* Writes SUMMARY_FILE into the directory the profile is made in; NULL for none. */
    bool (*summarize)(const struct analysis *analysis, const char *path, struct error *err);
};

/* Writes tables and timeline; a failure leaves what was there before. */
bool profile_make(const struct profile_options *options, const struct analysis *analysis,
                  struct source *source, struct pool *pool, struct error *err);

#endif
