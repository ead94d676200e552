/*
 * The payload of a block: columns in runs of up to 64 numbers; each run has its smallest number,
 * then the difference of each number to it, in as many bits as the largest difference needs.
 *
 * Columns: phases; times, as differences; then, phase by phase, ids as differences, values and
 * details of the notifications of that phase. Phases are separate because starts and ends each
 * follow a pattern: ids of starts that count up take no bits at all.
 */
#include "base/wire/wire.h"
#include "neuron/profile_file/format.h"

enum { RUN = 64 };

static uint8_t *put_varint(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

/* Numbers are taken as signed: differences may be negative. */
static uint8_t *put_run(uint8_t *out, uint64_t *values, size_t count)
{
    int64_t least = (int64_t)values[0];
    for (size_t i = 1; i < count; i++)
        least = (int64_t)values[i] < least ? (int64_t)values[i] : least;
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] -= (uint64_t)least;
        all |= values[i];
    }
    unsigned width = bits_needed(all);
    out = put_varint(out, (uint64_t)least << 1 ^ (uint64_t)(least >> 63));
    *out++ = (uint8_t)width;
    if (width == 0)
        return out;
    bits_pack(out, values, count, width);
    return out + bits_bytes(count, width);
}

struct cursor {
    const uint8_t *at, *end; /* end: before the slack */
};

/* Every width and size comes from the file and is checked before it is used. Numbers up to 56 bits
 * wide need one unaligned load each; the slack after the payload makes it safe at the end. */
static bool get_run(struct cursor *in, uint64_t *values, size_t count)
{
    uint64_t least = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (in->at == in->end || shift > 63)
            return false;
        uint8_t byte = *in->at++;
        least |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            break;
    }
    least = least >> 1 ^ -(least & 1);
    if (in->at == in->end)
        return false;
    unsigned width = *in->at++;
    size_t bytes = bits_bytes(count, width);
    if (width > 64 || bytes > (size_t)(in->end - in->at))
        return false;
    if (width <= 56) { /* a number lies within eight bytes, beginning with that of its first bit */
        const uint64_t mask = bits_mask(width);
        for (size_t i = 0, bit = 0; i < count; i++, bit += width) {
            uint64_t word;
            memcpy(&word, in->at + bit / 8, 8);
            values[i] = least + (word >> (bit & 7) & mask);
        }
    } else {
        for (size_t i = 0; i < count; i++)
            values[i] = least + bits_at(in->at, i, width);
    }
    in->at += bytes;
    return true;
}

/* Rows in the order of their phases; returns the number of each. */
static void sort_by_phase(const struct notification *items, uint32_t count, uint16_t *rows,
                          uint32_t counts[NTFF_PHASES])
{
    uint32_t at[NTFF_PHASES + 1] = {0};
    memset(counts, 0, NTFF_PHASES * sizeof *counts);
    for (uint32_t i = 0; i < count; i++)
        counts[items[i].phase]++;
    for (unsigned i = 0; i < NTFF_PHASES; i++)
        at[i + 1] = at[i] + counts[i];
    for (uint32_t i = 0; i < count; i++)
        rows[at[items[i].phase]++] = (uint16_t)i;
}

static uint8_t *put_times(uint8_t *out, const struct notification *items, uint32_t count)
{
    uint64_t run[RUN], before = 0;
    for (uint32_t first = 0; first < count; first += RUN) {
        uint32_t size = count - first < RUN ? count - first : RUN;
        for (uint32_t i = 0; i < size; i++) {
            run[i] = items[first + i].time - before;
            before = items[first + i].time;
        }
        out = put_run(out, run, size);
    }
    return out;
}

static uint8_t *put_phases(uint8_t *out, const struct notification *items, uint32_t count)
{
    uint64_t run[RUN];
    for (uint32_t first = 0; first < count; first += RUN) {
        uint32_t size = count - first < RUN ? count - first : RUN;
        for (uint32_t i = 0; i < size; i++)
            run[i] = items[first + i].phase;
        out = put_run(out, run, size);
    }
    return out;
}

/* Ids, values and details of the rows of one phase. */
static uint8_t *put_rows(uint8_t *out, const struct notification *items, const uint16_t *rows,
                         uint32_t count)
{
    uint64_t ids[RUN], values[RUN], details[RUN], before = 0;
    for (uint32_t first = 0; first < count; first += RUN) {
        uint32_t size = count - first < RUN ? count - first : RUN;
        for (uint32_t i = 0; i < size; i++) {
            const struct notification *item = &items[rows[first + i]];
            ids[i] = item->id - before;
            before = item->id;
            values[i] = item->value;
            details[i] = item->detail;
        }
        out = put_run(out, ids, size);
        out = put_run(out, values, size);
        out = put_run(out, details, size);
    }
    return out;
}

size_t columns_encode(const struct notification *items, uint32_t count, uint8_t *out)
{
    uint16_t rows[NTFF_BLOCK_MAX] = {0};
    uint32_t counts[NTFF_PHASES], first = 0;
    uint8_t *at = put_phases(out, items, count);
    at = put_times(at, items, count);
    sort_by_phase(items, count, rows, counts);
    for (unsigned i = 0; i < NTFF_PHASES; i++) {
        at = put_rows(at, items, rows + first, counts[i]);
        first += counts[i];
    }
    memset(at, 0, BITS_SLACK);
    return (size_t)(at - out) + BITS_SLACK;
}

static bool get_phases(struct cursor *in, struct notification *items, uint32_t count)
{
    uint64_t run[RUN];
    for (uint32_t first = 0; first < count; first += RUN) {
        uint32_t size = count - first < RUN ? count - first : RUN;
        if (!get_run(in, run, size))
            return false;
        for (uint32_t i = 0; i < size; i++) {
            if (run[i] >= NTFF_PHASES)
                return false;
            items[first + i].phase = (uint8_t)run[i];
        }
    }
    return true;
}

static bool get_times(struct cursor *in, struct notification *items, uint32_t count)
{
    uint64_t run[RUN], time = 0;
    for (uint32_t first = 0; first < count; first += RUN) {
        uint32_t size = count - first < RUN ? count - first : RUN;
        if (!get_run(in, run, size))
            return false;
        for (uint32_t i = 0; i < size; i++)
            items[first + i].time = time += run[i];
    }
    return true;
}

static bool get_rows(struct cursor *in, struct notification *items, const uint16_t *rows,
                     uint32_t count)
{
    uint64_t ids[RUN], values[RUN], details[RUN];
    uint32_t id = 0;
    for (uint32_t first = 0; first < count; first += RUN) {
        uint32_t size = count - first < RUN ? count - first : RUN;
        if (!get_run(in, ids, size) || !get_run(in, values, size) || !get_run(in, details, size))
            return false;
        for (uint32_t i = 0; i < size; i++) {
            struct notification *item = &items[rows[first + i]];
            item->id = id += (uint32_t)ids[i];
            item->value = (uint32_t)values[i];
            item->detail = (uint32_t)details[i];
        }
    }
    return true;
}

bool columns_decode(const uint8_t *bytes, size_t size, struct notification *items, uint32_t count)
{
    uint16_t rows[NTFF_BLOCK_MAX] = {0};
    uint32_t counts[NTFF_PHASES], first = 0;
    if (size < BITS_SLACK || count > NTFF_BLOCK_MAX)
        return false;
    struct cursor in = {bytes, bytes + size - BITS_SLACK};
    if (!get_phases(&in, items, count) || !get_times(&in, items, count))
        return false;
    sort_by_phase(items, count, rows, counts);
    for (unsigned i = 0; i < NTFF_PHASES; i++) {
        if (!get_rows(&in, items, rows + first, counts[i]))
            return false;
        first += counts[i];
    }
    return in.at == in.end;
}
