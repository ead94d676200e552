/*
 * Text: pieces of text and bytes that are not terminated, and the few things done to them.
 */
#ifndef KYMO_BASE_TEXT_H
#define KYMO_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    const char *data; /* never NULL when size > 0 */
    size_t size;
};

#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})

static inline struct text text_of(const char *terminated)
{
    return (struct text){terminated, strlen(terminated)};
}

static inline bool text_equal(struct text a, struct text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool text_starts(struct text whole, struct text start)
{
    return whole.size >= start.size &&
           (start.size == 0 || memcmp(whole.data, start.data, start.size) == 0);
}

static inline bool text_ends(struct text whole, struct text end)
{
    return whole.size >= end.size &&
           (end.size == 0 || memcmp(whole.data + whole.size - end.size, end.data, end.size) == 0);
}

/* Byte order, a prefix before the longer text; like memcmp in its result. */
int text_compare(struct text a, struct text b);

/* Length in bytes of the well-formed UTF-8 character at data, 0 when it is malformed. */
size_t text_utf8_length(const char *data, size_t size);
/* How many bytes from data on are well-formed UTF-8. */
size_t text_utf8_prefix(const char *data, size_t size);
/* What stands for a byte that is not: U+FFFD. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* How many single-character edits (insert, delete, replace, swap of neighbours) part two words. */
size_t text_distance(const char *a, const char *b);

/* The candidate nearest to word, or NULL when none is near enough to be meant. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);

#endif
