/*
 * Runs the analysis passes in order, and frees the result.
 */
#include "analyze/profile/analyze.h"
#include "analyze/profile/analysis_passes.h"
#include "analyze/profile/facts.h"

struct text step_origin_name(enum step_origin origin)
{
    static const char *const names[] = {[STEPS_ANNOTATED] = "annotated",
                                        [STEPS_RECORDED] = "recorded",
                                        [STEPS_GUESSED] = "guessed"};
    return text_of(names[origin]);
}

/* The order matters: each pass reads what those before it filled in. Steps are taken from
 * annotations, else from what the capture recorded, else guessed. On failure nothing is left to
 * free. */
bool analyze(struct analysis *analysis, struct source *source, struct pool *pool, struct error *err)
{
    *analysis = (struct analysis){.catalog = &source->catalog,
                                  .type_roles = roles_of_types(&source->catalog)};
    memory_trace_init(&analysis->trace);
    struct facts facts;
    facts_init(&facts, source->catalog.types.count);
    classify_types(analysis);
    analysis->kernel_traits =
        mem_zeroed(source->catalog.types.count, sizeof *analysis->kernel_traits);
    if (!collect(analysis, source, pool, &facts, err)) {
        facts_free(&facts);
        analysis_free(analysis);
        return false;
    }
    struct type_totals types;
    operation_list operations = {0};
    activity_list activities = {0};
    survey_lanes(analysis, pool, &types);
    find_launches(analysis);
    find_executions(analysis);
    group_steps(analysis);
    if (analysis->steps.count == 0)
        take_recorded_steps(analysis);
    if (analysis->steps.count == 0)
        guess_steps(analysis);
    find_calls(analysis, pool);
    describe_devices(analysis);
    process_devices(analysis, pool, &operations);
    measure_extents(analysis);
    measure_devices(analysis, pool, &activities);
    summarize(analysis, &types, &operations, &activities);
    sum_operations(analysis, &source->catalog);
    measure_figures(analysis, &activities);
    catalog_mark_incomplete(&source->catalog);
    find(analysis, &activities, &facts);
    facts_free(&facts);
    activities_free(&activities);
    type_totals_free(&types);
    array_free(&operations);
    return true;
}

/* Lanes point into the columns, which are freed as a whole. The catalog belongs to the source,
 * which must still be open. */
void analysis_free(struct analysis *analysis)
{
    size_t tracks = analysis->catalog->tracks.count;
    for (size_t i = 0; analysis->launch_by_correlation && i < tracks; i++)
        idmap_free(&analysis->launch_by_correlation[i]);
    mem_free(analysis->columns.order);
    mem_free(analysis->columns.rank);
    mem_free(analysis->columns.correlation);
    mem_free(analysis->columns.group);
    mem_free(analysis->columns.label);
    mem_free(analysis->columns.device_start_ps);
    mem_free(analysis->columns.device_duration_ps);
    mem_free(analysis->columns.self_ps);
    mem_free(analysis->columns.external);
    mem_free(analysis->columns.operator);
    mem_free(analysis->lanes);
    mem_free(analysis->type_roles);
    mem_free(analysis->launch_by_correlation);
    struct derived_row *row;
    array_each (row, &analysis->rows)
        array_free(&row->events);
    array_free(&analysis->rows);
    array_free(&analysis->marks);
    array_free(&analysis->labels);
    array_free(&analysis->steps);
    array_free(&analysis->device_steps);
    idmap_free(&analysis->device_step_index);
    array_free(&analysis->launches);
    mem_free(analysis->host_class);
    mem_free(analysis->device_class);
    mem_free(analysis->kernel_kinds);
    mem_free(analysis->kernel_traits);
    array_free(&analysis->devices);
    idmap_free(&analysis->device_by_track);
    array_free(&analysis->device_operations);
    array_free(&analysis->breakdowns);
    array_free(&analysis->rank_kernels);
    array_free(&analysis->collectives);
    findings_free(&analysis->findings);
    array_free(&analysis->calls);
    array_free(&analysis->externals);
    array_free(&analysis->summary.operations);
    array_free(&analysis->summary.kernels);
    array_free(&analysis->summary.copies);
    array_free(&analysis->summary.families);
    array_free(&analysis->summary.host_events);
    array_free(&analysis->summary.operators);
    array_free(&analysis->summary.modules);
    array_free(&analysis->summary.devices);
    array_free(&analysis->summary.threads);
    array_free(&analysis->summary.counters);
    mem_free(analysis->summary.sources);
    memory_trace_free(&analysis->trace);
}
