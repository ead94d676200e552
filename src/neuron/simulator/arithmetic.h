/*
 * Buffers for arithmetic, and reading and writing of elements through a walk.
 */
#ifndef KYMO_NEURON_SIMULATOR_ARITHMETIC_H
#define KYMO_NEURON_SIMULATOR_ARITHMETIC_H

#include "neuron/simulator/matmul.h"
#include "neuron/simulator/walk.h"

enum { CHUNK_ELEMENTS = 1024 };

struct arithmetic {
    float floats[3][CHUNK_ELEMENTS];
    int64_t integers[3][CHUNK_ELEMENTS];
    float weights[PARTITIONS * STATIONARY_MAX]; /* in panels */
    float moving[PARTITIONS * MOVING_MAX];      /* in panels */
    float product[STATIONARY_MAX * MOVING_MAX];
    matmul_kernel *kernel;
};

struct arithmetic *arithmetic_new(void);
void arithmetic_free(struct arithmetic *arithmetic);

void read_floats(struct walk *walk, size_t count, float *out);
void write_floats(struct walk *walk, size_t count, const float *in);
void read_integers(struct walk *walk, size_t count, int64_t *out);
void write_integers(struct walk *walk, size_t count, const int64_t *in, bool is_unsigned);
/* Elements without conversion, at a distance of `step` bytes in `out` and `in`. */
void read_elements(struct walk *walk, size_t count, uint8_t *out, int64_t step);
void write_elements(struct walk *walk, size_t count, const uint8_t *in, int64_t step);

/* All elements of a row or an end. */
static inline uint64_t walk_elements(const struct walk *walk)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < walk->dimensions; i++)
        count *= walk->size[i];
    return count;
}

#endif
