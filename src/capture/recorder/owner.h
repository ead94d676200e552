/*
 * Owner of a capture: the process that records, and whether it is alive. Identified by data in the
 * session file, not by a lock: a lock ends when the program closes unknown descriptors.
 */
#ifndef KYMO_CAPTURE_RECORDER_OWNER_H
#define KYMO_CAPTURE_RECORDER_OWNER_H

#include "capture/recorder/ring.h"

#include <stdbool.h>

/* Of the calling process. Without a heartbeat yet. */
void owner_describe(struct ring_owner *owner);
void owner_beat(struct ring_owner *owner);

enum owner_state { OWNER_DEAD, OWNER_ALIVE, OWNER_UNKNOWN };

/*
 * Exact where the reader shares boot and pid namespace with the owner: a process with this pid and
 * this start time runs or does not. Elsewhere (a container, another machine with the same network
 * file system, after a reboot) the heartbeat decides; unknown is what has none, or one from the
 * future. What is in the file is not trusted.
 */
enum owner_state owner_state(const struct ring_session *session);

/* Whether it is alive only because the system has not finished ending it: it was killed and gives
 * back its memory, which takes seconds where that is large or of a GPU. False where it cannot be
 * seen. */
bool owner_is_ending(const struct ring_session *session);

#endif
