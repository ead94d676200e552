/*
 * Fuzz target: any input as a graph. What compiles is a program that the checker accepts, and whose
 * NEFF can be read again.
 */
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct compiled compiled;
    struct error err;
    struct compile_request request = {
        .bytes = data,
        .size = size,
        .hardware = hardware_core(2 + (uint32_t)(size % 3)),
        .weight_limit = 1 << 20,
        .program_limit = 4000,
        .is_unchecked = true,
    };
    if (!compile_graph(&compiled, &request, &err))
        return 0;
    uint64_t memory = compiled.program.scratchpad_bytes;
    for (uint32_t i = 0; i < compiled.program.variable_count; i++)
        memory += compiled.program.variables[i].size;
    if (memory < 16 << 20) { /* else it takes long */
        if (!compile_check(&compiled.program, &err))
            stop(&err);
        struct neff_source source = {
            .name = compiled.name,
            .programs = &compiled.program,
            .program_count = 1,
            .worker_count = compiled.rank_count,
        };
        uint8_t *bytes;
        size_t length;
        if (!neff_encode(&source, &bytes, &length, &err))
            stop(&err);
        struct neff *neff = neff_parse(bytes, length, "fuzzed", &err);
        if (!neff)
            stop(&err);
        neff_close(neff);
        mem_free(bytes);
    }
    compiled_free(&compiled);
    return 0;
}
