/*
 * Opens the index. The directory is verified on open, the rest page by page on first use.
 */
#include "store/timeline/read.h"

/* Max pages in memory, and pages released at a time, which takes a fraction of a millisecond. */
enum { MAX_PAGES = (128 << 20) / PAGE_SIZE, RELEASE_PAGES = (16 << 20) / PAGE_SIZE };

bool timeline_damaged(const struct timeline *timeline, uint64_t offset, struct error *err)
{
    return error_at(err, timeline->path, offset,
                    "the timeline index is damaged; process the capture again");
}

static bool check_page(struct timeline *timeline, uint64_t page, struct error *err)
{
    uint64_t start = page * PAGE_SIZE, left = timeline->trailer.checksums - start;
    uint64_t sum = hash_content(timeline->file.data + start, left < PAGE_SIZE ? left : PAGE_SIZE,
                                CHECKSUM_SEED);
    return sum == timeline->checksums[page] || timeline_damaged(timeline, start, err);
}

const void *timeline_range(struct timeline *timeline, uint64_t offset, uint64_t size,
                           struct error *err)
{
    uint64_t end = timeline->trailer.checksums;
    if (offset > end || size > end - offset) {
        timeline_damaged(timeline, offset, err);
        return NULL;
    }
    for (uint64_t page = offset / PAGE_SIZE; page * PAGE_SIZE < offset + size; page++) {
        uint8_t known = atomic_load_explicit(&timeline->pages[page], memory_order_relaxed);
        if (known == PAGE_IN_MEMORY)
            continue;
        if (known == PAGE_UNKNOWN && !check_page(timeline, page, err))
            return NULL;
        if (atomic_exchange(&timeline->pages[page], PAGE_IN_MEMORY) != PAGE_IN_MEMORY)
            atomic_fetch_add(&timeline->in_memory, 1);
    }
    return timeline->file.data + offset;
}

/* Releases the next range of the file. Other threads may be reading it: their pages are read from
 * the file again. */
void timeline_trim(struct timeline *timeline)
{
    if (atomic_load(&timeline->in_memory) <= MAX_PAGES ||
        atomic_flag_test_and_set(&timeline->releasing))
        return;
    uint64_t end = timeline->trailer.checksums, first = timeline->next_release, page = first;
    size_t released = 0;
    for (; released < RELEASE_PAGES && page * PAGE_SIZE < end; page++) {
        uint8_t known = PAGE_IN_MEMORY;
        released += atomic_compare_exchange_strong(&timeline->pages[page], &known, PAGE_VERIFIED);
    }
    uint64_t start = first * PAGE_SIZE, stop = page * PAGE_SIZE;
    file_release(&timeline->file, timeline->file.data + start, (stop < end ? stop : end) - start);
    atomic_fetch_sub(&timeline->in_memory, released);
    timeline->next_release = stop < end ? page : 0;
    atomic_flag_clear(&timeline->releasing);
}

void timeline_release(struct timeline *timeline)
{
    uint64_t end = timeline->trailer.checksums;
    if (atomic_flag_test_and_set(&timeline->releasing))
        return;
    size_t released = 0;
    for (uint64_t page = 0; page * PAGE_SIZE < end; page++) {
        uint8_t known = PAGE_IN_MEMORY;
        released += atomic_compare_exchange_strong(&timeline->pages[page], &known, PAGE_VERIFIED);
    }
    file_release(&timeline->file, timeline->file.data, end);
    atomic_fetch_sub(&timeline->in_memory, released);
    atomic_flag_clear(&timeline->releasing);
}

/* The trailer is found from the file's end; the checksum over all checksums covers it, so that
 * pages can be trusted one by one later. */
static bool read_trailer(struct timeline *timeline, struct error *err)
{
    struct trailer *trailer = &timeline->trailer;
    const struct file *file = &timeline->file;
    if (file->size < MAGIC_SIZE + sizeof *trailer ||
        memcmp(file->data, TIMELINE_MAGIC, MAGIC_SIZE) != 0)
        return error_in_file(err, timeline->path,
                             "not a timeline index of this version; process the capture again");
    memcpy(trailer, file->data + file->size - sizeof *trailer, sizeof *trailer);
    if (memcmp(trailer->magic, TIMELINE_TRAILER, MAGIC_SIZE) != 0)
        return error_in_file(err, timeline->path,
                             "the timeline index is truncated; process the capture again");
    uint64_t end = file->size - sizeof *trailer;
    if (trailer->checksums > end || trailer->directory > trailer->checksums ||
        trailer->directory % 8 != 0 || trailer->checksums % 8 != 0 ||
        end - trailer->checksums !=
            (trailer->checksums / PAGE_SIZE + 1) * sizeof *timeline->checksums)
        return timeline_damaged(timeline, end, err);
    const void *checksums = file->data + trailer->checksums;
    timeline->checksums = checksums;
    uint64_t own =
        hash_content(trailer, offsetof(struct trailer, checksum_of_checksums), CHECKSUM_SEED);
    if (hash_content(timeline->checksums, end - trailer->checksums, own) !=
        trailer->checksum_of_checksums)
        return timeline_damaged(timeline, trailer->checksums, err);
    timeline->pages = mem_zeroed(trailer->checksums / PAGE_SIZE + 1, sizeof *timeline->pages);
    return true;
}

/* Checks every reference, so that queries need not. Parents come before their children, which rules
 * out cycles. */
static bool read_tracks(struct timeline *timeline, const struct track_entry *entries,
                        struct error *err)
{
    const struct trailer *trailer = &timeline->trailer;
    timeline->tracks = mem_alloc(trailer->track_count * sizeof *timeline->tracks);
    for (uint32_t i = 0; i < trailer->track_count; i++) {
        const struct track_entry *entry = &entries[i];
        if (entry->name >= trailer->name_count || entry->table >= trailer->name_count ||
            entry->first_row > trailer->row_count ||
            entry->row_count > trailer->row_count - entry->first_row ||
            (entry->parent != TIMELINE_NONE && entry->parent >= i))
            return timeline_damaged(timeline, trailer->directory, err);
        timeline->tracks[i] = (struct timeline_track){.parent = entry->parent,
                                                      .level = entry->level,
                                                      .role = entry->role,
                                                      .name = entry->name,
                                                      .table = entry->table,
                                                      .is_counter = entry->is_counter,
                                                      .first_id = entry->first_id,
                                                      .sort_key = entry->sort_key,
                                                      .events = entry->events,
                                                      .first_row = entry->first_row,
                                                      .row_count = entry->row_count};
    }
    return true;
}

/* Rows and names are used in place, in the mapped file; only tracks are copied. Name ends must not
 * decrease, so that every name lies inside. */
static bool read_directory(struct timeline *timeline, struct error *err)
{
    const struct trailer *trailer = &timeline->trailer;
    uint64_t size = trailer->checksums - trailer->directory;
    uint64_t tracks_size = trailer->track_count * sizeof(struct track_entry);
    uint64_t rows_size = trailer->row_count * sizeof(struct row_entry);
    uint64_t ends_size = trailer->name_count * sizeof *timeline->name_ends;
    const uint8_t *directory = timeline_range(timeline, trailer->directory, size, err);
    if (!directory)
        return false;
    if (tracks_size + rows_size + ends_size > size || trailer->name_count == 0)
        return timeline_damaged(timeline, trailer->directory, err);
    const void *tracks = directory, *rows = directory + tracks_size;
    const void *ends = directory + tracks_size + rows_size;
    timeline->rows = rows;
    timeline->name_ends = ends;
    timeline->names = (const char *)directory + tracks_size + rows_size + ends_size;
    uint64_t before = 0;
    for (uint32_t i = 0; i < trailer->name_count; i++) {
        if (timeline->name_ends[i] < before ||
            timeline->name_ends[i] > size - tracks_size - rows_size - ends_size)
            return timeline_damaged(timeline, trailer->directory, err);
        before = timeline->name_ends[i];
    }
    return read_tracks(timeline, tracks, err);
}

bool timeline_open(struct timeline **result, const char *path, struct error *err)
{
    struct timeline *timeline = mem_zeroed(1, sizeof *timeline);
    timeline->path = mem_copy_text(path, strlen(path));
    if (!file_open(&timeline->file, path, err) || !read_trailer(timeline, err) ||
        !read_directory(timeline, err)) {
        timeline_close(timeline);
        return false;
    }
    *result = timeline;
    return true;
}

void timeline_close(struct timeline *timeline)
{
    if (!timeline)
        return;
    file_close(&timeline->file);
    mem_free(timeline->path);
    mem_free((void *)timeline->pages);
    mem_free(timeline->tracks);
    mem_free(timeline);
}

uint32_t timeline_track_count(const struct timeline *timeline)
{
    return timeline->trailer.track_count;
}

const struct timeline_track *timeline_track_at(const struct timeline *timeline, uint32_t track)
{
    return &timeline->tracks[track];
}

struct text timeline_name_at(const struct timeline *timeline, uint32_t name)
{
    if (name >= timeline->trailer.name_count)
        return TEXT("");
    uint64_t start = name ? timeline->name_ends[name - 1] : 0;
    return (struct text){timeline->names + start, timeline->name_ends[name] - start};
}

void timeline_span(const struct timeline *timeline, int64_t *first_ps, int64_t *last_ps)
{
    *first_ps = timeline->trailer.first_ps;
    *last_ps = timeline->trailer.last_ps;
}

void timeline_focus(const struct timeline *timeline, int64_t *from_ps, int64_t *to_ps)
{
    *from_ps = timeline->trailer.focus_from_ps;
    *to_ps = timeline->trailer.focus_to_ps;
}
