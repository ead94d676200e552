/*
 * Text: string slices that are not NUL-terminated, and operations on them.
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

/* Byte order, a prefix before the longer text; the result is like memcmp's. */
int text_compare(struct text a, struct text b);

/* Length in bytes of the well-formed UTF-8 character at data, 0 when it is malformed. */
size_t text_utf8_length(const char *data, size_t size);
/* The length of the well-formed UTF-8 prefix of data. */
size_t text_utf8_prefix(const char *data, size_t size);
/* Replaces malformed bytes: U+FFFD. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Edit distance: insertions, deletions, replacements and swaps of adjacent characters. */
size_t text_distance(const char *a, const char *b);

/* The candidate nearest to word, or NULL when none is near enough. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);

#endif
