/*
 * Buffers for arithmetic; elements through a walk.
 */
#include "neuron/simulator/arithmetic.h"

#include "neuron/simulator/convert.h"

#include "base/base.h"

struct arithmetic *arithmetic_new(void)
{
    struct arithmetic *arithmetic = mem_zeroed(1, sizeof *arithmetic);
    arithmetic->kernel = matmul_fastest();
    return arithmetic;
}

void arithmetic_free(struct arithmetic *arithmetic)
{
    mem_free(arithmetic);
}

static size_t piece(const struct walk *walk, size_t wanted)
{
    uint64_t left = walk_left(walk);
    return left < wanted ? (size_t)left : wanted;
}

void read_floats(struct walk *walk, size_t count, float *out)
{
    int64_t step = walk_step(walk);
    for (size_t done = 0, some; done < count; done += some) {
        some = piece(walk, count - done);
        load_floats(walk->dtype, walk_next(walk, some), step, some, out + done);
    }
}

void write_floats(struct walk *walk, size_t count, const float *in)
{
    int64_t step = walk_step(walk);
    for (size_t done = 0, some; done < count; done += some) {
        some = piece(walk, count - done);
        store_floats(walk->dtype, in + done, some, walk_next(walk, some), step);
    }
}

void read_integers(struct walk *walk, size_t count, int64_t *out)
{
    int64_t step = walk_step(walk);
    for (size_t done = 0, some; done < count; done += some) {
        some = piece(walk, count - done);
        load_integers(walk->dtype, walk_next(walk, some), step, some, out + done);
    }
}

void write_integers(struct walk *walk, size_t count, const int64_t *in, bool is_unsigned)
{
    int64_t step = walk_step(walk);
    for (size_t done = 0, some; done < count; done += some) {
        some = piece(walk, count - done);
        store_integers(walk->dtype, in + done, some, walk_next(walk, some), step, is_unsigned);
    }
}

void read_elements(struct walk *walk, size_t count, uint8_t *out, int64_t step)
{
    int64_t from_step = walk_step(walk);
    for (size_t done = 0, some; done < count; done += some) {
        some = piece(walk, count - done);
        copy_elements(walk->bytes, walk_next(walk, some), from_step, out + (int64_t)done * step,
                      step, some);
    }
}

void write_elements(struct walk *walk, size_t count, const uint8_t *in, int64_t step)
{
    int64_t to_step = walk_step(walk);
    for (size_t done = 0, some; done < count; done += some) {
        some = piece(walk, count - done);
        copy_elements(walk->bytes, in + (int64_t)done * step, step, walk_next(walk, some), to_step,
                      some);
    }
}
