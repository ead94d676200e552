/*
 * All thresholds of findings, each with its reason. docs/findings.md lists them for users, and
 * tests/e2e/test_finding_rules.py holds the two against each other. What makes a rank late or a
 * collective slow is part of the results that the run's findings are made of:
 * src/report/fleet/queries.
 */
#ifndef KYMO_ANALYZE_FINDINGS_THRESHOLDS_H
#define KYMO_ANALYZE_FINDINGS_THRESHOLDS_H

#include <stdint.h>

/* A threshold in a query. */
#define THRESHOLD_TEXT(threshold)  THRESHOLD_TEXT_(threshold)
#define THRESHOLD_TEXT_(threshold) #threshold

/* Of all findings. */

/* What costs less than this share is not worth a reader's time: two runs of a program differ by as
 * much. */
#define MIN_SHARE 0.03

/* Of profiles. Shares are of the steps, or of the time that devices work in where there are none.
 */

/* A device that is busy this share of the time is not waiting for anybody. */
#define BUSY_SHARE 0.80
/* Launching a kernel costs the host 5 to 10 us, from Python with a profiler up to some hundred; a
 * gap that is longer has another reason than the launch. */
#define LAUNCH_GAP_PS INT64_C(1000000000)
/* Kernels that take longer on average keep the device busy while the host launches the next. */
#define SHORT_KERNEL_PS INT64_C(100000000)
/* A device needs 1 to 2 us between kernels that depend on each other, a graph or another stream
 * some more; after that it waits for something. */
#define QUEUED_GAP_PS INT64_C(20000000)
/* A wait for the device returns within this time of its last work; clocks differ by less. */
#define SYNC_RETURN_PS INT64_C(20000000)
/* A device with less than this share of the busiest one's work has no part in what is measured. */
#define MIN_DEVICE_WORK_SHARE 0.05
/* A step that takes this many times the median is an outlier: jitter stays below. */
#define STEP_OUTLIER_FACTOR 1.5
/* Medians and outliers of fewer steps are chance. */
#define MIN_STEPS 5
/* An outlier is compared with as many steps before and after it. */
#define NEIGHBOR_STEPS 16
/* How many times the median's work the slowest rank has before it holds up the others. */
#define STRAGGLER_FACTOR 1.10
/* The share of the reserved memory that is in use at the moment most is reserved. */
#define RESERVED_IN_USE_SHARE 0.70
/* Fragmentation below a gibibyte fits anywhere. */
#define MIN_WASTED_BYTES (INT64_C(1) << 30)
/* A copy of fewer bytes takes as long as its latency, about 10 us at 25 GB/s. */
#define SMALL_COPY_BYTES (INT64_C(256) << 10)
/* Small copies that are worth batching. */
#define MIN_SMALL_COPIES 50
/* The share of the threads that fit a multiprocessor below which latencies show. */
#define LOW_OCCUPANCY_SHARE 0.25
/* A device's time is divided into this many parts, and one in which it is busy less than this share
 * is low: the values of Nsight's rule gpu_time_util. */
#define USAGE_PARTS     30
#define LOW_USAGE_SHARE 0.50
/* The share of the kernels' time that elementwise, norm, softmax, reduction and copy kernels take
 * before fusing them is worth the work; compiled programs of the same models stay below. */
#define UNFUSED_SHARE 0.20
/* Of more waves of blocks the last one does not matter. */
#define MAX_TAIL_WAVES 8

/* Of device profiles. The first five are published rules. */

/* Loads of a tensor to SBUF in an execution, as a multiple of its size. */
#define MAX_REPEAT_FACTOR 2.0
/* The model's operations, of what the Tensor engine could do while active. */
#define MIN_MODEL_SHARE 0.5
/* Instructions of an engine that come from NKI kernels. */
#define MIN_NKI_SHARE 0.5
/* Transposes, of the Tensor engine's operations. */
#define MAX_TRANSPOSE_SHARE 0.1
/* Spill reloads, of all HBM reads. */
#define MAX_RELOAD_SHARE 0.25
/* A transfer below this moves at less than 90 % of the rate: 2 KiB are published as the minimum. */
#define SMALL_DMA_BYTES 2048
/* Packets of at most this size are signals, not data of a kernel (published filter). */
#define SIGNAL_BYTES 4
/* The share of the time of all packets that small ones take before they matter. */
#define MIN_SMALL_DMA_SHARE 0.1
/* A collective that takes this many times the median of its kind and size is an outlier. */
#define COLLECTIVE_OUTLIER_FACTOR 1.5
/* Medians of fewer collectives are chance. */
#define MIN_COLLECTIVES 4
/* On the timeline, small packets as close as this share of the execution are one area... */
#define AREA_GAP_SHARE 0.01
/* ... and fewer of them are none. */
#define MIN_AREA_PACKETS 8

/* Of runs. These are part of queries: numbers alone, without parentheses or suffixes. */

/* A machine is slow if this share of its devices is, and more than one: then it is not chance. */
#define SLOW_MACHINE_SHARE 0.75
/* An outlier is explained by a straggler that is later in it than usual by this share. */
#define EXPLAINED_SHARE 0.5
/* A line through the blocks of steps is drift if it explains this share of how they differ... */
#define DRIFT_FIT_SHARE 0.7
/* ... if there are as many blocks: a line through two always fits... */
#define MIN_DRIFT_BLOCKS 3
/* ... and if it changes the steps by this share over the run. */
#define MIN_DRIFT_SHARE 0.03
/* The longest program's own time as a multiple of the shortest's: stages are never exactly even. */
#define IMBALANCE_FACTOR 1.1

#endif
