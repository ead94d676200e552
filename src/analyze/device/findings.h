/*
 * Inside device: what makes findings of device profiles. The rules are listed in
 * findings/rules.def.
 */
#ifndef KYMO_ANALYZE_DEVICE_FINDINGS_H
#define KYMO_ANALYZE_DEVICE_FINDINGS_H

#include "analyze/device/device.h"
#include "analyze/findings/thresholds.h"

/* Whether a packet moves data of a kernel, and little of it. */
bool device_is_small_dma(const struct descriptor_facts *facts);
/* Looks at one execution. */
void findings_gather(struct device_analysis *analysis, const struct device_execution *execution,
                     const struct device_path *path);
/* Runs the rules when all have been added. */
void findings_make(struct device_analysis *analysis);

#endif
