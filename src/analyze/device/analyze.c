/*
 * The whole analysis of a profile, one execution after the other.
 */
#include "analyze/device/findings.h"

void device_analysis_begin(struct device_analysis *analysis, const struct device_profile *profile)
{
    *analysis = (struct device_analysis){.profile = profile, .loss = profile->loss};
    analysis->opcodes = mem_zeroed(1, sizeof *analysis->opcodes);
    analysis->tensors = device_tensors_new(profile);
    for (unsigned i = 0; i < DEVICE_ROLLUPS; i++)
        device_rollup_begin(&analysis->rollups[i], profile->program, (enum device_rollup_kind)i);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        analysis->runs[e] = mem_zeroed(profile->program->code_count[e], sizeof *analysis->runs[e]);
}

static void add_path(struct device_path *sum, const struct device_path *path)
{
    sum->dma_ps += path->dma_ps;
    sum->collective_ps += path->collective_ps;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        sum->engine_ps[i] += path->engine_ps[i];
    for (unsigned i = 0; i < DEVICE_WAITS; i++)
        sum->wait_ps[i] += path->wait_ps[i];
}

void device_prepare(struct device_prepared *prepared, const struct device_profile *profile,
                    const struct device_execution *execution)
{
    struct device_dependencies dependencies;
    *prepared = (struct device_prepared){0};
    device_dependencies_find(&dependencies, profile, execution);
    device_critical_path(&dependencies, &prepared->path);
    device_dependencies_free(&dependencies);
    device_works_find(&prepared->works, profile, execution);
}

void device_prepared_free(struct device_prepared *prepared)
{
    device_path_free(&prepared->path);
    array_free(&prepared->works);
}

void device_analysis_add(struct device_analysis *analysis, const struct device_execution *execution,
                         const struct device_prepared *prepared)
{
    const struct device_profile *profile = analysis->profile;
    device_sums_add(&analysis->sums, profile, execution);
    device_opcodes_add(analysis->opcodes, profile, execution);
    device_tensors_add(analysis->tensors, profile, execution);
    for (unsigned i = 0; i < DEVICE_ROLLUPS; i++)
        device_rollup_add(&analysis->rollups[i], profile, &prepared->works);
    findings_gather(analysis, execution, &prepared->path);
    add_path(&analysis->path, &prepared->path);
    ntff_loss_add(&analysis->loss, &execution->loss);
}

void device_analysis_end(struct device_analysis *analysis)
{
    device_metrics_make(&analysis->metrics, analysis->profile, &analysis->sums);
    device_bounds_make(&analysis->bounds, analysis->profile, &analysis->sums);
}

void device_analysis_find(struct device_analysis *analysis, const char *nki_source_root)
{
    mem_free(analysis->is_nki);
    analysis->is_nki = device_nki_origins(analysis->profile->program, nki_source_root);
    analysis->nki_source_root = nki_source_root;
    findings_free(&analysis->findings);
    findings_make(analysis);
}

void device_analyze(struct device_analysis *analysis, const struct device_profile *profile,
                    const char *nki_source_root, struct pool *pool)
{
    device_analysis_begin(analysis, profile);
    uint32_t count = device_execution_count(profile);
    for (uint32_t i = 0; i < count; i++) {
        struct device_execution execution = {0};
        struct device_prepared prepared;
        device_read_execution(profile, i, pool, &execution);
        device_prepare(&prepared, profile, &execution);
        device_analysis_add(analysis, &execution, &prepared);
        device_prepared_free(&prepared);
        device_execution_free(&execution);
    }
    device_analysis_end(analysis);
    device_analysis_find(analysis, nki_source_root);
}

void device_analysis_free(struct device_analysis *analysis)
{
    mem_free(analysis->is_nki);
    mem_free(analysis->opcodes);
    mem_free(analysis->tensors);
    for (unsigned i = 0; i < DEVICE_ROLLUPS; i++)
        device_rollup_free(&analysis->rollups[i]);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(analysis->runs[e]);
    array_free(&analysis->groups);
    idmap_free(&analysis->group_ids);
    array_free(&analysis->durations);
    findings_free(&analysis->findings);
}
