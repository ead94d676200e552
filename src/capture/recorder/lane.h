/*
 * Lanes of the running capture: a ring for each thread that records and for each core that a
 * runtime opens. A thread gets its ring with its first event; when it ends, its events stay in
 * files (ended.h) until the capture ends, and its memory is freed.
 */
#ifndef KYMO_CAPTURE_RECORDER_LANE_H
#define KYMO_CAPTURE_RECORDER_LANE_H

#include "capture/recorder/lock.h"
#include "capture/recorder/region.h"
#include "capture/recorder/ring.h"

#include <limits.h>
#include <stdbool.h>

/* Where the next record goes. `base` is such that the number of records before a slot follows from
 * its address, so that one store ends an event: an event that a signal handler abandons with
 * longjmp leaves nothing behind. */
struct lane_position {
    struct ring_record *slot;
    uint64_t base;
};

static inline uint64_t lane_position_head(const struct lane_position *position)
{
    return position->base + (uintptr_t)position->slot / sizeof(struct ring_record);
}

struct kymo_lane {
    struct lane_position position; /* behind the last whole event */
    struct ring_record *limit;     /* the end of what may be written */
    struct ring_header *header;
    uint32_t session; /* the capture it belongs to */
    uint32_t number;
    struct ring_record *first, *end;
    struct region region;
    /* How much the recorder's own thread should reserve ahead of the writer, and how much it has.
     */
    size_t wanted_from, wanted_to, prepared;
    bool detached;                  /* its capture is over; its memory is no longer used */
    struct kymo_lane *next, **link; /* in the list of live lanes */
    char path[];
};

extern __thread struct kymo_lane *lane_mine __attribute__((tls_model("initial-exec")));

/* The calling thread's lane in the running capture, created if necessary; NULL without a capture.
 */
struct kymo_lane *lane_of_thread(void);

/* The position is at the limit: extends the ring or wraps around. */
void lane_turn(struct kymo_lane *lane, struct lane_position *position);
/* Makes a position that wrapped around the lane's own. */
void lane_go_to(struct kymo_lane *lane, const struct lane_position *position);

/* Number of the running capture, 0 when none is. */
extern uint32_t lanes_session;

/* A capture begins; rings is where its files are. Number 0: without events. Counts go into
 * *session, which stays mapped forever. */
void lanes_start(uint32_t number, struct ring_session *session, const char *rings,
                 uint64_t records);
/* No further event is recorded; the lock is held from here to lanes_end. */
void lanes_close(void);
void lanes_end(void);
/* Adds every lane of the capture, in any order. Between lanes_close and lanes_end. */
struct session_input;
void lanes_list(struct session_input *input);
uint64_t lanes_opened(void);

/* Reserves ahead of the writers that asked for it. */
void lanes_prepare(void);

void lanes_lock(void);
void lanes_unlock(void);
/* In a child of fork, with the lock held: releases everything that belongs to the parent. */
void lanes_forked(void);

#endif
