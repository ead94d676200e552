/*
 * Merged sources, internal: maps the numbers of a part's catalog to those of the merged one.
 */
#ifndef KYMO_IMPORT_MERGED_MERGED_PASSES_H
#define KYMO_IMPORT_MERGED_MERGED_PASSES_H

#include "import/merged/merged.h"

struct part_map {
    uint32_t *strings, *tracks; /* by the part's numbers */
    size_t string_count;
    uint32_t first_type; /* added to its types except 0, which is the same everywhere */
    uint32_t first_host; /* added to its hosts */
    int64_t shift_ps;    /* added to its times */
};

/* Adds a part's catalog; map->shift_ps must be set. Free the map with part_map_free. */
void merge_catalog(struct catalog *to, const struct catalog *from, struct part_map *map);
void part_map_free(struct part_map *map);

static inline uint32_t map_type(const struct part_map *map, uint32_t type)
{
    return type == 0 ? 0 : type + map->first_type;
}

static inline void map_args(const struct part_map *map, struct arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        args[i].key = map->strings[args[i].key];
        if (args[i].type == ARG_STRING)
            args[i].string = map->strings[args[i].string];
    }
}

/* Finds the machines and processes of a part that are already in the merged catalog: sets tracks[i]
 * to the track for the part's track i, TRACK_NONE for new ones. The part's strings must have been
 * added. */
void match_tracks(const struct catalog *to, const struct catalog *from, const uint32_t *strings,
                  uint32_t *tracks);

#endif
