/*
 * From an event to its ring: what happens between a lane and the functions of kymo.h.
 */
#ifndef KYMO_RECORD_EVENT_H
#define KYMO_RECORD_EVENT_H

#include "record/lane.h"

extern __thread struct kymo_lane *lane_mine __attribute__((tls_model("initial-exec")));

/* The calling thread's lane in the running capture, made if need be; NULL when there is none. */
struct kymo_lane *lane_of_thread(void);

/* The place is at the limit: goes on behind it or at the start. */
void lane_turn(struct kymo_lane *lane, struct lane_place *place);
/* Makes a place that went back to the start the lane's own. */
void lane_go_to(struct kymo_lane *lane, const struct lane_place *place);

#endif
