/*
 * Checks of single operands and semaphores, and how a check fails: what all others are made of.
 */
#include "neuron/program/check.h"

#include <stdarg.h>
#include <stdio.h>

bool check_failed(struct check *check, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (check->opcode)
        return error_set(check->err, "%s instruction %u (%s): %s", check->what, check->number,
                         check->opcode, text);
    return error_set(check->err, "%s %u: %s", check->what, check->number, text);
}

uint64_t operand_elements(const struct operand *operand)
{
    return (uint64_t)operand->size[0] * operand->size[1] * operand->size[2] * operand->size[3];
}

/* The product of sizes; false when one is 0 or the product needs more than 32 bits. */
static bool is_countable(const uint32_t *sizes, size_t count)
{
    uint64_t product = 1;
    for (size_t i = 0; i < count; i++) {
        product *= sizes[i];
        if (product == 0 || product > UINT32_MAX)
            return false;
    }
    return true;
}

/* Steps may be negative, so the lowest and the highest byte are found separately, in arithmetic
 * wide enough for any values a file may contain. */
bool check_operand(struct check *check, const struct operand *operand, const char *name)
{
    if (operand->memory != MEMORY_SBUF && operand->memory != MEMORY_PSUM)
        return check_failed(check, "%s is neither in SBUF nor in PSUM", name);
    if (operand->dtype == DTYPE_NONE || operand->dtype >= DTYPE_COUNT)
        return check_failed(check, "%s has an unknown data type, %u", name, operand->dtype);
    if (operand->partitions == 0 || operand->partition + operand->partitions > PARTITIONS)
        return check_failed(check, "%s has partitions %u to %u of %d", name, operand->partition,
                            operand->partition + operand->partitions, PARTITIONS);
    if (!is_countable(operand->size, 4))
        return check_failed(check, "%s has no elements, or too many", name);
    int64_t bytes = dtype_bytes((enum dtype)operand->dtype);
    if (operand->offset % bytes != 0)
        return check_failed(check, "%s is not aligned to its data type", name);
    /* Sizes and steps have 32 bits: four products and the data type's size fit in 128. */
    __int128 first = operand->offset, last = operand->offset;
    for (unsigned i = 0; i < 4; i++) {
        __int128 reach = (__int128)operand->step[i] * (operand->size[i] - 1) * bytes;
        if (reach < 0)
            first += reach;
        else
            last += reach;
    }
    uint32_t limit = operand->memory == MEMORY_PSUM ? PSUM_BYTES : check->hardware->sbuf_bytes;
    if (first < 0 || last + bytes > limit)
        return check_failed(check, "%s is beyond the %u bytes of a partition", name, limit);
    return true;
}

bool check_semaphore(struct check *check, uint32_t semaphore)
{
    if (semaphore < SEMAPHORES || semaphore == NO_SEMAPHORE)
        return true;
    return check_failed(check, "semaphore %u does not exist", semaphore);
}
