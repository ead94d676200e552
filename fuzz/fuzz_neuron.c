/*
 * Fuzz target: any input as a system trace of Neuron's runtime, and as Explorer's JSON, through
 * everything `kymo view` and `kymo info` do with them; and as what the interposer fetches.
 */
#include "pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fuzz_fetched(const uint8_t *data, size_t size); /* fetched.c */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_fetched(data, size);
    static struct pool *pool;
    if (!pool)
        pool = pool_create(1);
    struct error err;
    struct source *source;
    if (import_system_trace_bytes("fuzzed", data, size, &source, &err))
        run_pipeline(source, pool);
    if (import_explorer_bytes("fuzzed", data, size, &source, &err))
        run_pipeline(source, pool);
    return 0;
}
