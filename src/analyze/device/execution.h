/*
 * How the notifications of an execution become its lists. Each unit (an engine, a DMA engine, a
 * CC-core) is read on its own, its blocks in order; then what concerns several of them is joined.
 */
#ifndef KYMO_ANALYZE_DEVICE_EXECUTION_H
#define KYMO_ANALYZE_DEVICE_EXECUTION_H

#include "analyze/device/device.h"

/* Notifications of one type and unit. */
struct unit {
    uint8_t type, number;
    uint32_t first, count; /* blocks: of device_profile.blocks */
    uint64_t notifications;
    uint64_t unpaired;
    ARRAY(struct device_instruction) instructions;
    ARRAY(struct device_transfer) transfers; /* `run` is the block's number until runs are known */
    ARRAY(struct device_collective) collectives;
    ARRAY(struct device_cc_step) cc_steps;
    ARRAY(struct device_update) updates;
    ARRAY(struct device_error) errors;
    ARRAY(struct device_throttle) throttles; /* starts alone */
    int64_t first_ps, last_ps;               /* of all notifications that make sense */
    int64_t explicit_start, explicit_stop;   /* NO_TIME: none */
    struct ntff_loss loss;
    uint32_t gap;      /* of the last block; see ntff_block */
    bool is_after_gap; /* notifications before the next one are missing */
};
#define NO_TIME INT64_MIN

struct reader {
    const struct device_profile *profile;
    const struct device_span *span;
    struct device_execution *execution;
    struct unit *units;
    size_t unit_count;
};

/* A notification that makes sense as far as its time does. */
typedef void unit_take(void *context, const struct notification *item, int64_t ps);
/* Calls take for each notification of the unit, in order. Damaged blocks are left out. */
void unit_read(const struct reader *reader, struct unit *unit, unit_take *take, void *context);

/* Whether what is kept and looked at for each execution is in proportion to the notifications. */
bool device_check_size(const struct device_profile *profile, struct error *err);
bool device_ticks_to_ps(uint64_t ticks, uint32_t ticks_per_us, int64_t *ps);
void device_find_facts(struct device_profile *profile);
void device_find_accesses(struct device_profile *profile);
/* Whether a transfer reads or writes the scratchpad there. */
bool device_is_scratchpad(const struct core_program *program, const struct dma_end *end);

/* Of an engine: pairs starts and ends. */
void unit_read_instructions(const struct reader *reader, struct unit *unit);
void unit_read_transfers(const struct reader *reader, struct unit *unit);
void unit_read_collectives(const struct reader *reader, struct unit *unit);
/* After the instructions are in the execution. */
void unit_read_updates(const struct reader *reader, struct unit *unit);

/* Puts transfers into runs of their blocks, and says which instructions triggered them. */
void join_blocks(const struct device_profile *profile, struct device_execution *execution);
/* The same of collectives. */
void join_collectives(const struct device_profile *profile, struct device_execution *execution);
/* Says which blocks and collectives made those updates that no instruction made. */
void join_updates(const struct device_profile *profile, struct device_execution *execution);

#endif
