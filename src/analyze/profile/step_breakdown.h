/*
 * Inside analyze: what devices did in steps, in parts that do not overlap.
 */
#ifndef KYMO_ANALYZE_PROFILE_STEP_BREAKDOWN_H
#define KYMO_ANALYZE_PROFILE_STEP_BREAKDOWN_H

#include "analyze/profile/analysis_passes.h"

typedef ARRAY(struct step_breakdown) breakdown_list;

/* The steps of a process on a device, a source track, or on the host (TRACK_NONE), by start. A step
 * lasts as its annotation does, or what the device recorded of it, if that contains its work on the
 * device. Otherwise it ends with that work, and begins with its annotation, but not before the work
 * of earlier steps is done. */
void breakdown_windows(const struct analysis *analysis, uint32_t process, uint32_t device,
                       breakdown_list *list);

/* Steps that are open at the same time; those that begin in more have no breakdown. */
enum { BREAKDOWN_OPEN = 64 };
/* Steps by start, passed in the order of time. */
struct breakdown_walk {
    struct step_breakdown *windows;
    size_t count, next;
    size_t open_count;
    struct step_breakdown *open[BREAKDOWN_OPEN];
};
/* Adds a piece of time to a column of the steps it is in; pieces come in order. */
void breakdown_add(struct breakdown_walk *walk, int64_t from, int64_t to, size_t offset);

/* Takes work in the order of starts, then frees the sweep and sets the steps' idle times. */
struct breakdown_sweep;
struct breakdown_sweep *breakdown_begin(struct step_breakdown *windows, size_t count);
void breakdown_work(struct breakdown_sweep *sweep, enum work_kind kind, int64_t start_ps,
                    int64_t end_ps);
void breakdown_end(struct breakdown_sweep *sweep);

/* A time in which the device idles because of a thread of the host. */
struct breakdown_gap {
    uint32_t lane;
    int64_t from_ps, to_ps;
};
typedef ARRAY(struct breakdown_gap) breakdown_gaps;
/* Adds what the host did in gaps, those of a lane without overlaps. */
void breakdown_host(const struct analysis *analysis, struct step_breakdown *windows, size_t count,
                    breakdown_gaps *gaps);
/* Sets the rest of the steps. */
void breakdown_finish(struct step_breakdown *windows, size_t count);

/* Breakdowns of the steps of processes without a device that works, by process track. */
void breakdown_hosts(struct analysis *analysis, const bool *has_device);

#endif
