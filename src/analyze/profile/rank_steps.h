/*
 * Inside analyze: what devices did in steps, in the terms in which ranks are compared, and their
 * kernels by step.
 */
#ifndef KYMO_ANALYZE_PROFILE_RANK_STEPS_H
#define KYMO_ANALYZE_PROFILE_RANK_STEPS_H

#include "analyze/profile/step_breakdown.h"

typedef ARRAY(struct rank_kernel) rank_kernel_list;
typedef ARRAY(struct event_ref) event_ref_list;

/* Takes the work of a device in the order of starts, then frees the sweep and sets what ranks are
 * compared by: rank_sweep_end adds the kernels and the collectives to the lists. */
struct rank_sweep;
struct rank_sweep *rank_sweep_begin(const struct analysis *analysis, struct step_breakdown *windows,
                                    size_t count);
void rank_sweep_work(struct rank_sweep *sweep, struct event_ref work);
void rank_sweep_end(struct rank_sweep *sweep, rank_kernel_list *kernels,
                    event_ref_list *collectives);

#endif
