/*
 * Segments, in pages, so that splitting one moves few others.
 */
#include "neuron/compiler/shadow.h"

enum { PAGE_BITS = 12, PAGE_BYTES = 1 << PAGE_BITS };
#define NO_READ UINT32_MAX

struct segment {
    uint32_t first, end; /* bytes of the page */
    uint32_t timeline, step, part, owner;
    uint32_t reads; /* list of reads since the write, or NO_READ */
};

struct read {
    uint32_t timeline, step, next;
};

struct page {
    struct segment *items;
    size_t count, capacity;
};

struct shadow {
    struct page *pages;
    uint64_t page_count, segment_count;
    ARRAY(struct read) reads;
    uint32_t free_read;
};

struct shadow *shadow_new(uint64_t bytes)
{
    struct shadow *shadow = mem_zeroed(1, sizeof *shadow);
    shadow->page_count = (bytes >> PAGE_BITS) + 1;
    shadow->pages = mem_zeroed(shadow->page_count, sizeof *shadow->pages);
    shadow->free_read = NO_READ;
    return shadow;
}

void shadow_free(struct shadow *shadow)
{
    for (uint64_t i = 0; i < shadow->page_count; i++)
        mem_free(shadow->pages[i].items);
    mem_free(shadow->pages);
    array_free(&shadow->reads);
    mem_free(shadow);
}

static uint32_t read_add(struct shadow *shadow, uint32_t timeline, uint32_t step, uint32_t next)
{
    uint32_t index = shadow->free_read;
    if (index != NO_READ)
        shadow->free_read = shadow->reads.items[index].next;
    else {
        index = (uint32_t)shadow->reads.count;
        array_push(&shadow->reads);
    }
    shadow->reads.items[index] = (struct read){timeline, step, next};
    return index;
}

static void reads_drop(struct shadow *shadow, uint32_t list)
{
    while (list != NO_READ) {
        uint32_t next = shadow->reads.items[list].next;
        shadow->reads.items[list].next = shadow->free_read;
        shadow->free_read = list;
        list = next;
    }
}

static uint32_t reads_copy(struct shadow *shadow, uint32_t list)
{
    uint32_t copy = NO_READ;
    for (; list != NO_READ; list = shadow->reads.items[list].next) {
        struct read read = shadow->reads.items[list];
        copy = read_add(shadow, read.timeline, read.step, copy);
    }
    return copy;
}

/* The first segment that ends after `at`. */
static size_t find_segment(const struct page *page, uint32_t at)
{
    size_t low = 0, high = page->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (page->items[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct segment *insert(struct shadow *shadow, struct page *page, size_t index)
{
    array_push(page);
    shadow->segment_count++;
    memmove(&page->items[index + 1], &page->items[index],
            (page->count - 1 - index) * sizeof *page->items);
    return &page->items[index];
}

/* Makes `at` a border between segments. */
static void split(struct shadow *shadow, struct page *page, uint32_t at)
{
    size_t index = find_segment(page, at);
    if (index == page->count || page->items[index].first >= at)
        return;
    struct segment *second = insert(shadow, page, index + 1);
    struct segment *first = second - 1;
    *second = *first;
    second->reads = reads_copy(shadow, first->reads);
    first->end = second->first = at;
}

static bool is_before(const struct shadow_event *event, uint32_t timeline, uint32_t step)
{
    return event->clock[timeline] >= step;
}

static bool conflict_with(struct shadow_conflict *conflict, enum shadow_problem problem,
                          const struct segment *segment, uint64_t base)
{
    *conflict = (struct shadow_conflict){problem, base + segment->first, segment->timeline,
                                         segment->step, segment->owner};
    return false;
}

/* Adds a read; reads that are complete before it are implied by it. */
static void add_read(struct shadow *shadow, struct segment *segment,
                     const struct shadow_event *event)
{
    uint32_t kept = NO_READ;
    for (uint32_t list = segment->reads, next; list != NO_READ; list = next) {
        struct read *read = &shadow->reads.items[list];
        next = read->next;
        bool is_same = read->timeline == event->timeline && read->step == event->step;
        if (is_same || is_before(event, read->timeline, read->step)) {
            read->next = shadow->free_read;
            shadow->free_read = list;
        } else {
            read->next = kept;
            kept = list;
        }
    }
    segment->reads = read_add(shadow, event->timeline, event->step, kept);
}

static bool read_page(struct shadow *shadow, uint64_t base, uint32_t first, uint32_t end,
                      const struct shadow_event *event, struct shadow_conflict *conflict)
{
    struct page *page = &shadow->pages[base >> PAGE_BITS];
    split(shadow, page, first);
    split(shadow, page, end);
    uint32_t at = first;
    for (size_t i = find_segment(page, first); at < end; i++) {
        if (i == page->count || page->items[i].first > at) {
            *conflict = (struct shadow_conflict){.problem = SHADOW_UNWRITTEN, .address = base + at};
            return false;
        }
        struct segment *segment = &page->items[i];
        if (!is_before(event, segment->timeline, segment->step))
            return conflict_with(conflict, SHADOW_READ_EARLY, segment, base);
        if (segment->owner != event->owner)
            return conflict_with(conflict, SHADOW_DEAD, segment, base);
        add_read(shadow, segment, event);
        at = segment->end;
    }
    return true;
}

static bool can_write(struct shadow *shadow, const struct segment *segment, uint64_t base,
                      const struct shadow_event *event, struct shadow_conflict *conflict)
{
    bool is_own = segment->timeline == event->timeline && segment->step == event->step &&
                  segment->part == event->part;
    if (!is_own && !is_before(event, segment->timeline, segment->step))
        return conflict_with(conflict, SHADOW_WRITE_EARLY, segment, base);
    for (uint32_t list = segment->reads; list != NO_READ; list = shadow->reads.items[list].next) {
        const struct read *read = &shadow->reads.items[list];
        bool is_same = read->timeline == event->timeline && read->step == event->step;
        if (is_same || is_before(event, read->timeline, read->step))
            continue;
        conflict_with(conflict, SHADOW_WRITE_READ, segment, base);
        conflict->timeline = read->timeline;
        conflict->step = read->step;
        return false;
    }
    return true;
}

static bool write_page(struct shadow *shadow, uint64_t base, uint32_t first, uint32_t end,
                       const struct shadow_event *event, struct shadow_conflict *conflict)
{
    struct page *page = &shadow->pages[base >> PAGE_BITS];
    split(shadow, page, first);
    split(shadow, page, end);
    size_t begin = find_segment(page, first), last = begin;
    for (; last < page->count && page->items[last].first < end; last++) {
        if (!can_write(shadow, &page->items[last], base, event, conflict))
            return false;
        reads_drop(shadow, page->items[last].reads);
    }
    if (begin == last) {
        insert(shadow, page, begin);
    } else {
        memmove(&page->items[begin + 1], &page->items[last],
                (page->count - last) * sizeof *page->items);
        page->count -= last - begin - 1;
        shadow->segment_count -= last - begin - 1;
    }
    page->items[begin] = (struct segment){first,       end,          event->timeline, event->step,
                                          event->part, event->owner, NO_READ};
    return true;
}

typedef bool page_access(struct shadow *shadow, uint64_t base, uint32_t first, uint32_t end,
                         const struct shadow_event *event, struct shadow_conflict *conflict);

static bool each_page(struct shadow *shadow, page_access *access, uint64_t first, uint64_t end,
                      const struct shadow_event *event, struct shadow_conflict *conflict)
{
    while (first < end) {
        if (shadow->segment_count >= SHADOW_SEGMENTS) {
            *conflict = (struct shadow_conflict){.problem = SHADOW_FULL};
            return false;
        }
        uint64_t base = first & ~(uint64_t)(PAGE_BYTES - 1);
        uint64_t stop = end < base + PAGE_BYTES ? end : base + PAGE_BYTES;
        if (!access(shadow, base, (uint32_t)(first - base), (uint32_t)(stop - base), event,
                    conflict))
            return false;
        first = stop;
    }
    return true;
}

bool shadow_read(struct shadow *shadow, uint64_t first, uint64_t end,
                 const struct shadow_event *event, struct shadow_conflict *conflict)
{
    return each_page(shadow, read_page, first, end, event, conflict);
}

bool shadow_write(struct shadow *shadow, uint64_t first, uint64_t end,
                  const struct shadow_event *event, struct shadow_conflict *conflict)
{
    return each_page(shadow, write_page, first, end, event, conflict);
}
