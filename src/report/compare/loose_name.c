/*
 * Names of kernels without what differs from build to build: template arguments and parameters,
 * hashes, numbers at the end, tile sizes that a tuner chose.
 */
#include "model/model.h"
#include "report/compare/compare.h"

#include <ctype.h>

static size_t digits_at(struct text text, size_t at)
{
    size_t end = at;
    while (end < text.size && isdigit((unsigned char)text.data[end]))
        end++;
    return end - at;
}

/* Without what is in <> and (), and without the type before the name. */
static void put_unparameterised(struct output *out, struct text name)
{
    static const struct text anonymous = {"(anonymous namespace)::", 23};
    size_t depth = 0;
    for (size_t i = text_starts(name, TEXT("void ")) ? 5 : 0; i < name.size; i++) {
        char c = name.data[i];
        bool is_arrow = c == '>' && i > 0 && name.data[i - 1] == '-';
        if (depth == 0 && text_starts((struct text){name.data + i, name.size - i}, anonymous))
            i += anonymous.size - 1;
        else if (c == '<' || c == '(')
            depth++;
        else if ((c == '>' && !is_arrow) || c == ')')
            depth -= depth > 0;
        else if (depth == 0)
            output_char(out, c);
    }
}

/* The length of a tile size, 128x64x32, at a place; 0 if there is none. */
static size_t tile_at(struct text name, size_t at)
{
    size_t end = at + digits_at(name, at), factors = 0;
    while (end > at && end + 1 < name.size && name.data[end] == 'x' &&
           digits_at(name, end + 1) > 0) {
        end += 1 + digits_at(name, end + 1);
        factors++;
    }
    return factors > 0 ? end - at : 0;
}

/* Whether a word between underscores or dots is a number or a hash. */
static bool is_tag(struct text word)
{
    size_t digits = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (!isxdigit((unsigned char)word.data[i]) || isupper((unsigned char)word.data[i]))
            return false;
        digits += isdigit((unsigned char)word.data[i]) != 0;
    }
    return word.size > 0 && (digits == word.size || (digits > 0 && word.size >= 6));
}

/* Ends a name before the numbers and hashes at its end. */
static size_t without_tags(struct text name)
{
    size_t end = name.size;
    for (size_t at = end; at-- > 1;) {
        if (name.data[at] != '_' && name.data[at] != '.' && name.data[at] != '#')
            continue;
        if (at + 1 < end && !is_tag((struct text){name.data + at + 1, end - at - 1}))
            break;
        end = at;
    }
    return end;
}

void put_loose_name(struct output *out, struct text name)
{
    struct output plain;
    output_memory(&plain);
    char readable[MANGLED_MAX];
    size_t size = mangled_read(name, readable);
    put_unparameterised(&plain, size > 0 ? (struct text){readable, size} : name);
    struct text text = {plain.data, plain.size};
    text.size = text.size ? without_tags(text) : 0;
    for (size_t i = 0; i < text.size;) {
        bool begins = i == 0 || !isdigit((unsigned char)text.data[i - 1]);
        size_t tile = begins ? tile_at(text, i) : 0;
        if (tile > 0)
            output_char(out, '#');
        else
            output_char(out, text.data[i]);
        i += tile > 0 ? tile : 1;
    }
    if (text.size == 0)
        output_write(out, name.data, name.size);
    output_discard(&plain);
}
