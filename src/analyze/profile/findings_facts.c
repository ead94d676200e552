/*
 * Findings on what args tell: kernels that leave a part of the device unused, copies that are
 * slower than they need be, memory that an allocator reserves and does not use.
 */
#include "analyze/profile/facts.h"
#include "analyze/profile/findings.h"

/* The type with the greatest value of a member of struct work_facts, and the sum over all types. */
#define SUM_OF(rules, member, top, sum)                                                            \
    do {                                                                                           \
        (top) = 0;                                                                                 \
        (sum) = 0;                                                                                 \
        for (uint32_t i = 0; i < (rules)->facts->types; i++) {                                     \
            const struct work_facts *one = &(rules)->facts->work[i];                               \
            (sum) += (double)one->member;                                                          \
            if (one->member > (rules)->facts->work[top].member)                                    \
                (top) = i;                                                                         \
        }                                                                                          \
    } while (0)

static void put_longest(struct rules *rules, struct finding *finding,
                        const struct long_event *longest)
{
    struct analysis *analysis = rules->analysis;
    char time[QUANTITY_SIZE];
    if (longest->ps > 0)
        finding_event(analysis, finding,
                      finding_text(analysis, "longest, %s", format_ps((double)longest->ps, time)),
                      longest->ref);
}

static const char *kernels_sql(struct rules *rules, uint32_t type)
{
    struct analysis *analysis = rules->analysis;
    return finding_text(
        analysis,
        "SELECT id, name, start_ts, duration_ns, grid_x * grid_y * grid_z AS blocks, block_x * "
        "block_y * block_z AS threads, occupancy_percent FROM GpuKernel WHERE name = %s ORDER BY "
        "duration_ns DESC LIMIT 100",
        finding_literal(analysis, analysis->catalog->types.items[type].name));
}

/* A part of the kernel time, as a part of the time that shares are of. */
static double share_of_kernels(const struct rules *rules, double part_ps, double kernel_ps)
{
    return kernel_ps > 0 ? part_ps / kernel_ps * share_of_window(rules, rules->work_ps) : 0;
}

/* The time of all kernels whose size is known. */
static double sum_kernels(const struct rules *rules)
{
    double sum = 0;
    for (uint32_t i = 0; i < rules->facts->types; i++)
        sum += (double)rules->facts->work[i].kernel_ps;
    return sum;
}

static struct finding *add(struct rules *rules, enum finding_rule rule, double share)
{
    double window = (double)per_device(rules, rules->window_ps);
    return finding_add(rules->analysis, rule, (int64_t)(share * window), share, rules->share_of);
}

void find_few_blocks(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    uint32_t top;
    double lost, kernel_ps = sum_kernels(rules);
    SUM_OF(rules, few_ps, top, lost);
    double share = share_of_kernels(rules, lost, kernel_ps);
    if (share < MIN_SHARE)
        return;
    struct finding *finding = add(rules, RULE_FEW_BLOCKS, share);
    finding->text = finding_text(
        analysis,
        "Kernels with fewer blocks than the device has multiprocessors leave %.0f %% of the kernel "
        "time unused; most of it %s, with %.2f blocks for each.",
        100 * lost / kernel_ps, finding_type(analysis, top), rules->facts->work[top].blocks);
    finding->advice =
        "Give a kernel more to do: a larger batch, fused operations, another split (split-K, "
        "smaller tiles); or run independent kernels beside each other on several streams.";
    finding->sql = kernels_sql(rules, top);
    put_longest(rules, finding, &rules->facts->work[top].few);
}

void find_tails(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    uint32_t top;
    double lost, kernel_ps = sum_kernels(rules);
    SUM_OF(rules, tail_ps, top, lost);
    double share = share_of_kernels(rules, lost, kernel_ps);
    if (share < MIN_SHARE)
        return;
    struct finding *finding = add(rules, RULE_TAIL, share);
    finding->text = finding_text(analysis,
                                 "Blocks run in waves, and the last wave is not full: %.0f %% of "
                                 "the kernel time is lost, most "
                                 "in %s, with %.2f blocks for each multiprocessor.",
                                 100 * lost / kernel_ps, finding_type(analysis, top),
                                 rules->facts->work[top].blocks);
    finding->advice =
        "Choose sizes (batch, sequence, hidden) or tiles so that the number of blocks is just "
        "below a multiple of what fits the device at once.";
    finding->sql = kernels_sql(rules, top);
    put_longest(rules, finding, &rules->facts->work[top].tail);
}

/* Matrix kernels run best at a low occupancy: they keep their tiles in registers. */
static bool is_matrix_kernel(struct text name)
{
    static const char *const parts[] = {"gemm",  "dot",  "conv", "nvjet", "cutlass", "cudnn",
                                        "flash", "fmha", "Cijk", "attn",  "mma"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(name.data, name.size, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* Matrix products run best at low occupancy and are left out. The share must be twice the usual
 * minimum, as only a part of it can be gained. */
void find_low_occupancy(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    uint32_t top = 0;
    double low = 0, kernel_ps = sum_kernels(rules);
    for (uint32_t i = 0; i < rules->facts->types; i++) {
        const struct work_facts *one = &rules->facts->work[i];
        if (one->low_ps == 0 || is_matrix_kernel(catalog_type_label(analysis->catalog, i)))
            continue;
        low += (double)one->low_ps;
        top = low > 0 && one->low_ps > rules->facts->work[top].low_ps ? i : top;
    }
    double share = share_of_kernels(rules, low, kernel_ps);
    if (share < 2 * MIN_SHARE) /* what a higher occupancy gains is a part of it */
        return;
    struct finding *finding = add(rules, RULE_LOW_OCCUPANCY, share);
    finding->text = finding_text(
        analysis,
        "Kernels other than matrix products that hold at most %.0f %% of the threads that fit a "
        "multiprocessor take %.0f %% of the kernel time, %s the most.",
        100 * LOW_OCCUPANCY_SHARE, 100 * low / kernel_ps, finding_type(analysis, top));
    finding->advice =
        "Fewer registers or less shared memory per thread let more of them run: smaller tiles, "
        "launch bounds (__launch_bounds__, num_warps in Triton), less unrolling.";
    finding->sql = kernels_sql(rules, top);
    put_longest(rules, finding, &rules->facts->work[top].low);
}

static const char copies_sql[] =
    "SELECT id, name, start_ts, duration_ns, size_bytes, source_kind, "
    "destination_kind, size_bytes / duration_ns AS gb_per_s FROM GpuCopy WHERE "
    "operation = 'memcpy' ORDER BY %s LIMIT 100";

/* SUM_OF sets `top` as well: the last one counts, so the kind of copy with the most time gives
 * the evidence. */
void find_pageable_copies(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    uint32_t top;
    double pageable_ps, bytes, pageable;
    SUM_OF(rules, pageable_bytes, top, bytes);
    SUM_OF(rules, pageable, top, pageable);
    SUM_OF(rules, pageable_ps, top, pageable_ps);
    double share = share_of_window(rules, (int64_t)pageable_ps);
    if (share < MIN_SHARE)
        return;
    char time[QUANTITY_SIZE], size[QUANTITY_SIZE], count[QUANTITY_SIZE];
    struct finding *finding =
        finding_add(analysis, RULE_PAGEABLE_COPIES,
                    (int64_t)(pageable_ps / (double)rules->devices.count), share, rules->share_of);
    finding->text =
        finding_text(analysis, "%s copies from or to pageable memory move %s in %s, at %.1f GB/s.",
                     format_count((uint64_t)pageable, count), format_bytes((uint64_t)bytes, size),
                     format_ps(pageable_ps, time), pageable_ps > 0 ? bytes / pageable_ps * 1e3 : 0);
    finding->advice = finding_advice(
        rules,
        "Pinned memory is two to four times as fast and lets copies run beside kernels[torch:: "
        "pin_memory=True in the DataLoader, tensor.pin_memory() with non_blocking=True].");
    finding->sql =
        finding_text(analysis, copies_sql, "source_kind <> 'pageable', duration_ns DESC");
    put_longest(rules, finding, &rules->facts->work[top].paged);
}

void find_small_copies(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    uint32_t top;
    double small_ps, small;
    SUM_OF(rules, small, top, small);
    SUM_OF(rules, small_ps, top, small_ps);
    double share = share_of_window(rules, (int64_t)small_ps);
    if (share < MIN_SHARE || small < MIN_SMALL_COPIES)
        return;
    char time[QUANTITY_SIZE], count[QUANTITY_SIZE];
    struct finding *finding =
        finding_add(analysis, RULE_SMALL_COPIES, (int64_t)(small_ps / (double)rules->devices.count),
                    share, rules->share_of);
    finding->text =
        finding_text(analysis, "%s copies of less than %d KiB take %s, most of it latency.",
                     format_count((uint64_t)small, count), (int)(SMALL_COPY_BYTES >> 10),
                     format_ps(small_ps, time));
    finding->advice =
        "Copy once: gather small tensors into one buffer, keep scalars and indices on the "
        "device.";
    finding->sql = finding_text(analysis, copies_sql, "size_bytes, start_ts");
    put_longest(rules, finding, &rules->facts->work[top].tiny);
}

/* It costs no time, so only what is large is worth a word. */
void find_reserved_memory(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    const struct facts *facts = rules->facts;
    int64_t unused = facts->reserved_bytes - facts->used_bytes;
    if (facts->used_bytes <= 0 || unused < MIN_WASTED_BYTES ||
        (double)facts->used_bytes > RESERVED_IN_USE_SHARE * (double)facts->reserved_bytes)
        return;
    char reserved[QUANTITY_SIZE], used[QUANTITY_SIZE];
    struct finding *finding =
        finding_add(analysis, RULE_RESERVED_MEMORY, 0,
                    (double)unused / (double)facts->reserved_bytes, "the reserved memory");
    finding->text =
        finding_text(analysis, "Up to %s are reserved, and at most %s of them in use at a time.",
                     format_bytes((uint64_t)facts->reserved_bytes, reserved),
                     format_bytes((uint64_t)facts->used_bytes, used));
    finding->advice = finding_advice(
        rules,
        "Blocks of one size do not serve another: try [torch:PYTORCH_CUDA_ALLOC_CONF="
        "expandable_segments:True, ]constant shapes[torch:, or torch.cuda.empty_cache() after "
        "a phase with other sizes]. Matters when memory is short.");
    finding->sql = "SELECT id, timestamp, allocator_name, bytes_reserved, bytes_allocated FROM "
                   "MemoryAllocation WHERE bytes_reserved IS NOT NULL ORDER BY bytes_reserved - "
                   "bytes_allocated DESC LIMIT 100";
}
