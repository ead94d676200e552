/*
 * Fuzz target: any input as a graph. What compiles is a program that the checker accepts, and whose
 * NEFF can be read again.
 */
#include "neuron/compiler/compile.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    abort();
}

static bool is_small(const struct compiled *compiled)
{
    uint64_t memory = 0;
    for (uint32_t k = 0; k < compiled->program_count; k++) {
        memory += compiled->programs[k].scratchpad_bytes;
        for (uint32_t i = 0; i < compiled->programs[k].variable_count; i++)
            memory += compiled->programs[k].variables[i].size;
    }
    return memory < 16 << 20; /* else it takes long */
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
        .logical_cores = 1 + (uint32_t)(size / 3 % 2),
    };
    if (!compile_graph(&compiled, &request, &err))
        return 0;
    if (is_small(&compiled)) {
        for (uint32_t i = 0; i < compiled.program_count; i++)
            if (!compile_check_part(&compiled.programs[i], compiled.parts[i], &err))
                stop(&err);
        struct neff_source source = {
            .name = compiled.name,
            .programs = compiled.programs,
            .program_count = compiled.program_count,
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
