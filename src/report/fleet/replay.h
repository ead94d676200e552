/*
 * Inside fleet: one step of all lanes as a graph of own work and transfers, which can be run again
 * with some of them shorter.
 *
 * Whatever begins on a lane, a collective or the step's end, follows the latest event before it
 * on that lane (its anchor: the start of the step, the start of a collective or the end of one)
 * after the same time as measured: the lane's own work. A collective ends on all its lanes at once,
 * the time of its transfer after the last of them arrived.
 */
#ifndef KYMO_REPORT_FLEET_REPLAY_H
#define KYMO_REPORT_FLEET_REPLAY_H

#include "base/base.h"

struct replay_lane {
    double start_ns, end_ns; /* of the step, in times of the run */
};

/* A lane's part in a collective. */
struct replay_event {
    uint32_t lane, match;
    double start_ns, end_ns;
};

struct replay;
/* Events in any order; a lane is in a match once, or some of its events are ignored. NULL if the
 * order of the events contradicts itself, so that nothing can be replayed. Keeps no pointers. */
struct replay *replay_create(const struct replay_lane *lanes, size_t lane_count,
                             const struct replay_event *events, size_t event_count,
                             size_t match_count);
void replay_free(struct replay *replay);

/* Time from the first start to the last end, as measured and as replayed without a change. */
double replay_measured_ns(const struct replay *replay);
double replay_unchanged_ns(const struct replay *replay);
/* The same with the own work of lanes and the transfers of matches multiplied by factors; NULL: 1
 */
double replay_changed_ns(struct replay *replay, const double *lane_factors,
                         const double *match_factors);

/* The chain of work and transfers that ends last, in order, as replayed without a change. Times are
 * those of the run. */
#define REPLAY_OWN_WORK UINT32_MAX
struct replay_part {
    uint32_t lane;  /* of a transfer: that came last */
    uint32_t match; /* REPLAY_OWN_WORK: none */
    double start_ns, end_ns;
};
typedef ARRAY(struct replay_part) replay_parts;
void replay_critical_path(struct replay *replay, replay_parts *parts);

#endif
