/*
 * The data of --check: what ranks send and what they must receive, computed here and not by the
 * code under test.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_DATA_H
#define KYMO_NEURON_RUN_NCCOM_DATA_H

#include "neuron/run/nccom/plan.h"

/* One buffer of one part. */
struct data_buffer {
    const struct plan_part *part;
    enum nccom_check check;
    uint64_t seed;
    uint64_t number; /* tells buffers apart: they have data of their own */
    uint32_t workers;
};

struct data_difference {
    uint64_t count;   /* elements that are wrong */
    uint64_t element; /* the first of them */
    double got, expected;
};

/* The input of a rank: part->input_bytes. */
void data_fill(const struct data_buffer *buffer, uint32_t rank, uint8_t *input);
/* Whether an output is correct: exactly or, for sums of floats, within rounding. */
bool data_check(const struct data_buffer *buffer, uint32_t rank, const uint8_t *output,
                struct data_difference *difference);
/* The expected output, rounded to the data type: part->output_bytes. */
void data_golden(const struct data_buffer *buffer, uint32_t rank, uint8_t *golden);

#endif
