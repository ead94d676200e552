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
 * file system, after a reboot) the heartbeat decides; an owner without one, or with one from the
 * future, is unknown. The file's content is not trusted.
 */
enum owner_state owner_state(const struct ring_session *session);

/* Whether it is alive only because the system has not finished ending it: it was killed and is
 * releasing its memory, which takes seconds if there is much of it or it is a GPU's. False when the
 * process cannot be seen. */
bool owner_is_ending(const struct ring_session *session);

#endif
