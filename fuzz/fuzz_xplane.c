/*
 * Fuzz target: any input as an XPlane file, through everything `kymo view` and `kymo info` do with
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
    if (!import_xplane_bytes("fuzzed", data, size, pool, &source, &err))
        return 0;
    if (source_read(source, &sink_discard, pool, &err)) /* events are only parsed here */
        run_pipeline(source, pool);
    else
        source_close(source);
    return 0;
}
