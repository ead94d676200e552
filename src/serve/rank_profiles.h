/*
 * Ranks of datasets as profiles, internal to serve. Their names, "runs/run=night/rank=3", have
 * slashes, which those of profiles in the workspace cannot have. A rank is opened as a directory of
 * links to its files, which lies in the workspace as long as the rank is open.
 */
#ifndef KYMO_SERVE_RANK_PROFILES_H
#define KYMO_SERVE_RANK_PROFILES_H

#include "serve/server.h"

struct rank_links *rank_links_create(struct server *server);
/* Removes what is left of the directories. */
void rank_links_destroy(struct rank_links *links);

/* No profile of the workspace can have this name. */
bool is_rank_name(const char *name);
/* It is written as that of a rank, whether there is one or not. */
bool is_written_as_rank(const char *name);
/* Free with mem_free. */
char *rank_profile_name(const char *dataset, const char *run, int64_t rank);
/* A rank that is there. */
struct served_rank {
    char *dataset, *place; /* its path, and the rank's place in it */
    char *mark;            /* the file that changes when the rank does */
};
/* Of a dataset that is served; false with the reply set if there is none of this name. */
bool served_rank_find(struct served_rank *rank, const struct server *server, const char *name,
                      struct reply *reply);
void served_rank_free(struct served_rank *rank);
/* If the request's profile is a rank, replies that it cannot be changed, or that there is none. */
bool reply_if_rank(const struct request *request, struct reply *reply);

/* A new directory with links to the rank's files, NULL with the reply set on failure. */
char *rank_links_make(struct rank_links *links, const struct served_rank *rank,
                      struct reply *reply);
/* Removes it, and frees the path. */
void rank_links_remove(char *directory);
/* The size of the files that a directory links to. */
uint64_t rank_links_size(const char *directory);

#endif
