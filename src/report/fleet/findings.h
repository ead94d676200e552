/*
 * Inside fleet: findings while they are gathered. The rules are listed in findings/rules.def.
 */
#ifndef KYMO_REPORT_FLEET_FINDINGS_H
#define KYMO_REPORT_FLEET_FINDINGS_H

#include "analyze/findings/findings.h"
#include "analyze/findings/thresholds.h"
#include "report/fleet/work.h"

struct run_findings {
    struct fleet_analysis *analysis;
    struct findings findings;
    const char *query; /* whose rows are being read */
    double step_ns;
    int64_t steps, lanes;
};

/* A finding from a row of the query, with that as its evidence. */
struct finding *run_finding_add(struct run_findings *findings, enum finding_rule rule,
                                const struct sql_result *result, size_t row);
const char *run_finding_time(double ns, char text[static QUANTITY_SIZE]);

/* Findings that cost time and rest on ranks whose captures dropped events say so. */
void note_incomplete_ranks(struct run_findings *findings);

/* Slow ranks and machines. */
row_visitor add_straggler;

#endif
