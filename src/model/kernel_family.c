/*
 * Matches names of kernels against the table of known names. Names come from files that nobody
 * checked and there may be very many of them, so matching takes time in proportion to their length.
 */
#include "model/kernel_family.h"

#include <assert.h>
#include <pthread.h>

struct kernel_pattern {
    const char *text;
    struct kernel_kind kind;
};

static const struct kernel_pattern patterns[] = {
#define KERNELS(text, family, tensor_cores, maker)                                                 \
    {text, {FAMILY_##family, TENSOR_CORES_##tensor_cores, MADE_BY_##maker}},
#include "model/kernel_names.def"
};

enum {
    PATTERNS = sizeof patterns / sizeof *patterns,
    NONE = PATTERNS,
    /* What tells is near the start; template arguments may follow for many thousand characters. */
    MAX_NAME = 2048,
};
static_assert(PATTERNS < UINT16_MAX, "numbers of patterns have 16 bits");

/* Patterns by the first character that they look for, so that only a few are tried at each place
 * of a name; in order. */
static struct {
    uint16_t first[256], next[PATTERNS];
} index_by_letter;
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

static const char *literal_of(const struct kernel_pattern *pattern)
{
    return pattern->text + (pattern->text[0] == '*');
}

static void make_index(void)
{
    for (size_t i = 0; i < 256; i++)
        index_by_letter.first[i] = NONE;
    for (size_t i = PATTERNS; i-- > 0;) {
        uint16_t *first = &index_by_letter.first[(unsigned char)*literal_of(&patterns[i])];
        index_by_letter.next[i] = *first;
        *first = (uint16_t)i;
    }
}

static size_t literal_size(const char *text)
{
    return strcspn(text, "*");
}

/* Whether the rest of a pattern, which begins with literal characters, matches here. The first
 * place at which a literal is found will do: what follows it has most room there. */
static bool matches_at(struct text name, size_t at, const char *text)
{
    size_t size = literal_size(text);
    if (name.size - at < size || memcmp(name.data + at, text, size) != 0)
        return false;
    at += size;
    for (text += size; *text == '*' && text[1]; text += size) {
        size = literal_size(++text);
        const char *found = memmem(name.data + at, name.size - at, text, size);
        if (!found)
            return false;
        at = (size_t)(found - name.data) + size;
    }
    return *text == '*' || at == name.size;
}

/* The first pattern that matches, by number; only those before `best` are of interest. */
static uint16_t match_at(struct text name, size_t at, uint16_t best)
{
    for (uint16_t i = index_by_letter.first[(unsigned char)name.data[at]]; i < best;
         i = index_by_letter.next[i])
        if ((at == 0 || patterns[i].text[0] == '*') &&
            matches_at(name, at, literal_of(&patterns[i])))
            return i;
    return best;
}

struct kernel_kind kernel_kind_of(struct text name)
{
    char lower[MAX_NAME];
    struct text plain = {lower, name.size < MAX_NAME ? name.size : MAX_NAME};
    uint16_t best = NONE;
    pthread_once(&indexed, make_index);
    for (size_t i = 0; i < plain.size; i++) {
        char c = name.data[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    for (size_t at = 0; at < plain.size; at++)
        best = match_at(plain, at, best);
    return best == NONE ? (struct kernel_kind){0} : patterns[best].kind;
}

struct text kernel_family_name(enum kernel_family family)
{
    static const char *const names[KERNEL_FAMILIES] = {
        [FAMILY_OTHER] = "other",
        [FAMILY_GEMM] = "gemm",
        [FAMILY_ATTENTION] = "attention",
        [FAMILY_CONVOLUTION] = "convolution",
        [FAMILY_EMBEDDING] = "embedding",
        [FAMILY_NORM] = "norm",
        [FAMILY_SOFTMAX] = "softmax",
        [FAMILY_REDUCTION] = "reduction",
        [FAMILY_ELEMENTWISE] = "elementwise",
        [FAMILY_COPY] = "copy",
        [FAMILY_COMMUNICATION] = "communication",
    };
    return text_of(names[family]);
}
