/*
 * Fuzz target: an NTFF file of a program that is always the same, through all that is made of it:
 * executions, lanes, metrics, roll-ups, dependencies, the critical path, and the analysis and the
 * exporters of every profile.
 */
#include "analyze/device/device.h"
#include "fuzzed_ntff.h"
#include "pipeline.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***arguments);

static uint8_t *neff_bytes;
static size_t neff_size;
static uint8_t uuid[16];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    struct error err;
    (void)count, (void)arguments;
    FILE *file = fopen(KYMO_FUZZ_NEFF, "rb");
    enum { MOST = 1 << 20 };
    neff_bytes = malloc(MOST);
    neff_size = file ? fread(neff_bytes, 1, MOST, file) : 0;
    struct neff *neff = neff_parse(neff_bytes, neff_size, KYMO_FUZZ_NEFF, &err);
    if (!file || !neff)
        abort();
    memcpy(uuid, neff_info(neff)->header.uuid, sizeof uuid);
    neff_close(neff);
    fclose(file);
    return 0;
}

/* The header of a profile of this program. */
static void own_header(uint8_t *file)
{
    struct file_header header;
    memcpy(&header, file, sizeof header);
    memcpy(header.neff_uuid, uuid, sizeof uuid);
    header.core_in_logical = 0;
    header.core_version = 2 + header.core_version % 3;
    header.ticks_per_us += header.ticks_per_us == 0;
    header.crc = crc32_of(0, &header, offsetof(struct file_header, crc));
    memcpy(file, &header, sizeof header);
}

/* Segments of the critical path tile the execution. */
static void check_path(const struct device_profile *profile,
                       const struct device_execution *execution)
{
    struct device_prepared prepared;
    device_prepare(&prepared, profile, execution);
    int64_t at = execution->start_ps;
    const struct device_segment *segment;
    array_each (segment, &prepared.path.segments) {
        if (segment->start_ps != at)
            __builtin_trap();
        at = segment->end_ps;
    }
    device_prepared_free(&prepared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err;
    if (size < NTFF_HEADER_SIZE)
        return 0;
    fuzzed_file(data, size);
    own_header((uint8_t *)fuzzed.data);
    struct neff *neff = neff_parse(neff_bytes, neff_size, "fixed", &err);
    struct ntff *ntff = ntff_open("fuzzed", &err);
    struct device_profile *profile = ntff ? device_join(neff, ntff, &err) : NULL;
    if (!ntff)
        neff_close(neff);
    struct pool *pool = pool_create(1);
    if (profile) {
        struct source *source = import_device_profile(profile, "fuzzed", pool);
        const struct device_core *core = &import_device_cores(source)->items[0];
        for (uint32_t i = 0; i < core->execution_count; i++)
            check_path(profile, &core->executions[i]);
        device_analysis_find(core->analysis, NULL);
        run_pipeline(source, pool);
    }
    pool_destroy(pool);
    free((void *)fuzzed.data);
    return 0;
}
