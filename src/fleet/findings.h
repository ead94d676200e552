/*
 * Inside fleet: findings while they are gathered.
 */
#ifndef KYMO_FLEET_FINDINGS_H
#define KYMO_FLEET_FINDINGS_H

#include "fleet/work.h"

struct finding {
    const char *rule;
    char *title, *statement, *evidence;
    const char *advice, *query;
    double cost_ns; /* per step */
    int64_t rank, device;
    char *communicator;
    char *machine; /* of which most ranks are slow */
};

struct findings {
    struct fleet_analysis *analysis;
    ARRAY(struct finding) items;
    double step_ns;
    int64_t steps, lanes;
};

struct finding *run_finding_add(struct findings *findings, const char *rule);
const char *run_finding_time(double ns, char text[static QUANTITY_SIZE]);
/* The columns of a row as a JSON object. */
char *run_finding_evidence(const struct sql_result *result, size_t row);

/* Findings that cost time and rest on ranks whose captures dropped events say so. */
void note_incomplete_ranks(struct findings *findings);

/* Slow ranks and machines. */
row_visitor add_straggler;

#endif
