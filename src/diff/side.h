/*
 * Inside diff: what is read of one profile.
 */
#ifndef KYMO_DIFF_SIDE_H
#define KYMO_DIFF_SIDE_H

#include "diff/diff.h"

/* Parts of a step, which add up to its duration; in the order of StepBreakdown's columns. */
enum { BREAKDOWN_PARTS = 12 };
extern const char *const step_part_names[BREAKDOWN_PARTS];

/* Their sum. */
#define STEP_TIME "step time"

struct side_step {
    int64_t id, number, start_ns;
    double duration_ns; /* mean over devices */
    double devices;     /* that have it */
    bool has_parts;
    bool is_left_out; /* of warming up, see warmup.c */
};

/* What a row has in a step, per device. */
struct step_value {
    uint32_t step; /* index in side.steps */
    double count, amount;
};

struct side_row {
    enum diff_kind kind;
    struct text name, layer, shape;
    bool is_communication; /* a kernel of NCCL or RCCL */
    bool is_whole;         /* of the whole capture, for profiles without steps */
    double count, amount;  /* of the whole capture; ns, or bytes of memory */
    double inclusive;      /* ns with what is nested in it; NAN if that is the amount */
    ARRAY(struct step_value) values;
};

struct diff_side {
    char *name, *device_name;
    size_t device_count;
    ARRAY(struct side_step) steps; /* by start */
    size_t kept;                   /* steps that are not left out */
    ARRAY(struct side_row) rows;
    struct intern keys; /* row i has id i + 1 */
    struct arena texts;
};

/* What rows of a kind are told apart by. */
void put_row_key(struct output *key, enum diff_kind kind, struct text name, struct text layer,
                 struct text shape);
/* Sorts the values. */
double median(double *values, size_t count);
/* Marks the steps to leave out. */
void leave_out_warmup(struct diff_side *side);

#endif
