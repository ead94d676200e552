/*
 * Parses kernel, copy and memset details: key:value words in any order, separated by spaces.
 */
#include "store/details.h"

#include <stdlib.h>

enum { LONGEST_NUMBER = 31 };

/* The next word; false at the end of the text. A word without a colon has an empty key. */
static bool next_word(struct text *rest, struct text *key, struct text *value)
{
    while (rest->size > 0 && rest->data[0] == ' ')
        *rest = (struct text){rest->data + 1, rest->size - 1};
    if (rest->size == 0)
        return false;
    const char *blank = memchr(rest->data, ' ', rest->size);
    size_t size = blank ? (size_t)(blank - rest->data) : rest->size;
    const char *colon = memchr(rest->data, ':', size);
    size_t key_size = colon ? (size_t)(colon - rest->data) : 0;
    *key = (struct text){rest->data, key_size};
    *value = colon ? (struct text){colon + 1, size - key_size - 1} : TEXT("");
    *rest = (struct text){rest->data + size, rest->size - size};
    return true;
}

static bool read_number(struct text text, int64_t *number)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text.data[i] - '0', &value))
            return false;
    }
    *number = value;
    return text.size > 0;
}

static struct text trimmed(struct text text)
{
    while (text.size > 0 && text.data[0] == ' ')
        text = (struct text){text.data + 1, text.size - 1};
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

static bool read_three(struct text text, int64_t numbers[3])
{
    for (int i = 0; i < 3; i++) {
        const char *comma = i < 2 ? memchr(text.data, ',', text.size) : NULL;
        size_t size = comma ? (size_t)(comma - text.data) : text.size;
        if ((i < 2 && !comma) || !read_number(trimmed((struct text){text.data, size}), &numbers[i]))
            return false;
        if (comma)
            text = (struct text){comma + 1, text.size - size - 1};
    }
    return true;
}

static bool read_fraction(struct text text, double *number)
{
    char copy[LONGEST_NUMBER + 1], *end;
    if (text.size == 0 || text.size > LONGEST_NUMBER)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *number = strtod(copy, &end);
    return end == copy + text.size;
}

/* Marks a key as seen; false if it already was. */
static bool once(unsigned *seen, unsigned bit)
{
    bool is_new = !(*seen & bit);
    *seen |= bit;
    return is_new;
}

bool read_kernel_details(struct text text, struct kernel_details *details)
{
    *details = (struct kernel_details){0};
    struct text key, value;
    unsigned seen = 0;
    while (next_word(&text, &key, &value)) {
        bool ok = false;
        if (text_equal(key, TEXT("regs")))
            ok = once(&seen, 1) && read_number(value, &details->registers);
        else if (text_equal(key, TEXT("static_shared")))
            ok = once(&seen, 2) && read_number(value, &details->static_shared);
        else if (text_equal(key, TEXT("dynamic_shared")))
            ok = once(&seen, 4) && read_number(value, &details->dynamic_shared);
        else if (text_equal(key, TEXT("grid")))
            ok = once(&seen, 8) && read_three(value, details->grid);
        else if (text_equal(key, TEXT("block")))
            ok = once(&seen, 16) && read_three(value, details->block);
        else if (text_equal(key, TEXT("occ_pct")))
            ok = once(&seen, 32) && read_fraction(value, &details->occupancy);
        if (!ok)
            return false;
    }
    return seen == 63;
}

static bool read_flag(struct text text, bool *flag)
{
    *flag = text_equal(text, TEXT("1"));
    return *flag || text_equal(text, TEXT("0"));
}

bool read_copy_details(struct text text, struct copy_details *details)
{
    *details = (struct copy_details){0};
    struct text key, value;
    unsigned seen = 0;
    while (next_word(&text, &key, &value)) {
        bool ok = true;
        if (text_equal(key, TEXT("size")))
            ok = once(&seen, 1) && read_number(value, &details->bytes);
        else if (text_equal(key, TEXT("kind_src")) && once(&seen, 2))
            details->source_kind = value;
        else if (text_equal(key, TEXT("kind_dst")) && once(&seen, 4))
            details->destination_kind = value;
        else if (text_equal(key, TEXT("dest")))
            ok = once(&seen, 8) && (details->has_peer = read_number(value, &details->peer));
        else
            ok = text_equal(key, TEXT("async")) && once(&seen, 16) &&
                 read_flag(value, &details->is_async);
        if (!ok)
            return false;
    }
    return seen & 1;
}

bool read_set_details(struct text text, struct copy_details *details)
{
    *details = (struct copy_details){0};
    struct text key, value;
    unsigned seen = 0;
    while (next_word(&text, &key, &value)) {
        bool ok = true;
        if (text_equal(key, TEXT("num_bytes")))
            ok = once(&seen, 1) && read_number(value, &details->bytes);
        else if (text_equal(key, TEXT("kind")) && once(&seen, 2))
            details->destination_kind = value;
        else
            ok = text_equal(key, TEXT("async")) && once(&seen, 4) &&
                 read_flag(value, &details->is_async);
        if (!ok)
            return false;
    }
    return seen & 1;
}

bool read_triple(struct text text, int64_t numbers[3])
{
    text = trimmed(text);
    return text.size > 2 && text.data[0] == '[' && text.data[text.size - 1] == ']' &&
           read_three((struct text){text.data + 1, text.size - 2}, numbers);
}

bool read_copy_kinds(struct text name, struct text *source, struct text *destination)
{
    const char *open = name.size > 0 ? memrchr(name.data, '(', name.size) : NULL;
    if (!open || name.data[name.size - 1] != ')')
        return false;
    struct text inner = {open + 1, (size_t)(name.data + name.size - 1 - (open + 1))};
    const char *arrow = inner.size > 0 ? memmem(inner.data, inner.size, " -> ", 4) : NULL;
    if (!arrow)
        return false;
    *source = (struct text){inner.data, (size_t)(arrow - inner.data)};
    *destination = (struct text){arrow + 4, inner.size - source->size - 4};
    return source->size > 0 && destination->size > 0;
}
