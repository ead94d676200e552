/*
 * Limits on what a capture may declare.
 */
#include "model/limits.h"

enum {
    TRACKS = 100000,
    BYTES_PER_TRACK = 32,
    TYPES = 1000000,
    BYTES_PER_TYPE = 2,
    NAMES = 4000000,
    BYTES_PER_NAME = 2,
    USUAL_RATIO = 8, /* of compressed captures; some reach 30 */
};

struct catalog_limits catalog_limits;

void catalog_give(struct catalog *catalog, size_t bytes, bool is_packed)
{
    catalog->given_files++;
    catalog->given_bytes += bytes;
    mem_given(is_packed && bytes < SIZE_MAX / USUAL_RATIO ? bytes * USUAL_RATIO : bytes);
}

static size_t limit_of(const struct catalog *catalog, size_t chosen, size_t base, size_t bytes_each)
{
    size_t files = catalog->given_files ? catalog->given_files : 1;
    return chosen ? chosen * files : base * files + (size_t)(catalog->given_bytes / bytes_each);
}

static size_t max_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool within(size_t count, size_t limit, const char *what, const char *option,
                   const char *path, struct error *err)
{
    return count <= limit ||
           error_in_file(err, path,
                         "declares more than %zu %s, far more than captures of its size have; if "

                         "they are meant, raise the limit with --%s N",
                         limit, what, option);
}

bool catalog_check(const struct catalog *catalog, size_t more_tracks, const char *path,
                   struct error *err)
{
    size_t names = max_of(catalog->strings.by_id.count, catalog->names.count);
    names = max_of(names, catalog->operation_count);
    return within(catalog->tracks.count + more_tracks,
                  limit_of(catalog, catalog_limits.tracks, TRACKS, BYTES_PER_TRACK),
                  "lines, planes or threads", "track-limit", path, err) &&
           within(max_of(catalog->types.count, catalog->messages.count),
                  limit_of(catalog, catalog_limits.names, TYPES, BYTES_PER_TYPE),
                  "event types or messages", "name-limit", path, err) &&
           within(names, limit_of(catalog, catalog_limits.names, NAMES, BYTES_PER_NAME), "names",
                  "name-limit", path, err);
}
