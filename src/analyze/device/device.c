/*
 * Opens device profiles: NEFF and NTFF belong together, each execution's blocks are found.
 */
#include "analyze/device/execution.h"

#include <inttypes.h>
#include <stdio.h>

/* Later times are rejected: a damaged file may claim anything. */
#define MAX_PS (INT64_MAX / 4)

enum { MAX_QUEUES = 1024 }; /* each has lanes of its own */

/* The file of a session has executions of several NEFFs. */
static bool find_neff(struct device_profile *profile, const struct neff_info *neff,
                      struct error *err)
{
    char own[QUANTITY_SIZE], wanted[QUANTITY_SIZE];
    size_t count;
    const struct ntff_neff *neffs = ntff_neffs(profile->ntff, &count);
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(neff->header.uuid, neffs[i].uuid, sizeof neffs[i].uuid) == 0) {
            profile->neff_number = i;
            return true;
        }
    return error_set(err,
                     "the profile was made of another NEFF: of '%.100s', uuid %s; this one is "
                     "'%.100s', uuid %s",
                     neffs[0].name, format_uuid(neffs[0].uuid, wanted), neff->header.name,
                     format_uuid(neff->header.uuid, own));
}

static bool check_pair(const struct neff_info *neff, const struct ntff_header *ntff,
                       struct error *err)
{
    if (ntff->core_in_logical >= neff->program_count)
        return error_set(err,
                         "the profile is of physical core %u of a logical one; the NEFF has "
                         "programs of %u",
                         ntff->core_in_logical, neff->program_count);
    if (!hardware_core(ntff->core_version))
        return error_set(err, "the profile is of an unknown generation of cores: %u",
                         ntff->core_version);
    if (ntff->ticks_per_us == 0)
        return error_set(err, "the profile's clock has no ticks");
    uint32_t queues = neff->programs[ntff->core_in_logical].queue_count;
    if (queues > MAX_QUEUES)
        return error_set(err, "the program has %u DMA queues; profiles of up to %d are read",
                         queues, MAX_QUEUES);
    return true;
}

/* A block of the NTFF, to be sorted. */
struct place {
    uint32_t execution, block;
    uint8_t type, unit;
};

static bool place_before(const void *a, const void *b, const void *context)
{
    const struct place *x = a, *y = b;
    (void)context;
    if (x->execution != y->execution)
        return x->execution < y->execution;
    if (x->type != y->type)
        return x->type < y->type;
    return x->unit < y->unit;
}

static bool span_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_span *)a)->index < ((const struct device_span *)b)->index;
}

static void list_blocks(struct device_profile *profile)
{
    size_t count;
    const struct ntff_block *blocks = ntff_blocks(profile->ntff, &count);
    struct place *places = mem_alloc(count * sizeof *places);
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].neff != profile->neff_number)
            continue;
        places[profile->block_count++] =
            (struct place){blocks[i].execution, (uint32_t)i, blocks[i].type, blocks[i].unit};
        profile->notifications += blocks[i].count;
    }
    sort_items(places, profile->block_count, sizeof *places, place_before, NULL);
    profile->blocks = mem_alloc(profile->block_count * sizeof *profile->blocks);
    for (size_t i = 0; i < profile->block_count; i++)
        profile->blocks[i] = places[i].block;
    mem_free(places);
}

/* Executions that have notifications, and those that only have their frame. */
static void list_executions(struct device_profile *profile)
{
    size_t block_count, info_count;
    const struct ntff_block *blocks = ntff_blocks(profile->ntff, &block_count);
    const struct ntff_execution *infos = ntff_executions(profile->ntff, &info_count);
    struct device_span *spans = mem_zeroed(profile->block_count + info_count, sizeof *spans);
    size_t count = 0;
    for (size_t i = 0; i < profile->block_count; i++) {
        uint32_t index = blocks[profile->blocks[i]].execution;
        if (count == 0 || spans[count - 1].index != index)
            spans[count++] = (struct device_span){.index = index, .first_block = (uint32_t)i};
        spans[count - 1].block_count++;
    }
    for (size_t i = 0; i < info_count; i++) {
        bool is_own = infos[i].neff == profile->neff_number;
        profile->other_executions += !is_own;
        if (is_own)
            spans[count++] =
                (struct device_span){.index = infos[i].index, .info = infos[i], .has_info = true};
    }
    sort_items(spans, count, sizeof *spans, span_before, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || spans[kept - 1].index != spans[i].index) {
            spans[kept++] = spans[i];
        } else {
            spans[kept - 1].info = spans[i].info;
            spans[kept - 1].has_info = true;
        }
    }
    profile->spans = spans;
    profile->span_count = (uint32_t)kept;
}

bool device_ticks_to_ps(uint64_t ticks, uint32_t ticks_per_us, int64_t *ps)
{
    uint64_t us = ticks / ticks_per_us;
    if (us > MAX_PS / 1000000)
        return false;
    *ps = (int64_t)(us * 1000000 + ticks % ticks_per_us * 1000000 / ticks_per_us);
    return true;
}

/* When an execution's last notification came, as its blocks say. */
static int64_t last_ps(const struct device_profile *profile, const struct device_span *span)
{
    size_t count;
    const struct ntff_block *blocks = ntff_blocks(profile->ntff, &count);
    uint32_t rate = ntff_header(profile->ntff)->ticks_per_us;
    int64_t last = 0, ps;
    for (uint32_t i = 0; i < span->block_count; i++) {
        uint64_t time = blocks[profile->blocks[span->first_block + i]].last_time;
        if (device_ticks_to_ps(time, rate, &ps) && ps > last)
            last = ps;
    }
    return last;
}

/* Executions follow each other. One that was cut off has no start of its own: it begins where the
 * one before it ended. */
static void place_executions(struct device_profile *profile)
{
    uint32_t rate = ntff_header(profile->ntff)->ticks_per_us;
    const struct device_span *base = NULL; /* the first whose start is known */
    int64_t end = 0;
    for (uint32_t i = 0; i < profile->span_count; i++) {
        struct device_span *span = &profile->spans[i];
        const struct ntff_execution *info = &span->info;
        int64_t length = last_ps(profile, span), ps;
        span->start_ps = end < MAX_PS ? end : MAX_PS;
        if (base && span->has_info && info->start_ticks >= base->info.start_ticks &&
            device_ticks_to_ps(info->start_ticks - base->info.start_ticks, rate, &ps) &&
            ps <= MAX_PS - base->start_ps && base->start_ps + ps > span->start_ps)
            span->start_ps = base->start_ps + ps;
        if (span->has_info && !base)
            base = span;
        if (span->has_info && info->end_ticks > info->start_ticks &&
            device_ticks_to_ps(info->end_ticks - info->start_ticks, rate, &ps) && ps > length)
            length = ps;
        end = span->start_ps + length; /* each is at most MAX_PS */
    }
}

bool device_check_size(const struct device_profile *profile, struct error *err)
{
    /* Real executions have two notifications for each of most parts of their program. */
    const uint64_t always = UINT64_C(1) << 32, parts_per_notification = 64;
    const struct core_program *program = profile->program;
    uint64_t parts = (uint64_t)program->descriptor_count + program->block_count +
                     (uint64_t)program->queue_count * DMA_ENGINES;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        parts += program->code_count[e];
    if (parts * profile->span_count / parts_per_notification <=
        always / parts_per_notification + profile->notifications)
        return true;
    return error_set(err,
                     "it lists %" PRIu32 " executions of a program of %" PRIu64
                     " instructions and transfers, with %" PRIu64
                     " notifications in all: too many to be true",
                     profile->span_count, parts, profile->notifications);
}

/* Takes both files, also on failure: device_close frees them. Sizes are checked before anything
 * is read, as a damaged file may claim any number of executions. */
struct device_profile *device_join(struct neff *neff, struct ntff *ntff, struct error *err)
{
    struct device_profile *profile = mem_zeroed(1, sizeof *profile);
    profile->neff = neff;
    profile->ntff = ntff;
    profile->loss = *ntff_loss(ntff);
    const struct neff_info *info = neff_info(neff);
    const struct ntff_header *header = ntff_header(ntff);
    if (!neff_is_runnable(neff, err) || !find_neff(profile, info, err) ||
        !check_pair(info, header, err)) {
        device_close(profile);
        return NULL;
    }
    profile->program = &info->programs[header->core_in_logical];
    profile->hardware = hardware_core(header->core_version);
    device_find_facts(profile);
    device_find_accesses(profile);
    list_blocks(profile);
    list_executions(profile);
    if (!device_check_size(profile, err)) {
        device_close(profile);
        return NULL;
    }
    place_executions(profile);
    return profile;
}

struct device_profile *device_open(const char *neff_path, const char *ntff_path, struct error *err)
{
    struct neff *neff = neff_open(neff_path, err);
    if (!neff)
        return NULL;
    struct ntff *ntff = ntff_open(ntff_path, err);
    if (!ntff) {
        neff_close(neff);
        return NULL;
    }
    struct device_profile *profile = device_join(neff, ntff, err);
    if (!profile && err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", ntff_path);
    return profile;
}

void device_close(struct device_profile *profile)
{
    if (!profile)
        return;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(profile->facts[e]);
    for (unsigned e = 0; e <= ENGINE_COUNT; e++)
        mem_free(profile->accesses[e]);
    mem_free(profile->descriptors);
    mem_free(profile->block_facts);
    array_free(&profile->hbm_accesses);
    mem_free(profile->spans);
    mem_free(profile->blocks);
    ntff_close(profile->ntff);
    neff_close(profile->neff);
    mem_free(profile);
}

const struct ntff_neff *device_neff(const struct device_profile *profile)
{
    size_t count;
    return &ntff_neffs(profile->ntff, &count)[profile->neff_number];
}

uint32_t device_execution_count(const struct device_profile *profile)
{
    return profile->span_count;
}
