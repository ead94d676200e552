/*
 * Measures of lanes in steps as matrices, one file a run, made by the analysis: a picture of any
 * part, by any order of lanes, is one pass over what it shows.
 *
 * The file, heatmap.kymo, has a header of 96 bytes (struct heatmap_header), then for each measure
 * lanes x steps numbers, lane by lane: 32-bit floating point, little-endian, NaN where the lane has
 * no such step. Lanes are in the order of rank and device, steps in that of their numbers.
 *
 * Each measure has a scale: the values at which colors begin and end, whatever part of the run is
 * shown.
 */
#ifndef KYMO_REPORT_FLEET_HEATMAP_H
#define KYMO_REPORT_FLEET_HEATMAP_H

#include "base/base.h"

#define HEATMAP_FILE "heatmap.kymo"

enum { HEATMAP_EXCESS, HEATMAP_MEASURES = 8 };
extern const char
    *const heatmap_measures[HEATMAP_MEASURES]; /* columns of queries/parts/measured.sql */

struct heatmap_scale {
    float low, high;
};
struct heatmap_header {
    char magic[8];
    uint32_t version, measures, lanes, steps;
    struct heatmap_scale scales[HEATMAP_MEASURES];
    uint8_t rest[8];
};
#define HEATMAP_MAGIC "kymoheat"
enum { HEATMAP_VERSION = 3 };

struct heatmap {
    struct file file;
    size_t lanes, steps; /* both 0 where ranks have too few steps in common for matrices */
    struct heatmap_scale scales[HEATMAP_MEASURES];
};
bool heatmap_open(struct heatmap *map, const char *directory, struct error *err);
void heatmap_close(struct heatmap *map);
/* The values of a lane, one for each step. */
const float *heatmap_lane(const struct heatmap *map, size_t measure, size_t lane);

/* The scale of values, NaN or not: from ten robust standard deviations (1.4826 times the median
 * distance from the median) below the median to ten above it, so that noise has nearly one color
 * and outliers have others, but not beyond the smallest and the largest value. Values that deviate
 * from zero to both sides (is_signed) have a scale that ends at the same distance on both sides.
 * Both ends are 0 if there are no values. queries/run_scales.sql of figures is the same in SQL. */
struct heatmap_scale heatmap_scale(const float *values, size_t count, bool is_signed);

/* Positions, first and last, and into how many cells they are divided: position p is in cell
 * (p - first) * cells / (last - first + 1). */
struct heatmap_range {
    size_t first, last, cells;
};
struct heatmap_view {
    size_t measure;
    const uint32_t *lanes; /* in the order in which they are drawn; as many as the map has */
    struct heatmap_range rows, steps;
};
/* The largest and the mean value of each cell, row by row; NaN where nothing is. */
void heatmap_draw(const struct heatmap *map, const struct heatmap_view *view, float *max,
                  float *mean);
/* Where the largest value of the view is; false if it has none. */
struct heatmap_place {
    size_t row, step;
    float value;
};
bool heatmap_worst(const struct heatmap *map, const struct heatmap_view *view,
                   struct heatmap_place *place);

#endif
