/*
 * Inside tools: what the overview and the analysis of input share: the table of steps.
 */
#ifndef KYMO_REPORT_XPROF_STEPS_H
#define KYMO_REPORT_XPROF_STEPS_H

#include "report/xprof/relations.h"

enum { STEP_COLUMN_COUNT = 36 };
extern const struct tool_column step_columns[STEP_COLUMN_COUNT];
extern const char step_sql[], step_properties[];

/* SQL has its own lines. */
/* clang-format off */

/* Shares of step time, one row: input_percent and so on; step_count is 0 without steps. */
#define SHARE_OF(part) "100.0 * sum(" part "_ns) / nullif(sum(step_ns), 0) AS " part "_percent"
#define SHARES                                                                                     \
    "shares AS (SELECT count(*) AS step_count, (SELECT count(*) FROM Step) AS known_count, avg(step_ns) / 1e6 AS step_ms,"                     \
    " min(step_ns) / 1e6 AS least_ms, max(step_ns) / 1e6 AS most_ms,"                              \
    " " SHARE_OF("compute") ", " SHARE_OF("between") ", " SHARE_OF("collectives") ","              \
    " " SHARE_OF("host") ", " SHARE_OF("launch") ", " SHARE_OF("input") ","                        \
    " " SHARE_OF("output") ", " SHARE_OF("compile") ", " SHARE_OF("other") ","                     \
    " 100.0 * sum(compute_16_ns) / nullif(sum(compute_ns), 0) AS half_percent,"                    \
    " 100.0 * sum(compute_32_ns) / nullif(sum(compute_ns), 0) AS single_percent FROM step_part)"

/* How much a part of a step is of a problem, by XProf's thresholds. */
#define DEGREE(share)                                                                              \
    "CASE WHEN " share " >= 15 THEN 'high' WHEN " share " >= 3 THEN 'moderate'"                    \
    " ELSE 'no' END"
/* Whether programs wait for input, as a sentence and as what it makes of the program. */
#define INPUT_BOTTLENECK                                                                           \
    "CASE WHEN step_count = 0 THEN 'unknown' WHEN input_percent >= 20 THEN 'host'"                 \
    " WHEN input_percent >= 5 OR other_percent >= 3 THEN 'both' ELSE 'device' END"
#define INPUT_STATEMENT                                                                            \
    "CASE WHEN step_count = 0 AND known_count > 0 THEN 'An earlier version of kymo made the"       \
    " profile, without the parts of its steps: `kymo view CAPTURE --force` makes it again.'"       \
    " WHEN step_count = 0 THEN 'The capture has no steps: how long they wait for input is not"     \
    " known.' ELSE printf('Devices wait for input %.1f %% of the step time (%.2f of %.2f ms):',"   \
    " input_percent, input_percent * step_ms / 100, step_ms) || CASE"                              \
    " WHEN input_percent >= 20 THEN ' the program is bound by its input.'"                         \
    " WHEN input_percent >= 5 THEN ' input is part of the problem.'"                               \
    " WHEN other_percent >= 3 THEN printf(' little, but %.1f %% of the time has no known cause.'," \
    " other_percent) ELSE ' it is not bound by its input.' END END"

/* clang-format on */

#endif
