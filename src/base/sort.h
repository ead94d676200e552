/*
 * A stable natural merge sort: ascending runs are found first and then merged with runs of similar
 * size. Sorted input costs one comparison per item, and concatenated sorted lists cost only their
 * merging. Inlined at the call site, so that comparing is not a call; its buffer is allocated like
 * any block, whereas qsort takes as much heap memory again.
 */
#ifndef KYMO_BASE_SORT_H
#define KYMO_BASE_SORT_H

#include "base/memory.h"

#include <string.h>

/* Whether a must come before b. */
typedef bool sort_before(const void *a, const void *b, const void *context);

#define SORT_INLINE static inline __attribute__((always_inline))

enum {
    SORT_MIN_RUN = 16, /* shorter runs are extended by insertion sort */
    SORT_MAX_RUNS = 68,
    SORT_SLICE = 1024,            /* items merged between two checks of resident memory */
    SORT_SLICE_TOUCHES = 1 << 20, /* bytes that comparing them may fault in */
    SORT_COPIED_AT_ONCE = 256 << 10,
};

struct sort {
    char *items, *buffer;
    size_t count, size; /* items, and bytes of each */
    sort_before *before;
    const void *context;
};

struct sort_run {
    size_t first, end;
    unsigned power; /* of the boundary after it, see sort_power */
};

SORT_INLINE char *sort_at(const struct sort *sort, size_t index)
{
    return sort->items + index * sort->size;
}

/* The length of the ascending run that starts at `first`. */
SORT_INLINE size_t sort_run_length(const struct sort *sort, size_t first)
{
    size_t end = first + 1;
    while (end < sort->count &&
           !sort->before(sort_at(sort, end), sort_at(sort, end - 1), sort->context))
        end++;
    return end - first;
}

/* Extends a run of `sorted` items to `wanted` by insertion. */
SORT_INLINE void sort_insert(const struct sort *sort, size_t first, size_t sorted, size_t wanted)
{
    for (size_t i = first + sorted; i < first + wanted; i++) {
        size_t to = i;
        memcpy(sort->buffer, sort_at(sort, i), sort->size);
        for (; to > first && sort->before(sort->buffer, sort_at(sort, to - 1), sort->context); to--)
            memcpy(sort_at(sort, to), sort_at(sort, to - 1), sort->size);
        memcpy(sort_at(sort, to), sort->buffer, sort->size);
    }
}

/* The first of [low, high) that sorts after `item`, or that does not sort before it. */
SORT_INLINE size_t sort_find(const struct sort *sort, size_t low, size_t high, const char *item,
                             bool behind)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = sort_at(sort, middle);
        bool go_on = behind ? !sort->before(item, other, sort->context)
                            : sort->before(other, item, sort->context);
        if (go_on)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Copies slice by slice, announcing each to the memory limit. */
SORT_INLINE void sort_copy(char *to, const char *from, size_t bytes)
{
    while (bytes > 0) {
        size_t slice = bytes < SORT_COPIED_AT_ONCE ? bytes : SORT_COPIED_AT_ONCE;
        memcpy(to, from, slice);
        mem_touched(slice * 2);
        to += slice;
        from += slice;
        bytes -= slice;
    }
}

/* Merges [first, middle) with [middle, end); items already in position are not moved. */
SORT_INLINE void sort_merge(const struct sort *sort, size_t first, size_t middle, size_t end)
{
    first = sort_find(sort, first, middle, sort_at(sort, middle), true);
    if (first == middle)
        return;
    end = sort_find(sort, middle, end, sort_at(sort, middle - 1), false);
    size_t left_size = (middle - first) * sort->size;
    sort_copy(sort->buffer, sort_at(sort, first), left_size);
    const char *left = sort->buffer, *left_end = sort->buffer + left_size;
    const char *right = sort_at(sort, middle), *right_end = sort_at(sort, end);
    char *out = sort_at(sort, first);
    /* Branches, as the processor speculates past a predicted branch but not past a conditional move
     * of an address: with conditional moves, sorting offsets in random order took three times as
     * long. */
    for (size_t i = 1; left < left_end && right < right_end; i++) {
        if (i % SORT_SLICE == 0)
            mem_touched(SORT_SLICE_TOUCHES);
        if (sort->before(right, left, sort->context)) {
            memcpy(out, right, sort->size);
            right += sort->size;
        } else {
            memcpy(out, left, sort->size);
            left += sort->size;
        }
        out += sort->size;
    }
    sort_copy(out, left, (size_t)(left_end - left));
}

/*
 * The depth of the boundary between two runs in a perfectly balanced merge tree; merging the
 * deepest first is nearly optimal. After Munro and Wild, "Nearly-Optimal Mergesorts".
 */
SORT_INLINE unsigned sort_power(size_t count, size_t first, size_t middle, size_t end)
{
    size_t left = first + middle, right = middle + end; /* twice the middles of both runs */
    unsigned power = 1;
    for (;; power++) {
        if (left >= count) {
            left -= count;
            right -= count;
        } else if (right >= count) {
            return power;
        }
        left *= 2;
        right *= 2;
    }
}

/* Merges the two runs on top of the stack. */
SORT_INLINE void sort_merge_last(const struct sort *sort, struct sort_run *runs, size_t *open)
{
    struct sort_run *left = &runs[*open - 2], *right = &runs[*open - 1];
    sort_merge(sort, left->first, right->first, right->end);
    left->end = right->end;
    --*open;
}

/* The run that begins at an item, extended if it is very short. */
SORT_INLINE struct sort_run sort_next_run(const struct sort *sort, size_t first)
{
    size_t left = sort->count - first;
    size_t length = sort_run_length(sort, first);
    size_t wanted = left < SORT_MIN_RUN ? left : SORT_MIN_RUN;
    if (length < wanted) {
        sort_insert(sort, first, length, wanted);
        length = wanted;
    }
    return (struct sort_run){.first = first, .end = first + length};
}

SORT_INLINE void sort_runs(const struct sort *sort)
{
    struct sort_run runs[SORT_MAX_RUNS]; /* their powers increase, so there cannot be more */
    size_t open = 0;
    for (size_t first = 0; first < sort->count; first = runs[open - 1].end) {
        struct sort_run run = sort_next_run(sort, first);
        if (open > 0) {
            struct sort_run *last = &runs[open - 1];
            unsigned power = sort_power(sort->count, last->first, run.first, run.end);
            while (open > 1 && runs[open - 2].power > power)
                sort_merge_last(sort, runs, &open);
            runs[open - 1].power = power;
        }
        runs[open++] = run;
    }
    while (open > 1)
        sort_merge_last(sort, runs, &open);
}

SORT_INLINE void sort_items(void *items, size_t count, size_t size, sort_before *before,
                            const void *context)
{
    struct sort sort = {items, NULL, count, size, before, context};
    if (count == 0 || sort_run_length(&sort, 0) == count)
        return;
    sort.buffer = mem_alloc(count * size);
    sort_runs(&sort);
    mem_free(sort.buffer);
}

#endif
