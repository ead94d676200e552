/*
 * Fuzz target: any input as a Chrome trace, through everything `kymo view` and `kymo info` do with
 * one.
 */
#include "pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pool *pool;
    if (!pool)
        pool = pool_create(1);
    struct error err;
    struct source *source;
    if (import_chrome_bytes("fuzzed", data, size, pool, &source, &err))
        run_pipeline(source, pool);
    return 0;
}
