/*
 * Inside device: the rules that make findings of device profiles, and their thresholds.
 * docs/findings.md tells users the same.
 */
#ifndef KYMO_ANALYZE_DEVICE_FINDINGS_H
#define KYMO_ANALYZE_DEVICE_FINDINGS_H

#include "analyze/device/device.h"

/* Published rules. */
#define MAX_REPEAT_FACTOR   2.0  /* loads of a tensor to SBUF */
#define MIN_MODEL_SHARE     0.5  /* model FLOPs, of what the Tensor engine could do while active */
#define MIN_NKI_SHARE       0.5  /* instructions of an engine that come from NKI kernels */
#define MAX_TRANSPOSE_SHARE 0.1  /* of hardware FLOPs */
#define MAX_RELOAD_SHARE    0.25 /* spill reloads, of all HBM reads */
/* A transfer below this moves at less than 90 % of the rate: 2 KiB are published as the minimum. */
#define SMALL_DMA_BYTES 2048
/* Packets of at most this size are signals, not data of a kernel (published filter). */
#define SIGNAL_BYTES 4
/* Packets that are small, by their time, before they matter. */
#define MIN_SMALL_SHARE 0.1
/* A collective takes this many times the median of its kind and size. */
#define COLLECTIVE_OUTLIER 1.5
/* Medians of fewer collectives are chance. */
#define MIN_COLLECTIVES 4

/* Whether a packet moves data of a kernel, and little of it. */
bool device_is_small_dma(const struct descriptor_facts *facts);
/* Looks at one execution. */
void findings_gather(struct device_analysis *analysis, const struct device_execution *execution,
                     const struct device_path *path);
/* Runs the rules when all have been added. */
void findings_make(struct device_analysis *analysis, const char *nki_source_root);

#endif
