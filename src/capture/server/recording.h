/*
 * A capture for a client: begins it, waits, ends it, and makes a profile of it. One at a time, in a
 * thread of its own.
 */
#ifndef KYMO_CAPTURE_SERVER_RECORDING_H
#define KYMO_CAPTURE_SERVER_RECORDING_H

#include "capture/server/messages.h"

/* Begins one. `finished` is called in its thread at the end. False: why, in the status. */
bool recording_begin(const struct profile_request *request, void (*finished)(void),
                     struct status *status);
bool recording_is_active(void);
/* Ends it early, with what there is; others than of this id are left alone. */
void recording_end(const char *session_id);
/* Ends it and drops what there is. */
void recording_cancel(void);

struct recorded_profile {
    struct status status;
    int fd; /* of the profile, which has no name; -1: none. To be closed with descriptor_close. */
    uint64_t size;
};
/* After `finished`: waits for the thread and hands over what it has. False when none has finished.
 */
bool recording_take(struct recorded_profile *recorded);

void recording_set_hooks(void (*start)(const void *options, size_t size), void (*stop)(void));
void recording_set_merged(void (*begin)(const void *options, size_t size),
                          void (*end)(const char *path));

/* Around a fork. */
void recording_lock(void);
void recording_unlock(void);
/* In the child, with the lock held. */
void recording_forked(void);

#endif
