/*
 * Groups of lanes that behave alike over steps: agglomeration of centroids, which begins with
 * leaders so that 10,000 lanes take a fraction of a second. Without chance: the same lanes give the
 * same groups.
 */
#ifndef KYMO_REPORT_FLEET_CLUSTER_H
#define KYMO_REPORT_FLEET_CLUSTER_H

#include "base/base.h"

enum { CLUSTER_FEATURES = 64, MAX_CLUSTERS = 16, MAX_LEADERS = 256 };

struct cluster_input {
    const float *features;  /* lane by lane; 0 is what the typical lane has */
    size_t lanes, width;    /* width: features of a lane, at most CLUSTER_FEATURES */
    double least;           /* groups that differ less (root mean square) are one */
    const double *slowness; /* of each lane: what groups are ordered by */
};

/* Puts the group of each lane into groups, numbered from the largest mean slowness to the least,
 * and by their first lane where that is equal. Returns how many there are. */
size_t cluster_lanes(const struct cluster_input *input, uint32_t *groups);

#endif
