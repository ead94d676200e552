/*
 * Fuzz target: device profiles as files. Checksums are corrected first.
 */
#include "fuzzed_ntff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t seen;

static void read_blocks(const struct ntff *ntff)
{
    static struct notification items[NTFF_BLOCK_MAX];
    size_t count, executions;
    const struct ntff_block *blocks = ntff_blocks(ntff, &count);
    const struct ntff_execution *list = ntff_executions(ntff, &executions);
    struct error err;
    for (size_t i = 0; i < count; i++)
        if (blocks[i].count <= NTFF_BLOCK_MAX && ntff_read_block(ntff, i, items, &err))
            seen += items[blocks[i].count - 1].time;
    for (size_t i = 0; i < executions; i++)
        seen += list[i].end_ns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err;
    fuzzed_file(data, size);
    struct ntff *ntff = ntff_open("fuzzed", &err);
    if (ntff)
        read_blocks(ntff);
    ntff_close(ntff);
    free((void *)fuzzed.data);
    return 0;
}
