/*
 * Details: words of the form key:value, parted by blanks, in any order.
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

static bool read_three(struct text text, int64_t numbers[3])
{
    for (int i = 0; i < 3; i++) {
        const char *comma = i < 2 ? memchr(text.data, ',', text.size) : NULL;
        size_t size = comma ? (size_t)(comma - text.data) : text.size;
        if ((i < 2 && !comma) || !read_number((struct text){text.data, size}, &numbers[i]))
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
    return *end == '\0';
}

bool read_kernel_details(struct text text, struct kernel_details *details)
{
    *details = (struct kernel_details){0};
    struct text key, value;
    unsigned seen = 0;
    while (next_word(&text, &key, &value)) {
        bool ok = false;
        if (text_equal(key, TEXT("regs")))
            ok = read_number(value, &details->registers), seen |= 1;
        else if (text_equal(key, TEXT("static_shared")))
            ok = read_number(value, &details->static_shared), seen |= 2;
        else if (text_equal(key, TEXT("dynamic_shared")))
            ok = read_number(value, &details->dynamic_shared), seen |= 4;
        else if (text_equal(key, TEXT("grid")))
            ok = read_three(value, details->grid), seen |= 8;
        else if (text_equal(key, TEXT("block")))
            ok = read_three(value, details->block), seen |= 16;
        else if (text_equal(key, TEXT("occ_pct")))
            ok = read_fraction(value, &details->occupancy), seen |= 32;
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
    bool has_size = false;
    while (next_word(&text, &key, &value)) {
        bool ok = true;
        if (text_equal(key, TEXT("kind_src")))
            details->source_kind = value;
        else if (text_equal(key, TEXT("kind_dst")))
            details->destination_kind = value;
        else if (text_equal(key, TEXT("size")))
            ok = has_size = read_number(value, &details->bytes);
        else if (text_equal(key, TEXT("dest")))
            ok = details->has_peer = read_number(value, &details->peer);
        else
            ok = text_equal(key, TEXT("async")) && read_flag(value, &details->is_async);
        if (!ok)
            return false;
    }
    return has_size;
}

bool read_set_details(struct text text, struct copy_details *details)
{
    *details = (struct copy_details){0};
    struct text key, value;
    bool has_size = false;
    while (next_word(&text, &key, &value)) {
        bool ok = true;
        if (text_equal(key, TEXT("kind")))
            details->destination_kind = value;
        else if (text_equal(key, TEXT("num_bytes")))
            ok = has_size = read_number(value, &details->bytes);
        else
            ok = text_equal(key, TEXT("async")) && read_flag(value, &details->is_async);
        if (!ok)
            return false;
    }
    return has_size;
}
