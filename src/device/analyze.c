/*
 * The whole analysis of a profile, one execution after the other.
 */
#include "device/findings.h"

void device_analysis_begin(struct device_analysis *analysis, const struct device_profile *profile,
                           const char *nki_source_root)
{
    *analysis = (struct device_analysis){.profile = profile, .nki_source_root = nki_source_root};
    analysis->is_nki = device_nki_origins(profile->program, nki_source_root);
    analysis->opcodes = mem_zeroed(1, sizeof *analysis->opcodes);
    analysis->tensors = device_tensors_new(profile);
    device_rollup_begin(&analysis->layers, profile->program, ROLLUP_LAYERS);
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

void device_analysis_add(struct device_analysis *analysis, const struct device_execution *execution)
{
    const struct device_profile *profile = analysis->profile;
    struct device_dependencies dependencies;
    struct device_path path;
    device_dependencies_find(&dependencies, profile, execution);
    device_critical_path(&dependencies, &path);
    device_sums_add(&analysis->sums, profile, execution);
    device_opcodes_add(analysis->opcodes, profile, execution);
    device_tensors_add(analysis->tensors, profile, execution);
    device_rollup_add(&analysis->layers, profile, execution);
    findings_gather(analysis, execution, &path);
    add_path(&analysis->path, &path);
    device_path_free(&path);
    device_dependencies_free(&dependencies);
}

void device_analysis_end(struct device_analysis *analysis)
{
    device_metrics_make(&analysis->metrics, analysis->profile, &analysis->sums);
    device_bounds_make(&analysis->bounds, analysis->profile, &analysis->sums);
    findings_make(analysis);
}

bool device_analyze(struct device_analysis *analysis, const struct device_profile *profile,
                    const char *nki_source_root, struct pool *pool, struct error *err)
{
    device_analysis_begin(analysis, profile, nki_source_root);
    uint32_t count = device_execution_count(profile);
    for (uint32_t i = 0; i < count; i++) {
        struct device_execution execution = {0};
        bool ok = device_read_execution(profile, i, pool, &execution, err);
        if (ok)
            device_analysis_add(analysis, &execution);
        device_execution_free(&execution);
        if (!ok) {
            device_analysis_free(analysis);
            return false;
        }
    }
    device_analysis_end(analysis);
    return true;
}

void device_analyze_core(struct device_analysis *analysis, const struct device_core *core,
                         const char *nki_source_root)
{
    device_analysis_begin(analysis, core->profile, nki_source_root);
    for (uint32_t i = 0; i < core->execution_count; i++)
        device_analysis_add(analysis, &core->executions[i]);
    device_analysis_end(analysis);
}

void device_analysis_free(struct device_analysis *analysis)
{
    mem_free(analysis->is_nki);
    mem_free(analysis->opcodes);
    mem_free(analysis->tensors);
    device_rollup_free(&analysis->layers);
    array_free(&analysis->groups);
    idmap_free(&analysis->group_ids);
    array_free(&analysis->durations);
    array_free(&analysis->findings);
    arena_free(&analysis->texts);
}
