/*
 * Fuzz target: any bytes as a timeline index. Checksums would refuse nearly all of them, so they
 * are put right first: what is tried is how the reader deals with an index that was written wrong.
 * Files are opened from memory, in blocks of just their size, so that every read beyond the end is
 * seen.
 */
#include "timeline/format.h"
#include "timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The linker puts these in the place of file_open and so on. */
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

/* How much of an index file of this size comes before the checksums; a multiple of 8. */
static size_t body_size(size_t size)
{
    size_t rest = size - sizeof(struct trailer);
    size_t checksums = (rest / (PAGE_SIZE + sizeof(uint64_t)) + 1) * sizeof(uint64_t);
    return rest > checksums ? (rest - checksums) / 8 * 8 : 0;
}

/* The same file with magic, checksums and their place as they should be; NULL when too short. */
static uint8_t *mended(const uint8_t *data, size_t size, size_t *mended_size)
{
    if (size < MAGIC_SIZE + sizeof(struct trailer))
        return NULL;
    struct trailer trailer;
    memcpy(&trailer, data + size - sizeof trailer, sizeof trailer);
    size_t body = body_size(size), pages = body / PAGE_SIZE + 1;
    if (body < MAGIC_SIZE)
        return NULL;
    trailer.checksums = body;
    *mended_size = body + pages * sizeof(uint64_t) + sizeof trailer;
    uint8_t *file = malloc(*mended_size);
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
    memcpy(file + *mended_size - sizeof trailer, &trailer, sizeof trailer);
    return file;
}

static volatile uint64_t seen; /* so that what is read counts as used */

static void look_at_name(const struct timeline *timeline, uint32_t number)
{
    struct text name = timeline_name_at(timeline, number);
    for (size_t i = 0; i < name.size; i += name.size / 2 + 1)
        seen += (uint8_t)name.data[i] + (uint8_t)name.data[name.size - 1];
}

/* Reads all of an answer, as whoever draws it would. */
static void look_through(const struct timeline *timeline, const struct timeline_result *answer)
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
                look_at_name(timeline, item->name);
        }
    }
}

static void ask_all(struct timeline *timeline)
{
    uint32_t tracks[4], count = timeline_track_count(timeline), named = 0;
    int64_t first, last;
    timeline_span(timeline, &first, &last);
    for (uint32_t i = 0; i < count; i++) {
        const struct timeline_track *track = timeline_track_at(timeline, i);
        look_at_name(timeline, track->name);
        look_at_name(timeline, track->table);
        if (track->row_count > 0 && named < 4)
            tracks[named++] = i;
    }
    uint64_t span = (uint64_t)last - (uint64_t)first;
    int64_t third = (int64_t)((uint64_t)first + span / 3);
    const struct timeline_query queries[] = {
        {tracks, named, INT64_MIN, INT64_MAX, 1},
        {tracks, named, first, add_saturated(last, 1), 100},
        {tracks, named, third, add_saturated(third, 50), 2000},
        {tracks, named, third, last, 7},
        {tracks, named, 0, 4096, 64},
    };
    struct timeline_result answer = {0};
    struct error err;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (timeline_query(timeline, &queries[i], &answer, &err))
            look_through(timeline, &answer);
    timeline_result_free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t file_size;
    uint8_t *file = mended(data, size, &file_size);
    struct timeline *timeline;
    struct error err;
    if (!file)
        return 0;
    fuzzed = (struct file){file, file_size};
    if (timeline_open(&timeline, "fuzzed", &err)) {
        ask_all(timeline);
        timeline_close(timeline);
    }
    free(file);
    return 0;
}
