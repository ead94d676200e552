/*
 * Row assignment: scans the ends of a few rows, or searches trees over those of many.
 */
#include "store/timeline/rows.h"

enum { FEW_ROWS = 32 };

static uint32_t assign_few(struct row_finder *finder, int64_t start_ps, int64_t end_ps)
{
    int64_t *ends = finder->ends.items;
    size_t count = finder->ends.count, row = count;
    while (row > 0 && (ends[row - 1] < end_ps || ends[row - 1] <= start_ps))
        row--; /* after the last one whose event contains this one */
    while (row < count && ends[row] > start_ps)
        row++;
    if (row == count)
        *array_push(&finder->ends) = end_ps;
    else
        ends[row] = end_ps;
    return (uint32_t)row;
}

/* Node 1 is the root, node n has children 2n and 2n + 1; rows not used yet are free. */
static void set_end(struct row_finder *finder, size_t row, int64_t end_ps)
{
    size_t node = finder->leaves + row;
    finder->earliest[node] = finder->latest[node] = end_ps;
    while (node > 1) {
        node /= 2;
        int64_t *earliest = finder->earliest, *latest = finder->latest;
        size_t left = 2 * node, right = left + 1;
        earliest[node] = earliest[left] < earliest[right] ? earliest[left] : earliest[right];
        latest[node] = latest[left] > latest[right] ? latest[left] : latest[right];
    }
}

static void grow_trees(struct row_finder *finder)
{
    size_t leaves = finder->leaves ? 2 * finder->leaves : 4 * FEW_ROWS;
    finder->leaves = leaves;
    finder->earliest = mem_resize(finder->earliest, 2 * leaves, sizeof *finder->earliest);
    finder->latest = mem_resize(finder->latest, 2 * leaves, sizeof *finder->latest);
    for (size_t i = 0; i < 2 * leaves; i++)
        finder->earliest[i] = finder->latest[i] = INT64_MIN;
    for (size_t row = 0; row < finder->ends.count; row++)
        set_end(finder, row, finder->ends.items[row]);
}

/* One more than the last row whose event contains [start, end]. */
static size_t rows_to_container(const struct row_finder *finder, int64_t start_ps, int64_t end_ps)
{
    if (start_ps == INT64_MAX)
        return 0;
    /* An event that ended when this one starts does not contain it. */
    int64_t min_end = end_ps > start_ps ? end_ps : start_ps + 1;
    size_t node = 1;
    if (finder->latest[node] < min_end)
        return 0;
    while (node < finder->leaves)
        node = 2 * node + (finder->latest[2 * node + 1] >= min_end);
    return node - finder->leaves + 1;
}

/* The first row at or after `from` that is free at the time; the last leaf always is. */
static size_t free_row(const struct row_finder *finder, size_t from, int64_t start_ps)
{
    size_t node = finder->leaves + from;
    while (finder->earliest[node] > start_ps) {
        while (node & 1)
            node /= 2; /* leave right subtrees */
        node++;
    }
    while (node < finder->leaves)
        node = 2 * node + (finder->earliest[2 * node] > start_ps);
    return node - finder->leaves;
}

uint32_t row_finder_assign(struct row_finder *finder, int64_t start_ps, int64_t end_ps)
{
    if (finder->ends.count < FEW_ROWS)
        return assign_few(finder, start_ps, end_ps);
    if (finder->ends.count + 1 >= finder->leaves)
        grow_trees(finder);
    size_t row = free_row(finder, rows_to_container(finder, start_ps, end_ps), start_ps);
    if (row == finder->ends.count)
        *array_push(&finder->ends) = end_ps;
    finder->ends.items[row] = end_ps;
    set_end(finder, row, end_ps);
    return (uint32_t)row;
}

void row_finder_free(struct row_finder *finder)
{
    array_free(&finder->ends);
    mem_free(finder->earliest);
    mem_free(finder->latest);
}
