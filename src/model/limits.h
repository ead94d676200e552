/*
 * Limits on what a capture may declare. The bytes of a capture bound its events, at about ten each.
 * They do not bound its declarations: an empty line is two bytes of a protobuf message, which gzip
 * packs a thousandfold, and takes 600 bytes in every command. So declarations are limited by the
 * size of the files as they were given, packed or not:
 *
 * tracks (lines, planes, threads, counters) 100,000, and one for every 32 bytes. Real captures
 *       have tens to thousands. A program that starts a thread for every task has a name and
 *       several events for each, more than 32 bytes even when they are packed.
 * event types, messages 1 million, and one for every 2 bytes. Most captures
 *       have a few thousand types; one whose every event has a name of its own ("request 4711") has
 *       one for about every 5 bytes when it is packed, for every 60 when it is not.
 * names (distinct texts, names with a number, operations of programs)
 *                                              4 million, and one for every 2 bytes. An operation
 *       of an HLO module has about five texts, and takes tens of bytes even when it is packed.
 *
 * Everything else that a file can make large is limited by the disk space it takes, see mem_given.
 * Nothing is cut off: a capture that exceeds a limit is refused with a message that names the
 * option to raise it.
 */
#ifndef KYMO_MODEL_LIMITS_H
#define KYMO_MODEL_LIMITS_H

#include "model/catalog.h"

/* The user's choice, for each file: --track-limit, and --name-limit for names and types. 0: the
 * above. */
struct catalog_limits {
    unsigned long tracks, names;
};
extern struct catalog_limits catalog_limits;

/* Counts a file of the capture, before it is read; also for the limit on temporary files. */
void catalog_give(struct catalog *catalog, size_t bytes, bool is_packed);
/* Whether the catalog, with this many more tracks to be added, is within the limits. */
bool catalog_check(const struct catalog *catalog, size_t more_tracks, const char *path,
                   struct error *err);

#endif
