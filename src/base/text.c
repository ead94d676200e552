/*
 * Text: UTF-8 validation, and the edit distance for "did you mean" suggestions.
 */
#include "base/text.h"

enum { MAX_WORD = 63 };

int text_compare(struct text a, struct text b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

size_t text_utf8_length(const char *data, size_t size)
{
    const unsigned char *c = (const unsigned char *)data;
    if (size == 0)
        return 0;
    if (c[0] < 0x80)
        return 1;
    size_t length = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : 2;
    if (c[0] < 0xC2 || c[0] > 0xF4 || size < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    /* Overlong forms, surrogates and values above U+10FFFF are visible in the second byte. */
    if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] > 0x9F) ||
        (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] > 0x8F))
        return 0;
    return length;
}

size_t text_utf8_prefix(const char *data, size_t size)
{
    size_t at = 0, length;
    while (size - at >= 8) { /* eight ASCII characters at once */
        uint64_t word;
        memcpy(&word, data + at, 8);
        if (word & 0x8080808080808080u)
            break;
        at += 8;
    }
    while (at < size && (length = text_utf8_length(data + at, size - at)))
        at += length;
    return at;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t text_distance(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size > MAX_WORD || b_size > MAX_WORD)
        return SIZE_MAX;
    size_t cost[MAX_WORD + 1][MAX_WORD + 1];
    for (size_t i = 0; i <= a_size; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= b_size; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        for (size_t j = 1; j <= b_size; j++) {
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t best = smaller(replace, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    return cost[a_size][b_size];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    size_t limit = strlen(word) / 3 + 1; /* beyond a third of its length it is a different word */
    size_t nearest_distance = limit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = text_distance(word, candidates[i]);
        if (distance < nearest_distance) {
            nearest = candidates[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}
