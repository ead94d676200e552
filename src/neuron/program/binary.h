/*
 * The encoding of programs (schema/neff.md): definitions shared by its writer and its reader.
 * Numbers are varints as in protobuf; signed ones and differences are zigzag-coded. An instruction
 * is written as its difference from the previous one with the same opcode.
 */
#ifndef KYMO_NEURON_PROGRAM_BINARY_H
#define KYMO_NEURON_PROGRAM_BINARY_H

#include "base/wire/wire.h"
#include "neuron/program/neff.h"

#define PROGRAM_MAGIC "KYMOPROG"
enum { PROGRAM_MAGIC_SIZE = 8, PROGRAM_VERSION = 1, PROGRAM_HEADER_SIZE = 16 };

/* Bits of the mask before an instruction's fields, in the order they are written. */
enum instruction_field {
    FIELD_ALU = 1 << 0, /* alu, alu2, flags: one byte each */
    FIELD_WAIT_SEMAPHORE = 1 << 1,
    FIELD_WAIT_VALUE = 1 << 2,
    FIELD_DST = 1 << 3,
    FIELD_SRC = 1 << 4, /* the first of three */
    FIELD_ORIGIN = 1 << 7,
    FIELD_UPDATE_SEMAPHORE = 1 << 8,
    FIELD_UPDATE_VALUE = 1 << 9,
    FIELD_INDEX = 1 << 10,
    FIELD_UPDATE_KIND = 1 << 11, /* update_kind, update_time: one byte each */
    FIELD_COUNT = 1 << 12,
    FIELD_TARGET = 1 << 13,
    FIELD_IMMEDIATE = 1 << 14, /* the first of two, eight bytes each */
    FIELD_ALL = (1 << 16) - 1,
};

enum operand_field {
    OPERAND_OFFSET = 1 << 0,
    OPERAND_PLACE = 1 << 1,     /* memory, dtype, partition, partitions: one byte each */
    OPERAND_DIMENSION = 1 << 2, /* the outermost of four: step, size */
    OPERAND_ALL = (1 << 6) - 1,
};

enum descriptor_field {
    DESCRIPTOR_FROM = 1 << 0,
    DESCRIPTOR_TO = 1 << 1,
    DESCRIPTOR_KIND = 1 << 2, /* operation, indirect: one byte each */
    DESCRIPTOR_INDICES = 1 << 3,
    DESCRIPTOR_LIMIT = 1 << 4,
    DESCRIPTOR_ALL = (1 << 5) - 1,
};

enum end_field {
    END_OFFSET = 1 << 0,
    END_PLACE = 1 << 1,     /* memory, dtype, partition, offset_register: one byte each */
    END_DIMENSION = 1 << 2, /* the outermost of five: step, size */
    END_VARIABLE = 1 << 7,
    END_REGISTER_STEP = 1 << 8,
    END_ALL = (1 << 9) - 1,
};

/* The instruction assumed before the first of an opcode. */
static inline struct instruction instruction_blank(uint8_t opcode)
{
    return (struct instruction){
        .opcode = opcode, .wait_semaphore = NO_SEMAPHORE, .update_semaphore = NO_SEMAPHORE};
}

/* Appends the program; worker_count is the NEFF's. */
void program_encode(const struct core_program *program, uint32_t worker_count, struct output *out);
/* Everything the program points to is allocated in the arena, except for the weights' data, which
 * stays NULL: *weight_crcs has the checksum of each variable's data. */
bool program_decode(struct core_program *program, uint32_t *worker_count, uint32_t **weight_crcs,
                    const uint8_t *bytes, size_t size, struct arena *arena, struct error *err);
/* Checks sizes of collectives over all ranks, and the ranks in groups: needs the NEFF's number of
 * ranks. */
bool program_check_ranks(const struct core_program *program, uint32_t worker_count,
                         struct error *err);

static inline uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
