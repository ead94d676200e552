/*
 * How a proof fails: the sentence names the instruction.
 */
#include "neuron/compiler/check.h"

#include <stdarg.h>
#include <stdio.h>

bool proof_failed(struct proof *proof, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct core_program *program = proof->program;
    uint32_t at = proof->at[proof->engine];
    if (at >= program->code_count[proof->engine])
        return error_set(proof->err, "the compiled program is wrong: %s", text);
    const struct instruction *item = &program->code[proof->engine][at];
    const char *operation =
        item->origin < program->origin_count ? program->origins[item->origin].operation : "";
    return error_set(
        proof->err, "the compiled program is wrong: %s instruction %u (%s of \"%s\") %s",
        hardware_engine_name(proof->engine), at, opcode_name(item->opcode), operation, text);
}
