/*
 * Reads the notifications of one unit in an execution, block by block.
 */
#include "analyze/device/execution.h"

enum { BLOCK_MAX = 4096 }; /* notifications of a block, by the format */

/* False: the block is damaged. */
static bool read_block(const struct device_profile *profile, struct unit *unit, uint32_t number,
                       struct notification *items)
{
    size_t count;
    const struct ntff_block *block = &ntff_blocks(profile->ntff, &count)[number];
    struct error damage;
    if (block->gap != unit->gap)
        unit->is_after_gap = true;
    unit->gap = block->gap;
    if (ntff_read_block(profile->ntff, number, items, &damage))
        return true;
    const struct ntff_loss loss = ntff_block_loss(block);
    ntff_loss_add(&unit->loss, &loss);
    unit->is_after_gap = true;
    return false;
}

/* One buffer serves all blocks. Damaged blocks are skipped and counted as loss, times out of
 * range as unpaired. */
void unit_read(const struct reader *reader, struct unit *unit, unit_take *take, void *context)
{
    const struct device_profile *profile = reader->profile;
    uint32_t rate = ntff_header(profile->ntff)->ticks_per_us;
    size_t block_count;
    const struct ntff_block *blocks = ntff_blocks(profile->ntff, &block_count);
    struct notification *items = mem_alloc(BLOCK_MAX * sizeof *items);
    for (uint32_t i = 0; i < unit->count; i++) {
        uint32_t block = profile->blocks[unit->first + i];
        if (!read_block(profile, unit, block, items))
            continue;
        for (uint32_t k = 0; k < blocks[block].count; k++) {
            int64_t ps;
            if (!device_ticks_to_ps(items[k].time, rate, &ps)) {
                unit->unpaired++;
                continue;
            }
            ps += reader->span->start_ps;
            if (unit->first_ps == NO_TIME || ps < unit->first_ps)
                unit->first_ps = ps;
            if (ps > unit->last_ps)
                unit->last_ps = ps;
            take(context, &items[k], ps);
        }
        mem_touched((size_t)blocks[block].count * sizeof(struct device_instruction));
    }
    mem_free(items);
}
