/*
 * Checking programs: declarations shared by the files of the check.
 */
#ifndef KYMO_NEURON_PROGRAM_CHECK_H
#define KYMO_NEURON_PROGRAM_CHECK_H

#include "neuron/program/binary.h"

struct check {
    const struct core_program *program;
    const struct core_hardware *hardware;
    struct error *err;
    /* What is being checked, for messages: "DMA block" 3; an instruction: its engine, and its
     * opcode. */
    const char *what;
    uint32_t number;
    const char *opcode; /* NULL: not an instruction */
};

/* Fills the error and returns false. */
bool check_failed(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes that one access pattern touches, relative to the start of its memory. */
struct program_extent {
    __int128 first, end;
};

/* Whether the operand is inside its memory; `name` is for messages. */
bool check_operand(struct check *check, const struct operand *operand, const char *name);
/* Elements in each partition; meaningful for an operand that was checked. */
uint64_t operand_elements(const struct operand *operand);

bool check_semaphore(struct check *check, uint32_t semaphore);
bool check_variables(struct check *check);
bool check_collectives(struct check *check);
bool check_transfers(struct check *check);
bool check_code(struct check *check, enum engine engine);

#endif
