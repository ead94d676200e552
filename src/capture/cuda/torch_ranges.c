/*
 * A text is PyTorch's when what follows its ", op_id = " is as PyTorch writes it.
 */
#include "capture/cuda/torch_ranges.h"

#include <string.h>

static bool take(const char **at, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(*at, word, size) != 0)
        return false;
    *at += size;
    return true;
}

static bool take_number(const char **at, uint64_t *number)
{
    const char *start = *at;
    *number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(**at - '0'), number))
            return false;
    return *at > start;
}

/* Numbers in nested brackets. */
static bool take_list(const char **at, const char *characters)
{
    const char *start = *at;
    int depth = 0;
    if (**at != '[')
        return false;
    do {
        depth += (**at == '[') - (**at == ']');
        ++*at;
    } while (depth > 0 && **at && strchr(characters, **at));
    return depth == 0 && *at - start >= 2;
}

/* Where the last such word starts; NULL when there is none. */
static const char *last(const char *text, const char *word)
{
    const char *found = NULL;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        found = at;
    return found;
}

static bool copy(char *to, size_t room, const char *from, size_t size)
{
    if (size >= room)
        return false;
    memcpy(to, from, size);
    to[size] = '\0';
    return true;
}

/* ", seq = N" right before `end`; returns where it starts, or `end`. */
static const char *read_sequence(const char *text, const char *end, int64_t *sequence)
{
    const char *digits = end;
    uint64_t number;
    *sequence = -1;
    while (digits > text && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    const size_t size = strlen(", seq = ");
    if (digits == end || (size_t)(digits - text) <= size ||
        memcmp(digits - size, ", seq = ", size) != 0)
        return end;
    const char *at = digits;
    if (!take_number(&at, &number) || number > INT64_MAX)
        return end;
    *sequence = (int64_t)number;
    return digits - size;
}

bool torch_range_read(const char *text, struct torch_range *range)
{
    const char *id = last(text, ", op_id = ");
    const char *at = id;
    range->sizes[0] = '\0';
    if (!id || id == text || !take(&at, ", op_id = ") || !take_number(&at, &range->id))
        return false;
    if (take(&at, ", sizes = ")) {
        const char *sizes = at;
        if (!take_list(&at, "[] ,-0123456789"))
            return false;
        copy(range->sizes, sizeof range->sizes, sizes, (size_t)(at - sizes));
    }
    if (take(&at, ", input_op_ids = ") && !take_list(&at, "[]() ,-0123456789"))
        return false;
    const char *end = read_sequence(text, id, &range->sequence);
    return *at == '\0' && copy(range->name, sizeof range->name, text, (size_t)(end - text));
}

bool torch_range_is_operator(const struct torch_range *range)
{
    return range->sequence >= 0 || range->sizes[0] || strstr(range->name, "::") != NULL;
}
