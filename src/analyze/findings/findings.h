/*
 * findings: statements on what costs time and what to do about it; the same for profiles, device
 * profiles and runs of many ranks. Here are what a finding consists of, the list of all rules
 * (rules.def) and their thresholds (thresholds.h). The rules themselves are where their data is:
 * analyze, device, fleet. docs/findings.md explains them to users.
 */
#ifndef KYMO_ANALYZE_FINDINGS_FINDINGS_H
#define KYMO_ANALYZE_FINDINGS_FINDINGS_H

#include "base/base.h"

/* RULE_HOST_BOUND and so on. */
enum finding_rule {
#define ANY_RULE(name, id, title) RULE_##name,
#include "analyze/findings/rules.def"
    FINDING_RULES,
};

/* What findings of a rule are called. Rules on different data may share an id. */
struct finding_rule_names {
    const char *id;    /* "host-bound" */
    const char *title; /* "The host hands over work too late" */
};
extern const struct finding_rule_names finding_rules[FINDING_RULES];

/* Where a reader sees what a finding states. */
struct evidence {
    const char *label;
    int64_t from_ps, to_ps;
    bool has_event;
    uint64_t event_id; /* in the table of events */
    /* In a device profile, which has no such table: an item of the program, as in struct
     * device_item; kind 0: none. */
    struct {
        uint8_t kind, engine;
        uint32_t index;
        uint32_t part;      /* what it runs: see device_item_part */
        uint32_t execution; /* number of the one it is in */
    } item;
};

enum { MAX_EVIDENCE = 3 };

struct finding {
    const char *rule;  /* its id */
    const char *title; /* that of the rule, or one with figures */
    const char *text;  /* a sentence with its figures */
    const char *advice;
    const char *sql;      /* a query that lists what it is about */
    bool is_failure;      /* the program did not do its work: comes first, at whatever cost */
    int64_t cost_ps;      /* per device; of a device profile, an upper bound of the gain */
    double share;         /* the same as a share of share_of */
    const char *share_of; /* "the steps" */
    struct evidence evidence[MAX_EVIDENCE];
    size_t evidence_count;
    struct {                                /* of a run */
        double cost_ns;                     /* per step; instead of cost_ps */
        int64_t rank, device;               /* -1: of no one */
        const char *communicator, *machine; /* NULL: of none */
        const char *row;                    /* the row of the query it was made of, as JSON */
    } run;
};

/* Findings and their texts. A zeroed struct has none. */
struct findings {
    struct finding *items; /* as ARRAY */
    size_t count, capacity;
    struct arena texts;
};
void findings_free(struct findings *findings);

/* These take whatever has findings: an analysis, the findings of a run. */

/* A finding to be completed, with the title of its rule; valid until the next is added. */
#define finding_add(owner, ...) findings_add(&(owner)->findings, __VA_ARGS__)
/* Text made as by printf, kept with the findings; ends before a character that is not UTF-8. */
#define finding_text(owner, ...) findings_text(&(owner)->findings, __VA_ARGS__)

struct finding *findings_add(struct findings *findings, enum finding_rule rule, int64_t cost_ps,
                             double share, const char *share_of);
const char *findings_text(struct findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds evidence, unless there is enough. */
void finding_show(struct finding *finding, const struct evidence *evidence);
/* Whether there is a finding with the id of a rule. */
bool findings_have(const struct findings *findings, enum finding_rule rule);

/* Orders the findings from an index on; equal ones stay in the order of the rules. */
typedef bool finding_before(const struct finding *a, const struct finding *b);
finding_before finding_costs_more;     /* by cost */
finding_before finding_has_more;       /* by share; those that cost no time come last */
finding_before finding_costs_run_more; /* by cost per step of a run, then by title */
void findings_sort(struct findings *findings, size_t first, finding_before *before);

#endif
