/*
 * Ranks of datasets as profiles, internal to serve. Their names, "runs/run=night/rank=3", have
 * slashes, which those of profiles in the workspace cannot have. A rank is opened as a directory of
 * links to its files, which lies in the workspace as long as the rank is open.
 */
#ifndef KYMO_SERVE_RUNS_RANK_LINKS_H
#define KYMO_SERVE_RUNS_RANK_LINKS_H

#include "serve/http/server.h"

struct rank_links *rank_links_create(struct server *server);
/* Removes what is left of the directories. */
void rank_links_destroy(struct rank_links *links);

/* The name of a rank as a profile; free with mem_free. */
char *rank_profile_name(const char *dataset, const char *run, int64_t rank);
/* A new directory with links to the files of a rank, which is at this place of the dataset; NULL on
 * failure. */
char *rank_links_make(struct rank_links *links, const char *dataset, const char *place,
                      struct error *err);
/* Removes it, and frees the path. */
void rank_links_remove(char *directory);
/* The size of the files that a directory links to. */
uint64_t rank_links_size(const char *directory);

#endif
