/*
 * Fuzz target: any bytes as a recording's events, through everything `kymo view` and `kymo info` do
 * with one.
 */
#include "whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pool *pool;
    if (!pool)
        pool = pool_create(1);
    struct error err;
    struct source *source;
    if (import_recording_bytes("fuzzed", data, size, &source, &err))
        try_whole(source, pool);
    return 0;
}
