/*
 * Sums of what args of device work and allocations say.
 */
#include "analyze/profile/facts.h"
#include "analyze/profile/findings.h"

#include <math.h>

/* Threads that a multiprocessor of a data-center GPU holds. */
static const double MULTIPROCESSOR_THREADS = 2048;

void facts_init(struct facts *facts, size_t types)
{
    *facts = (struct facts){.types = types};
    facts->work = mem_zeroed(types, sizeof *facts->work);
}

void facts_free(struct facts *facts)
{
    mem_free(facts->work);
    facts->work = NULL;
}

/* Of events of the same length the first, whoever read it. */
static void keep_longer(struct long_event *longest, struct long_event other)
{
    bool is_before = other.ref.track != longest->ref.track ? other.ref.track < longest->ref.track
                                                           : other.ref.event < longest->ref.event;
    if (other.ps > longest->ps || (other.ps == longest->ps && other.ps > 0 && is_before))
        *longest = other;
}

/* Sums saturate. `blocks` is a sample rather than a sum: any kernel's will do. */
void facts_merge(struct facts *into, const struct facts *other)
{
    for (size_t i = 0; i < into->types; i++) {
        struct work_facts *sum = &into->work[i];
        const struct work_facts *one = &other->work[i];
        sum->kernel_ps = add_saturated(sum->kernel_ps, one->kernel_ps);
        sum->few_ps = add_saturated(sum->few_ps, one->few_ps);
        sum->tail_ps = add_saturated(sum->tail_ps, one->tail_ps);
        sum->low_ps = add_saturated(sum->low_ps, one->low_ps);
        sum->blocks = one->blocks > 0 ? one->blocks : sum->blocks;
        sum->pageable += one->pageable;
        sum->small += one->small;
        sum->pageable_ps = add_saturated(sum->pageable_ps, one->pageable_ps);
        sum->pageable_bytes = add_saturated(sum->pageable_bytes, one->pageable_bytes);
        sum->small_ps = add_saturated(sum->small_ps, one->small_ps);
        keep_longer(&sum->few, one->few);
        keep_longer(&sum->tail, one->tail);
        keep_longer(&sum->low, one->low);
        keep_longer(&sum->paged, one->paged);
        keep_longer(&sum->tiny, one->tiny);
    }
    if (other->reserved_bytes > into->reserved_bytes)
        into->reserved_bytes = other->reserved_bytes;
    if (other->used_bytes > into->used_bytes)
        into->used_bytes = other->used_bytes;
}

static double product(const int64_t numbers[3])
{
    return (double)numbers[0] * (double)numbers[1] * (double)numbers[2];
}

static struct known_kernel parse(struct text text)
{
    struct kernel_details details;
    struct known_kernel known = {0};
    if (!read_kernel_details(text, &details))
        return known;
    double threads = product(details.block);
    known.blocks = product(details.grid);
    if (details.has_occupancy && threads > 0) {
        known.occupancy = details.occupancy / 100;
        known.waves_at = floor(known.occupancy * MULTIPROCESSOR_THREADS / threads + 1e-6);
    }
    return known;
}

static struct known_kernel kernel_of(struct facts_reader *reader, const struct catalog *catalog,
                                     const struct arg *details)
{
    if (details->type != ARG_STRING)
        return parse(arg_text(catalog, details));
    struct known_kernel *known = &reader->known[details->string % KNOWN_KERNELS];
    if (known->string != details->string) {
        *known = parse(arg_text(catalog, details));
        known->string = details->string;
    }
    return *known;
}

static double multiprocessors(const struct catalog *catalog, uint32_t lane)
{
    const struct track *device = &catalog->tracks.items[catalog->tracks.items[lane].parent];
    const struct arg *count = catalog_arg(catalog, &device->args, TEXT("core_count"));
    return count ? arg_number(count) : 0;
}

/* A kernel counts as having too few blocks or a tail, never both. The cost is the share of
 * multiprocessor time left empty. */
void facts_kernel(struct facts_reader *reader, const struct analysis *analysis,
                  struct event_ref ref, uint32_t type, int64_t duration_ps,
                  const struct arg *details, const struct arg *blocks_per_multiprocessor)
{
    struct long_event this = {ref, duration_ps};
    struct work_facts *facts = &reader->facts.work[type];
    struct known_kernel kernel = {0};
    double blocks = 0;
    if (details) {
        kernel = kernel_of(reader, analysis->catalog, details);
        double count = kernel.blocks > 0 ? multiprocessors(analysis->catalog, ref.track) : 0;
        blocks = count > 0 ? kernel.blocks / count : 0;
    } else {
        blocks = arg_number(blocks_per_multiprocessor);
    }
    if (!(blocks > 0) || duration_ps <= 0)
        return;
    facts->kernel_ps = add_saturated(facts->kernel_ps, duration_ps);
    facts->blocks = blocks;
    double duration = (double)duration_ps,
           waves = kernel.waves_at > 0 ? blocks / kernel.waves_at : 0;
    if (blocks < 1) {
        facts->few_ps = add_saturated(facts->few_ps, (int64_t)(duration * (1 - blocks)));
        keep_longer(&facts->few, this);
    } else if (waves > 1 && waves < MAX_TAIL_WAVES) {
        facts->tail_ps =
            add_saturated(facts->tail_ps, (int64_t)(duration * (1 - waves / ceil(waves))));
        keep_longer(&facts->tail, this);
    }
    if (blocks >= 1 && kernel.occupancy > 0 && kernel.occupancy <= LOW_OCCUPANCY_SHARE) {
        facts->low_ps = add_saturated(facts->low_ps, duration_ps);
        keep_longer(&facts->low, this);
    }
}

static bool is_pageable(struct text kind)
{
    return kind.size == 8 && (kind.data[0] | 0x20) == 'p' &&
           memcmp(kind.data + 1, "ageable", 7) == 0;
}

/* XLA records details in a text, Kineto the bytes and the kinds of memory in the name. Copies
 * with neither are skipped. */
void facts_copy(struct facts_reader *reader, const struct analysis *analysis, struct event_ref ref,
                uint32_t type, int64_t duration_ps, const struct arg *details,
                const struct arg *bytes)
{
    struct long_event this = {ref, duration_ps};
    const struct catalog *catalog = analysis->catalog;
    struct work_facts *facts = &reader->facts.work[type];
    struct copy_details copy = {0};
    struct text from = {0}, to = {0};
    if (details && read_copy_details(arg_text(catalog, details), &copy)) {
        from = copy.source_kind;
        to = copy.destination_kind;
    } else if (bytes) {
        copy.bytes = arg_integer(bytes);
        read_copy_kinds(catalog_text(catalog, catalog->types.items[type].name), &from, &to);
    } else {
        return;
    }
    if (is_pageable(from) || is_pageable(to)) {
        facts->pageable++;
        facts->pageable_ps = add_saturated(facts->pageable_ps, duration_ps);
        facts->pageable_bytes = add_saturated(facts->pageable_bytes, copy.bytes);
        keep_longer(&facts->paged, this);
    }
    if (copy.bytes < SMALL_COPY_BYTES) {
        facts->small++;
        facts->small_ps = add_saturated(facts->small_ps, duration_ps);
        keep_longer(&facts->tiny, this);
    }
}

void facts_memory(struct facts_reader *reader, const struct arg *reserved, const struct arg *used)
{
    struct facts *facts = &reader->facts;
    if (reserved && arg_integer(reserved) > facts->reserved_bytes)
        facts->reserved_bytes = arg_integer(reserved);
    if (reserved && used && arg_integer(reserved) > 0 && arg_integer(used) > facts->used_bytes)
        facts->used_bytes = arg_integer(used);
}
