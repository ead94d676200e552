/*
 * Inside analyze: the rules that make findings of profiles. Each group of rules has a file; all of
 * them are listed in findings/rules.def, in the order in which they run.
 */
#ifndef KYMO_ANALYZE_PROFILE_FINDINGS_H
#define KYMO_ANALYZE_PROFILE_FINDINGS_H

#include "analyze/findings/thresholds.h"
#include "analyze/profile/analysis_passes.h"

/* "the steps", or "the guessed steps". */
const char *name_of_steps(const struct analysis *analysis);

/* A time to look at, and an event in it or TRACK_NONE. */
void finding_span(const struct analysis *analysis, struct finding *finding, const char *label,
                  int64_t from_ps, int64_t to_ps, struct event_ref event);
void finding_event(const struct analysis *analysis, struct finding *finding, const char *label,
                   struct event_ref event);
/* The longest work of a class as evidence: of any device (TRACK_NONE) or of one, of any name
 * (empty) or of one. */
struct rules;
void put_longest_work(struct rules *rules, struct finding *finding, enum device_class class,
                      uint32_t device, struct text name);
/* A name in a sentence: shortened. */
const char *finding_name(struct analysis *analysis, struct text name);
const char *finding_type(struct analysis *analysis, uint32_t type);
/* The framework that the program is written in, by the names of its events and programs. */
enum framework { FRAMEWORK_UNKNOWN, FRAMEWORK_JAX, FRAMEWORK_TORCH, FRAMEWORK_TENSORFLOW };
enum framework framework_of(const struct analysis *analysis);
/* A name as a literal of SQL. */
const char *finding_literal(struct analysis *analysis, uint32_t string);

/* A part of a time range in which one event was the innermost of a host lane. */
struct host_part {
    int64_t from_ps, to_ps;
    uint32_t type;
    enum host_class class; /* the greatest of the events around it */
    uint32_t class_type;   /* the event that has it, as the next */
    int64_t class_from_ps;
    bool has_waited; /* for a device, before this part; the last time: */
    uint32_t waited_type;
    int64_t waited_from_ps, waited_to_ps;
};
struct host_range {
    int64_t from_ps, to_ps;
    size_t owner;
};
typedef ARRAY(struct host_range) range_list;
/* Visits what a lane did in ranges, which are sorted and do not overlap, from the event at a
 * position on; time without events is not visited. */
typedef void host_visit(void *context, const struct host_range *range,
                        const struct host_part *part);
void visit_host(const struct analysis *analysis, uint32_t lane, uint64_t first,
                const range_list *ranges, host_visit *visit, void *context);

/* The rules. */
struct rules {
    struct analysis *analysis;
    const activity_list *activities;
    const struct facts *facts;
    /* Devices that take part, and their sums. */
    ARRAY(const struct device_activity *) devices;
    int64_t window_ps, work_ps;
    uint64_t kernels; /* see struct device_activity, as the next */
    int64_t kernel_ps;
    const char *share_of;
    enum framework framework;
};
/* Advice in the words of the program's framework: of "a[jax: b][torch: c][tf: d][any: e] f", what
 * is in brackets is for one framework, or for programs whose framework is not known. */
const char *finding_advice(const struct rules *rules, const char *text);
typedef void find_function(struct rules *rules);
#define PROFILE_RULE(name, id, title, rests_on, find) find_function find;
#include "analyze/findings/rules.def"

/* How long a device idles in a range, in the gaps that are listed. Ranges are asked for in time
 * order: *gap, 0 at first, is where to look next. */
int64_t idle_in(const struct device_activity *device, size_t *gap, int64_t from_ps, int64_t to_ps);

/* What findings rest on: the lanes of the devices, or of the host's threads with launches and
 * steps. */
enum { RESTS_ON_DEVICES = 1, RESTS_ON_HOST = 2, RESTS_ON_ALL = 3 };
/* Has the findings from an index on say so where lanes they rest on lack dropped events. */
void note_incomplete(struct rules *rules, size_t first, unsigned rests_on);

/* The role of the tracks with a device's work, as in the table of tracks. */
static inline const char *work_role_name(const struct device_activity *device)
{
    return device->role == LANE_OPS ? "ops" : device->role == LANE_STREAM ? "stream" : "plain";
}

/* A sum over the devices as the mean of one. */
static inline int64_t per_device(const struct rules *rules, int64_t sum_ps)
{
    return rules->devices.count ? sum_ps / (int64_t)rules->devices.count : 0;
}

static inline double share_of_window(const struct rules *rules, int64_t sum_ps)
{
    return rules->window_ps > 0 ? (double)sum_ps / (double)rules->window_ps : 0;
}

#endif
