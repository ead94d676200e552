/*
 * XPlane, between the passes: aligns hosts by their wall-clock start times, and converts every
 * line's timestamp to a time of the profile.
 */
#include "import/xplane/xplane_passes.h"

enum { NS_PER_SECOND = 1000000000, PS_PER_NS = 1000 };

/* Later timestamps (than the year 2000) are epoch time, not time since the start. */
static const int64_t EPOCH_TIMES_FROM_NS = 946684800LL * NS_PER_SECOND;

/* Files that were not written by a profiling session have epoch times and no start: the earliest
 * time is used. */
static void guess_starts(struct xplane_source *source)
{
    struct catalog *catalog = &source->source.catalog;
    bool *guessed = mem_zeroed(catalog->hosts.count, sizeof *guessed);
    for (size_t i = 0; i < catalog->hosts.count; i++)
        guessed[i] = catalog->hosts.items[i].start_epoch_ns == TIME_UNSET;
    const struct xplane_line *line;
    array_each (line, &source->lines) {
        uint32_t file = source->planes.items[line->plane].file;
        struct host *host = &catalog->hosts.items[file];
        if (guessed[file] && line->timestamp_ns >= EPOCH_TIMES_FROM_NS &&
            (host->start_epoch_ns == TIME_UNSET || line->timestamp_ns < host->start_epoch_ns))
            host->start_epoch_ns = line->timestamp_ns;
    }
    mem_free(guessed);
}

/* The earliest known start is time 0. A host whose start is unknown or too far away begins there
 * too, with a message. */
static void align_hosts(struct catalog *catalog)
{
    struct host *host;
    array_each (host, &catalog->hosts) {
        if (host->start_epoch_ns == TIME_UNSET)
            continue;
        if (catalog->start_epoch_ns == TIME_UNSET || host->start_epoch_ns < catalog->start_epoch_ns)
            catalog->start_epoch_ns = host->start_epoch_ns;
        if (host->stop_epoch_ns != TIME_UNSET && host->stop_epoch_ns > catalog->stop_epoch_ns)
            catalog->stop_epoch_ns = host->stop_epoch_ns;
    }
    array_each (host, &catalog->hosts) {
        int64_t apart_ns;
        bool known = host->start_epoch_ns != TIME_UNSET;
        if (known &&
            !__builtin_sub_overflow(host->start_epoch_ns, catalog->start_epoch_ns, &apart_ns) &&
            !__builtin_mul_overflow(apart_ns, (int64_t)PS_PER_NS, &host->shift_ps))
            continue;
        host->shift_ps = 0;
        const char *text = known ? "its clock differs by more than 106 days from the other hosts; "
                                   "shown as if it started with them"
                                 : "no Task Environment plane: the absolute time is unknown, and "
                                   "if the file was truncated, planes may be missing";
        *array_push(&catalog->messages) =
            (struct message){.host = (uint32_t)(host - catalog->hosts.items),
                             .is_ours = true,
                             .text = catalog_string(catalog, text_of(text))};
    }
}

bool xplane_align(struct xplane_source *source, struct error *err)
{
    struct catalog *catalog = &source->source.catalog;
    guess_starts(source);
    align_hosts(catalog);
    struct xplane_chunk *chunk;
    array_each (chunk, &source->chunks) {
        uint32_t file = source->planes.items[chunk->plane].file;
        const struct host *host = &catalog->hosts.items[file];
        int64_t stamp_ns = chunk->stamp_ns;
        bool is_epoch = stamp_ns >= host->start_epoch_ns || stamp_ns >= EPOCH_TIMES_FROM_NS;
        if (host->start_epoch_ns != TIME_UNSET && host->start_epoch_ns > 0 && is_epoch)
            stamp_ns -= host->start_epoch_ns;
        int64_t stamp_ps;
        if (__builtin_mul_overflow(stamp_ns, (int64_t)PS_PER_NS, &stamp_ps) ||
            __builtin_add_overflow(stamp_ps, host->shift_ps, &chunk->base_ps))
            return xplane_damaged(&source->files.items[file], chunk->data,
                                  "the timestamp of a line is out of range", err);
    }
    return true;
}
