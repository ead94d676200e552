/*
 * Parses kernel, copy and memset details: key:value words in any order, separated by spaces.
 */
#include "model/details.h"

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

/* The words of a kernel's details; a text has exactly those of one form. */
enum kernel_word {
    WORD_REGISTERS = 1,
    WORD_STATIC = 2,
    WORD_DYNAMIC = 4,
    WORD_GRID = 8,
    WORD_BLOCK = 16,
    WORD_OCCUPANCY = 32,
    WORD_SHARED = 64,
    WORD_PRIVATE = 128,
    WORD_GROUP = 256,

    FORM_CUDA =
        WORD_REGISTERS | WORD_STATIC | WORD_DYNAMIC | WORD_GRID | WORD_BLOCK | WORD_OCCUPANCY,
    FORM_OLD_CUDA = WORD_REGISTERS | WORD_SHARED | WORD_GRID | WORD_BLOCK,
    FORM_ROCM = WORD_PRIVATE | WORD_GROUP | WORD_GRID | WORD_BLOCK | WORD_OCCUPANCY,
};

static enum kernel_word kernel_word(struct text key)
{
    static const struct {
        struct text key;
        enum kernel_word word;
    } words[] = {
        {{"regs", 4}, WORD_REGISTERS},
        {{"static_shared", 13}, WORD_STATIC},
        {{"dynamic_shared", 14}, WORD_DYNAMIC},
        {{"grid", 4}, WORD_GRID},
        {{"block", 5}, WORD_BLOCK},
        {{"occ_pct", 7}, WORD_OCCUPANCY},
        {{"shm", 3}, WORD_SHARED},
        {{"private_mem", 11}, WORD_PRIVATE},
        {{"group_mem", 9}, WORD_GROUP},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(key, words[i].key))
            return words[i].word;
    return 0;
}

/* Private memory is parsed but not kept: a malformed number still makes the text one of another
 * form. */
static bool read_kernel_word(enum kernel_word word, struct text value,
                             struct kernel_details *details)
{
    int64_t private_memory; /* has no column */
    switch (word) {
    case WORD_REGISTERS:
        return read_number(value, &details->registers);
    case WORD_STATIC:
        return read_number(value, &details->static_shared);
    case WORD_DYNAMIC:
        return read_number(value, &details->dynamic_shared);
    case WORD_GRID:
        return read_three(value, details->grid);
    case WORD_BLOCK:
        return read_three(value, details->block);
    case WORD_OCCUPANCY:
        return read_fraction(value, &details->occupancy);
    case WORD_SHARED:
    case WORD_GROUP: /* AMD's word for it */
        return read_number(value, &details->shared);
    case WORD_PRIVATE:
        return read_number(value, &private_memory);
    default:
        return false;
    }
}

/* Some versions of XLA write uninitialized memory for ROCm's kernels: registers and shared memory
 * are then the halves of an address. No device has as many registers per thread. */
enum { MAX_REGISTERS = 1 << 16 };

bool read_kernel_details(struct text text, struct kernel_details *details)
{
    *details = (struct kernel_details){0};
    struct text key, value;
    unsigned seen = 0;
    while (next_word(&text, &key, &value)) {
        enum kernel_word word = kernel_word(key);
        if (!once(&seen, word) || !read_kernel_word(word, value, details))
            return false;
    }
    if (seen != FORM_CUDA && seen != FORM_OLD_CUDA && seen != FORM_ROCM)
        return false;
    bool is_sane = details->registers <= MAX_REGISTERS;
    details->has_registers = seen != FORM_ROCM && is_sane;
    details->has_shared = is_sane;
    details->has_shared_parts = seen == FORM_CUDA && is_sane;
    if (seen == FORM_CUDA)
        details->shared = add_saturated(details->static_shared, details->dynamic_shared);
    /* No kernel that ran had an occupancy of 0: tracers write 0 when they do not know. */
    details->has_occupancy = details->occupancy > 0;
    details->is_whole = details->has_shared_parts && details->has_occupancy;
    return true;
}

static bool read_flag(struct text text, bool *flag)
{
    *flag = text_equal(text, TEXT("1"));
    return *flag || text_equal(text, TEXT("0"));
}

/* Strict: an unknown or repeated word means another form of text, which then stays as it is instead
 * of being half understood. A copy must have a size. */
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
        else if (text_equal(key, TEXT("kind")) && text_equal(value, TEXT("Unknown")))
            ok = once(&seen, 32); /* ROCm's tracer */
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

/* "Pinned -> Device" in brackets at the end. */
static bool read_kinds_in_brackets(struct text name, struct text *source, struct text *destination)
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

bool read_copy_kinds(struct text name, struct text *source, struct text *destination)
{
#define HOST   {"host", 4}
#define DEVICE {"device", 6}
    static const struct {
        struct text name, source, destination;
    } known[] = {
        {{"MemcpyH2D", 9}, HOST, DEVICE},
        {{"MemcpyD2H", 9}, DEVICE, HOST},
        {{"MemcpyD2D", 9}, DEVICE, DEVICE},
        {{"MemcpyP2P", 9}, DEVICE, DEVICE},
        {{"CopyHostToDevice", 16}, HOST, DEVICE},
        {{"CopyDeviceToHost", 16}, DEVICE, HOST},
        {{"CopyDeviceToDevice", 18}, DEVICE, DEVICE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(name, known[i].name)) {
            *source = known[i].source;
            *destination = known[i].destination;
            return true;
        }
    return read_kinds_in_brackets(name, source, destination);
}
