/*
 * Names: interned texts in the session's `names` file, so that they outlive the program. Numbers
 * stay valid across captures of a process: each capture begins with the names of the previous one.
 * Looking up a known text takes no lock; everything else does.
 */
#ifndef KYMO_CAPTURE_RECORDER_NAMES_H
#define KYMO_CAPTURE_RECORDER_NAMES_H

#include "capture/recorder/ring.h"

#include <stdbool.h>

struct kymo_site;

/* The file for a new capture. On failure errno is set. */
bool names_start(const char *path);
/* The file is about to go; names can be looked up, no new ones are made. */
void names_stop(void);
/* Texts that had no room, or were cut. */
void names_count_lost(void);
void names_lock(void);
void names_unlock(void);
/* In a child of fork, with the lock held: the file is the parent's. */
void names_forked(void);

/* 0 when there is no room. */
uint32_t names_text(const char *text, enum ring_group group, int level);
/* A key. */
uint32_t names_key(const char *key);
/* A value. There may be any number of them: they get no more than half of the room, and those that
 * do not fit go into the ring. */
uint32_t names_value(const char *text);
/* An event type with its place in a source file, which may be NULL. */
uint32_t names_located(const char *text, int level, const char *file, uint32_t line);
uint32_t names_site(struct kymo_site *site);
/* The number of a site's key, remembered in the site. */
uint32_t names_site_key(struct kymo_site *site, const char *key);

/* The name with a number; NULL when there is none. Valid as long as the process lives. */
const struct ring_name *names_find(uint32_t id);

/* What is mapped now. */
const struct ring_names *names_mapped(void);

#endif
