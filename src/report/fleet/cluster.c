#include "report/fleet/cluster.h"

#include "base/percentile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* As for slow ranks: what differs by less than 6 robust standard deviations is alike. */
enum { NOISE_FACTOR = 6 };

struct centroid {
    double at[CLUSTER_FEATURES];
    double lanes; /* 0: merged into another */
    uint32_t group;
};

struct clustering {
    const struct cluster_input *input;
    double reach; /* mean square distance below which groups are one */
    uint32_t *groups;
    struct centroid *centroids;
    size_t count;
};

static const float *features_of(const struct cluster_input *input, size_t lane)
{
    return input->features + lane * input->width;
}

/* The robust standard deviation of all features from 0. */
static double noise_of(const struct cluster_input *input)
{
    size_t count = input->lanes * input->width;
    double *sizes = mem_alloc(count * sizeof *sizes);
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs((double)input->features[i]);
    double median = percentile_median(sizes, count);
    mem_free(sizes);
    return 1.4826 * median;
}

static double distance_to(const struct cluster_input *input, const float *features,
                          const struct centroid *centroid)
{
    double sum = 0;
    for (size_t i = 0; i < input->width; i++) {
        double difference = features[i] - centroid->at[i];
        sum += difference * difference;
    }
    return sum / (double)input->width;
}

static size_t nearest(const struct clustering *clustering, const float *features, double *distance)
{
    size_t best = 0;
    *distance = INFINITY;
    for (size_t i = 0; i < clustering->count; i++) {
        double other = distance_to(clustering->input, features, &clustering->centroids[i]);
        if (other < *distance) {
            *distance = other;
            best = i;
        }
    }
    return best;
}

/* A lane that is further than half the reach from all leaders leads a group of its own. The first
 * leader is the typical lane. */
static void find_leaders(struct clustering *clustering)
{
    const struct cluster_input *input = clustering->input;
    clustering->count = 1;
    for (size_t lane = 0; lane < input->lanes; lane++) {
        const float *features = features_of(input, lane);
        double distance;
        size_t leader = nearest(clustering, features, &distance);
        if (distance > clustering->reach / 4 && clustering->count < MAX_LEADERS) {
            leader = clustering->count++;
            for (size_t i = 0; i < input->width; i++)
                clustering->centroids[leader].at[i] = features[i];
        }
        clustering->groups[lane] = (uint32_t)leader;
    }
}

static void find_centroids(struct clustering *clustering)
{
    const struct cluster_input *input = clustering->input;
    memset(clustering->centroids, 0, clustering->count * sizeof *clustering->centroids);
    for (size_t lane = 0; lane < input->lanes; lane++) {
        struct centroid *centroid = &clustering->centroids[clustering->groups[lane]];
        centroid->lanes++;
        for (size_t i = 0; i < input->width; i++)
            centroid->at[i] += features_of(input, lane)[i];
    }
    for (size_t i = 0; i < clustering->count; i++) {
        struct centroid *centroid = &clustering->centroids[i];
        centroid->group = (uint32_t)i;
        for (size_t j = 0; j < input->width && centroid->lanes > 0; j++)
            centroid->at[j] /= centroid->lanes;
    }
}

static double distance_between(size_t width, const struct centroid *a, const struct centroid *b)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    return sum / (double)width;
}

static void merge(size_t width, struct centroid *into, struct centroid *from)
{
    double all = into->lanes + from->lanes;
    for (size_t i = 0; i < width; i++)
        into->at[i] = (into->at[i] * into->lanes + from->at[i] * from->lanes) / all;
    into->lanes = all;
    from->lanes = 0;
    from->group = into->group;
}

/* The two nearest centroids. */
static double find_pair(const struct clustering *clustering, const double *distances, size_t *a,
                        size_t *b)
{
    double least = INFINITY;
    for (size_t i = 0; i < clustering->count; i++)
        for (size_t j = 0; j < i && clustering->centroids[i].lanes > 0; j++)
            if (clustering->centroids[j].lanes > 0 &&
                distances[i * clustering->count + j] < least) {
                least = distances[i * clustering->count + j];
                *a = j;
                *b = i;
            }
    return least;
}

static void update_distances(const struct clustering *clustering, double *distances, size_t at)
{
    for (size_t i = 0; i < clustering->count; i++) {
        double distance = distance_between(clustering->input->width, &clustering->centroids[i],
                                           &clustering->centroids[at]);
        distances[i * clustering->count + at] = distances[at * clustering->count + i] = distance;
    }
}

/* Merges the nearest until all are far apart and no more than MAX_CLUSTERS. */
static void agglomerate(struct clustering *clustering)
{
    size_t left = 0, a = 0, b = 0;
    double *distances = mem_zeroed(clustering->count * clustering->count, sizeof *distances);
    for (size_t i = 0; i < clustering->count; i++) {
        left += clustering->centroids[i].lanes > 0;
        update_distances(clustering, distances, i);
    }
    while (left > 1 &&
           (find_pair(clustering, distances, &a, &b) < clustering->reach || left > MAX_CLUSTERS)) {
        merge(clustering->input->width, &clustering->centroids[a], &clustering->centroids[b]);
        update_distances(clustering, distances, a);
        left--;
    }
    mem_free(distances);
    for (size_t lane = 0; lane < clustering->input->lanes; lane++) {
        uint32_t group = clustering->groups[lane];
        while (clustering->centroids[group].group != group)
            group = clustering->centroids[group].group;
        clustering->groups[lane] = group;
    }
}

struct ranking {
    uint32_t group;
    size_t first;
    double sum, lanes;
};

static int compare_rankings(const void *a, const void *b)
{
    const struct ranking *left = a, *right = b;
    double one = left->sum / left->lanes, other = right->sum / right->lanes;
    if (one != other)
        return one > other ? -1 : 1;
    return left->first < right->first ? -1 : 1;
}

/* Numbers the groups as promised. */
static size_t rank_groups(const struct clustering *clustering)
{
    struct ranking rankings[MAX_LEADERS] = {0};
    uint32_t numbers[MAX_LEADERS] = {0};
    size_t count = 0;
    for (size_t lane = 0; lane < clustering->input->lanes; lane++) {
        uint32_t *number = &numbers[clustering->groups[lane]];
        if (*number == 0) {
            rankings[count] = (struct ranking){.group = clustering->groups[lane], .first = lane};
            *number = (uint32_t)++count;
        }
        rankings[*number - 1].sum += clustering->input->slowness[lane];
        rankings[*number - 1].lanes++;
    }
    qsort(rankings, count, sizeof *rankings, compare_rankings);
    for (size_t i = 0; i < count; i++)
        numbers[rankings[i].group] = (uint32_t)i;
    for (size_t lane = 0; lane < clustering->input->lanes; lane++)
        clustering->groups[lane] = numbers[clustering->groups[lane]];
    return count;
}

size_t cluster_lanes(const struct cluster_input *input, uint32_t *groups)
{
    assert(input->width <= CLUSTER_FEATURES);
    memset(groups, 0, input->lanes * sizeof *groups);
    if (input->lanes == 0 || input->width == 0)
        return input->lanes > 0;
    double reach = fmax(NOISE_FACTOR * noise_of(input), input->least);
    struct clustering clustering = {.input = input,
                                    .reach = reach * reach,
                                    .groups = groups,
                                    .centroids =
                                        mem_zeroed(MAX_LEADERS, sizeof *clustering.centroids)};
    find_leaders(&clustering);
    find_centroids(&clustering);
    agglomerate(&clustering);
    mem_free(clustering.centroids);
    return rank_groups(&clustering);
}
