/*
 * The stage LaneCluster: what distinguishes lanes, and their groups as a result.
 */
#include "report/fleet/cluster.h"
#include "report/fleet/heatmap.h"
#include "report/fleet/work.h"

#include <math.h>

struct cluster_lane {
    int64_t rank, device;
};

struct cluster_stage {
    ARRAY(struct cluster_lane) lanes;
    double own_ns;
};

static bool add_lane(void *context, const struct sql_result *result, size_t row)
{
    struct cluster_stage *stage = context;
    *array_push(&stage->lanes) =
        (struct cluster_lane){row_integer(result, row, 0), row_integer(result, row, 1)};
    return true;
}

static bool read_own(void *context, const struct sql_result *result, size_t row)
{
    *(double *)context = row_number(result, row, 0);
    return true;
}

/* The root mean square of the lane's excess in each block of steps, so that a few late steps count,
 * negative where the lane is faster on average; blocks that it lacks have the mean of the others.
 * Returns its mean excess. */
static double put_features(const float *excess, size_t steps, float *features, size_t width)
{
    double all = 0, feature_sum = 0;
    size_t known = 0, blocks = 0;
    for (size_t block = 0; block < width; block++) {
        double sum = 0, squares = 0;
        size_t count = 0;
        for (size_t i = block * steps / width; i < (block + 1) * steps / width; i++)
            if (!isnan(excess[i])) {
                sum += excess[i];
                squares += (double)excess[i] * excess[i];
                count++;
            }
        features[block] = count ? (float)copysign(sqrt(squares / (double)count), sum) : NAN;
        feature_sum += count ? features[block] : 0;
        blocks += count > 0;
        all += sum;
        known += count;
    }
    for (size_t block = 0; block < width; block++)
        if (isnan(features[block]))
            features[block] = blocks ? (float)(feature_sum / (double)blocks) : 0;
    return known ? all / (double)known : 0;
}

/* Size and mean excess are of the group, repeated for each lane, so that readers need no second
 * query. */
static bool write_groups(struct fleet_analysis *analysis, const struct cluster_stage *stage,
                         const uint32_t *groups, const double *means, struct error *err)
{
    static const char *const columns[][2] = {{"rank", "BIGINT"},
                                             {"device_idx", "BIGINT"},
                                             {"cluster", "BIGINT"},
                                             {"lanes", "BIGINT"},
                                             {"excess_ns", "DOUBLE"}};
    int64_t lanes[MAX_CLUSTERS] = {0};
    double sums[MAX_CLUSTERS] = {0};
    for (size_t lane = 0; lane < stage->lanes.count; lane++) {
        lanes[groups[lane]]++;
        sums[groups[lane]] += means[lane];
    }
    struct values values;
    values_begin(&values, columns, sizeof columns / sizeof *columns);
    for (size_t lane = 0; lane < stage->lanes.count; lane++) {
        uint32_t group = groups[lane];
        values_put_integer(&values, stage->lanes.items[lane].rank);
        values_put_integer(&values, stage->lanes.items[lane].device);
        values_put_integer(&values, group);
        values_put_integer(&values, lanes[group]);
        values_put_number(&values, sums[group] / (double)lanes[group]);
    }
    return values_end(&values, analysis, "LaneCluster", err);
}

static bool find_groups(struct fleet_analysis *analysis, const struct cluster_stage *stage,
                        const struct heatmap *map, struct error *err)
{
    size_t lanes = stage->lanes.count;
    size_t width = map->steps < CLUSTER_FEATURES ? map->steps : CLUSTER_FEATURES;
    if (map->lanes != lanes)
        width = 0; /* no matrices: all are one group */
    float *features = mem_alloc((lanes * width + 1) * sizeof *features);
    uint32_t *groups = mem_zeroed(lanes + 1, sizeof *groups);
    double *means = mem_zeroed(lanes + 1, sizeof *means);
    for (size_t lane = 0; lane < lanes && width > 0; lane++)
        means[lane] = put_features(heatmap_lane(map, HEATMAP_EXCESS, lane), map->steps,
                                   features + lane * width, width);
    /* As for slow ranks: below 2 % nothing can be done about it. */
    const struct cluster_input input = {features, lanes, width, 0.02 * stage->own_ns, means};
    cluster_lanes(&input, groups);
    bool ok = write_groups(analysis, stage, groups, means, err);
    mem_free(means);
    mem_free(features);
    mem_free(groups);
    return ok;
}

bool stage_clusters(struct fleet_analysis *analysis, struct error *err)
{
    struct cluster_stage stage = {0};
    struct heatmap map;
    bool ok =
        each_row(analysis, "SELECT rank, device_idx FROM RankSummary ORDER BY rank, device_idx",
                 add_lane, &stage, err) &&
        each_row(analysis, "SELECT coalesce(median(own_ns), 0) FROM Step", read_own, &stage.own_ns,
                 err) &&
        heatmap_open(&map, analysis->directory, err);
    if (ok) {
        ok = find_groups(analysis, &stage, &map, err);
        heatmap_close(&map);
    }
    array_free(&stage.lanes);
    return ok;
}
