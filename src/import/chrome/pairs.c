/*
 * Chrome trace JSON, between the passes: counts the events of each track in each chunk, and pairs
 * start and stop events.
 */
#include "import/chrome/chrome_passes.h"

/* The part of a chunk for a track, created if missing. */
static struct chrome_part *part_of(struct chrome_source *source, struct chrome_chunk *chunk,
                                   uint32_t *part_of_track, uint32_t track)
{
    uint32_t known = part_of_track[track];
    if (known < chunk->parts && source->parts.items[chunk->first_part + known].track == track)
        return &source->parts.items[chunk->first_part + known];
    part_of_track[track] = (uint32_t)chunk->parts++;
    struct chrome_part *part = array_push(&source->parts);
    *part = (struct chrome_part){.track = track,
                                 .first = source->source.catalog.tracks.items[track].events};
    return part;
}

void chrome_parts(struct chrome_source *source, size_t first_chunk,
                  const struct chrome_survey *survey)
{
    struct catalog *catalog = &source->source.catalog;
    uint32_t *part_of_track = mem_zeroed(catalog->tracks.count, sizeof *part_of_track);
    size_t at = 0;
    for (size_t i = 0; i < survey->chunk_counts.count; i++) {
        struct chrome_chunk *chunk = &source->chunks.items[first_chunk + i];
        chunk->first_part = source->parts.count;
        for (size_t left = survey->chunk_counts.items[i]; left > 0; left--) {
            const struct chrome_count *count = &survey->counts.items[at++];
            uint32_t track = source->tracks.items[count->lane];
            part_of(source, chunk, part_of_track, track)->count += count->count;
            catalog->tracks.items[track].events += count->count;
        }
    }
    mem_free(part_of_track);
}

static bool by_time(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct chrome_mark *m = a, *n = b;
    if (m->group != n->group)
        return m->group < n->group;
    return m->time_ps != n->time_ps ? m->time_ps < n->time_ps : m->position < n->position;
}

static bool by_begin(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct chrome_pair *)a)->begin < ((const struct chrome_pair *)b)->begin;
}

typedef ARRAY(uint64_t) offset_list;

/* Pairs the marks of one group in time order: a stop ends the latest start. Returns the number of
 * unmatched stops. */
static uint64_t pair_group(struct chrome_source *source, const struct chrome_mark *marks,
                           size_t count, offset_list *open)
{
    uint64_t left_over = 0;
    open->count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t position = marks[i].position / 2;
        if (marks[i].position % 2 == 0)
            *array_push(open) = position;
        else if (open->count > 0)
            *array_push(&source->pairs) =
                (struct chrome_pair){.begin = open->items[--open->count], .end = position};
        else
            left_over++;
    }
    if (open->count == 0)
        return left_over;
    *array_push(&source->open_ends) = marks[count - 1].time_ps;
    while (open->count > 0)
        *array_push(&source->pairs) =
            (struct chrome_pair){.begin = open->items[--open->count],
                                 .end = CHROME_OPEN | (source->open_ends.count - 1)};
    return left_over;
}

/* Sets the index of each chunk's first pair. */
static void share_out(struct chrome_source *source, uint32_t file, size_t first_chunk,
                      size_t first_pair)
{
    const char *data = source->files.items[file].data;
    size_t at = first_pair;
    for (size_t i = first_chunk; i < source->chunks.count; i++) {
        struct chrome_chunk *chunk = &source->chunks.items[i];
        uint64_t begin = (uint64_t)(chunk->data - data);
        while (at < source->pairs.count && source->pairs.items[at].begin < begin)
            at++;
        chunk->first_pair = at;
        mem_touched(MEM_JUMP);
    }
}

uint64_t chrome_pairs(struct chrome_source *source, uint32_t file, size_t first_chunk,
                      struct chrome_survey *survey)
{
    size_t first_pair = source->pairs.count, count = survey->marks.count;
    const struct chrome_mark *marks = survey->marks.items;
    offset_list open = {0};
    uint64_t left_over = 0;
    sort_items(survey->marks.items, count, sizeof *survey->marks.items, by_time, NULL);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && marks[end].group == marks[first].group; end++)
            if (end % 4096 == 0)
                mem_touched((size_t)2 * 4096 * sizeof *marks);
        left_over += pair_group(source, marks + first, end - first, &open);
    }
    array_free(&open);
    if (source->pairs.count > first_pair)
        sort_items(source->pairs.items + first_pair, source->pairs.count - first_pair,
                   sizeof *source->pairs.items, by_begin, NULL);
    share_out(source, file, first_chunk, first_pair);
    return left_over;
}
