/*
 * Use of the core over time: what is in SBUF and PSUM, and samples of rates and shares. Part of
 * device.h, which includes it.
 */
#ifndef KYMO_ANALYZE_DEVICE_USAGE_H
#define KYMO_ANALYZE_DEVICE_USAGE_H

#include "neuron/program/neff.h"

struct device_profile;
struct device_execution;

/* Memory is looked at in these partitions, as the schema does. */
enum { SAMPLED_PARTITIONS = 4, SAMPLED_STEP = 32 };

/* Bytes of a partition from when they are written until they are read for the last time before
 * something else is written there. */
struct device_allocation {
    int64_t start_ps, end_ps;
    uint32_t begin, end; /* bytes of the partition */
    uint8_t memory;      /* MEMORY_SBUF, MEMORY_PSUM */
    uint8_t partitions;  /* bits: 0, 32, 64, 96; all of them have it alike */
    bool is_transfer;    /* what wrote them */
    uint8_t engine;      /* of an instruction */
    uint32_t index;      /* in the execution's list of transfers, or of the engine's instructions */
};
/* Keeps from one execution to the next what is mostly the same; of one thread. */
struct device_tracker;
struct device_tracker *device_tracker_create(void);
void device_tracker_free(struct device_tracker *tracker);
struct device_allocations {
    const struct device_allocation *items; /* the tracker's, in the order in which they end */
    size_t count;
    bool is_same; /* as the tracker's last ones, but for times and what is at the index */
};
struct device_allocations device_allocations(struct device_tracker *tracker,
                                             const struct device_profile *profile,
                                             const struct device_execution *execution);

/* The memory tracker: when a tensor of the scratchpad is in use, from its first access by DMA or a
 * collective to its last in an execution. */
struct device_scratchpad_use {
    uint32_t variable;
    uint64_t offset, bytes; /* in the scratchpad */
    uint64_t read, written; /* by DMA */
    uint64_t accesses;      /* packets and collectives */
    uint32_t origin;        /* of what triggered the first one; NO_INDEX: not known */
    int64_t start_ps, end_ps;
};
typedef ARRAY(struct device_scratchpad_use) device_scratchpad_uses;
/* In order of start. */
void device_scratchpad(const struct device_profile *profile,
                       const struct device_execution *execution, device_scratchpad_uses *uses);
/* What is in use, each time that changes. */
struct device_scratchpad_step {
    int64_t time_ps;
    uint64_t bytes;
    uint32_t tensors;
};
typedef ARRAY(struct device_scratchpad_step) device_scratchpad_steps;
void device_scratchpad_over_time(const device_scratchpad_uses *uses,
                                 device_scratchpad_steps *steps);
/* What the memory tracker cannot show, and why; NULL: it shows all. */
const char *device_scratchpad_warning(const struct device_profile *profile);

enum device_series_kind {
    SERIES_PENDING_DMA, /* transfers that were triggered and have not ended; each change */
    SERIES_DMA_RATE,    /* bytes/s; this and all that follow in windows of equal length */
    SERIES_HBM_RATE,
    SERIES_SBUF,   /* percent, of the sampled partitions */
    SERIES_SBUF_0, /* of one each */
    SERIES_SBUF_96 = SERIES_SBUF_0 + SAMPLED_PARTITIONS - 1,
    SERIES_PSUM,        /* percent */
    SERIES_PSUM_BANK_0, /* of one each */
    SERIES_PSUM_BANK_7 = SERIES_PSUM_BANK_0 + PSUM_BANKS - 1,
    SERIES_SCRATCHPAD, /* bytes, each change; only of cores whose memory is tracked */
    SERIES_MATRIX,     /* percent of the time in which the Tensor engine's array works */
    SERIES_MFU,        /* percent of the peak: without transposes; with them */
    SERIES_HFU,
    DEVICE_SERIES
};

struct device_point {
    int64_t time_ps; /* from here to the next point */
    double value;
};
typedef ARRAY(struct device_point) device_points;
struct device_usage {
    int64_t window_ps;
    device_points series[DEVICE_SERIES];
};
/* Adds the points of an execution; the last of each series is at its end, with the value 0. */
void device_usage_add(struct device_usage *usage, struct device_tracker *tracker,
                      const struct device_profile *profile,
                      const struct device_execution *execution);
void device_usage_free(struct device_usage *usage);
/* "Pending DMA", for people. */
const char *device_series_name(enum device_series_kind kind);

#endif
