/*
 * Lanes that have ended: small ones share a file, a pack, so that neither the number of files nor
 * the memory grows with the number of threads; large ones keep their own. Beyond 4,096 files, or a
 * million lanes, the oldest file goes and its events are counted as lost.
 *
 * Everything here is called with the lock of the lanes held.
 */
#ifndef KYMO_CAPTURE_RECORDER_ENDED_H
#define KYMO_CAPTURE_RECORDER_ENDED_H

#include "capture/recorder/session.h"

#include <limits.h>

/* A capture begins; both stay where they are until ended_forget. */
void ended_start(struct ring_session *session, const char *rings);
/* Moves a lane to the pack and removes its file. False when it is too large, or the pack cannot be
 * written: nothing has changed then. */
bool ended_pack(const struct ring_header *header, const char *path, uint64_t events);
/* The lane stays in its file. */
void ended_keep(uint32_t lane, uint64_t events);
void ended_list(struct session_input *input);
/* At the end of a capture, or in a child of fork. */
void ended_forget(void);

void lane_path(char path[static PATH_MAX], const char *rings, uint32_t number);

#endif
