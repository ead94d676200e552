/*
 * Fuzz target: any input as a timeline index. Checksums would reject nearly all inputs, so they are
 * corrected first: the target is the reader's handling of an index with valid checksums and bad
 * content. Files are opened from memory, in blocks of their exact size, so that ASan catches every
 * read beyond the end.
 */
#include "store/timeline/format.h"
#include "store/timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replace file_open and so on, with the linker's --wrap. */
bool __wrap_file_open(struct file *file, const char *path, struct error *err);
void __wrap_file_close(struct file *file);
void __wrap_file_release(const struct file *file, const uint8_t *data, size_t size);

static struct file fuzzed;

bool __wrap_file_open(struct file *file, const char *path, struct error *err)
{
    (void)path, (void)err;
    *file = fuzzed;
    return true;
}

void __wrap_file_close(struct file *file)
{
    *file = (struct file){0};
}

void __wrap_file_release(const struct file *file, const uint8_t *data, size_t size)
{
    (void)file, (void)data, (void)size;
}

/* The offset of the checksums in an index file of this size; a multiple of 8. */
static size_t body_size(size_t size)
{
    size_t rest = size - sizeof(struct trailer);
    size_t checksums = (rest / (PAGE_SIZE + sizeof(uint64_t)) + 1) * sizeof(uint64_t);
    return rest > checksums ? (rest - checksums) / 8 * 8 : 0;
}

/* A copy of the file with correct magic, checksums and checksum offset; NULL when it is too
 * short. */
static uint8_t *with_checksums(const uint8_t *data, size_t size, size_t *corrected_size)
{
    if (size < MAGIC_SIZE + sizeof(struct trailer))
        return NULL;
    struct trailer trailer;
    memcpy(&trailer, data + size - sizeof trailer, sizeof trailer);
    size_t body = body_size(size), pages = body / PAGE_SIZE + 1;
    if (body < MAGIC_SIZE)
        return NULL;
    trailer.checksums = body;
    *corrected_size = body + pages * sizeof(uint64_t) + sizeof trailer;
    uint8_t *file = malloc(*corrected_size);
    memcpy(file, data, body);
    memcpy(file, TIMELINE_MAGIC, MAGIC_SIZE);
    for (size_t page = 0; page < pages; page++) {
        size_t start = page * PAGE_SIZE, left = body - start;
        uint64_t sum =
            hash_content(file + start, left < PAGE_SIZE ? left : PAGE_SIZE, CHECKSUM_SEED);
        memcpy(file + body + page * sizeof sum, &sum, sizeof sum);
    }
    uint64_t own =
        hash_content(&trailer, offsetof(struct trailer, checksum_of_checksums), CHECKSUM_SEED);
    trailer.checksum_of_checksums = hash_content(file + body, pages * sizeof(uint64_t), own);
    memcpy(trailer.magic, TIMELINE_TRAILER, MAGIC_SIZE);
    memcpy(file + *corrected_size - sizeof trailer, &trailer, sizeof trailer);
    return file;
}

static volatile uint64_t seen; /* keeps the reads from being optimized away */

static void read_name_of(const struct timeline *timeline, uint32_t number)
{
    struct text name = timeline_name_at(timeline, number);
    for (size_t i = 0; i < name.size; i += name.size / 2 + 1)
        seen += (uint8_t)name.data[i] + (uint8_t)name.data[name.size - 1];
}

/* Reads all of a result, as the renderer would. */
static void read_answer(const struct timeline *timeline, const struct timeline_result *answer)
{
    const struct timeline_row *row;
    array_each (row, &answer->rows) {
        bool is_counter = timeline_track_at(timeline, row->track)->is_counter;
        if (row->item_count > answer->items.count ||
            row->first_item > answer->items.count - row->item_count)
            abort();
        for (size_t i = 0; i < row->item_count; i++) {
            const struct timeline_item *item = &answer->items.items[row->first_item + i];
            if (item->count == 0)
                abort();
            seen += item->count + (uint64_t)item->start_ps + (uint64_t)item->end_ps;
            if (!is_counter)
                read_name_of(timeline, item->name);
        }
    }
}

static size_t open_event(void *context, const struct timeline_event *event, size_t outer)
{
    uint64_t *left = context;
    seen += event->id + outer;
    return (*left)-- > 0 ? outer + 1 : TIMELINE_STOP;
}

static void close_event(void *context, size_t node, int64_t total_ps, int64_t self_ps)
{
    (void)context;
    seen += node + (uint64_t)total_ps + (uint64_t)self_ps;
}

static void walk_events(struct timeline *timeline, uint32_t track, int64_t from_ps, int64_t to_ps)
{
    uint64_t left = 10000;
    struct timeline_visitor visitor = {open_event, close_event, &left};
    struct error err;
    timeline_nest(timeline, track, from_ps, to_ps, from_ps % 2 != 0, &visitor, &err);
}

static void query_all(struct timeline *timeline)
{
    uint32_t tracks[4], count = timeline_track_count(timeline), named = 0;
    int64_t first, last;
    timeline_span(timeline, &first, &last);
    for (uint32_t i = 0; i < count; i++) {
        const struct timeline_track *track = timeline_track_at(timeline, i);
        read_name_of(timeline, track->name);
        read_name_of(timeline, track->table);
        if (track->row_count > 0 && named < 4)
            tracks[named++] = i;
    }
    uint64_t span = (uint64_t)last - (uint64_t)first;
    int64_t third = (int64_t)((uint64_t)first + span / 3);
    const struct timeline_query queries[] = {
        {tracks, named, INT64_MIN, INT64_MAX, 1, NULL},
        {tracks, named, first, add_saturated(last, 1), 100, NULL},
        {tracks, named, third, add_saturated(third, 50), 2000, NULL},
        {tracks, named, third, last, 7, NULL},
        {tracks, named, 0, 4096, 64, NULL},
    };
    struct timeline_result answer = {0};
    struct error err;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (timeline_query(timeline, &queries[i], &answer, &err))
            read_answer(timeline, &answer);
    timeline_result_free(&answer);
    for (uint32_t i = 0; i < named; i++) {
        walk_events(timeline, tracks[i], INT64_MIN, INT64_MAX);
        walk_events(timeline, tracks[i], third, last);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t file_size;
    uint8_t *file = with_checksums(data, size, &file_size);
    struct timeline *timeline;
    struct error err;
    if (!file)
        return 0;
    fuzzed = (struct file){file, file_size};
    if (timeline_open(&timeline, "fuzzed", &err)) {
        query_all(timeline);
        timeline_close(timeline);
    }
    free(file);
    return 0;
}
