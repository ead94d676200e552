/*
 * Reads symbols of C++ functions, as far as names of kernels need it. Symbols come from files that
 * nobody checked: what is written is limited, and so is how deep arguments may nest, so that a
 * symbol that refers to itself over and over ends soon. What a part of a symbol stands for lies in
 * the written text in one piece, so later references to it copy that piece.
 */
#include "model/mangled.h"

#include <stdio.h>

enum { MAX_DEPTH = 32, MAX_PIECES = 128, MAX_NUMBER = 1000000, CUT_SIZE = 8 };

struct piece {
    size_t from, size;
};

struct reading {
    struct text symbol;
    size_t at;
    char *out;
    size_t size;
    bool is_full;
    size_t args_from, sound; /* where the last arguments of the function itself begin, and up to
                                where they are complete */
    unsigned depth;          /* of arguments and types */
    struct piece pieces[MAX_PIECES];
    size_t piece_count;
};

static char next(const struct reading *reading)
{
    return reading->at < reading->symbol.size ? reading->symbol.data[reading->at] : '\0';
}

static bool take(struct reading *reading, char c)
{
    bool is_there = next(reading) == c && c != '\0';
    reading->at += is_there;
    return is_there;
}

static bool put(struct reading *reading, const char *text, size_t size)
{
    reading->is_full |= size > MANGLED_MAX - CUT_SIZE - reading->size;
    if (reading->is_full)
        return false;
    memmove(reading->out + reading->size, text, size);
    reading->size += size;
    return true;
}

static bool put_word(struct reading *reading, const char *word)
{
    return put(reading, word, strlen(word));
}

static bool keep(struct reading *reading, size_t from)
{
    if (reading->piece_count == MAX_PIECES)
        return false;
    reading->pieces[reading->piece_count++] = (struct piece){from, reading->size - from};
    return true;
}

static bool read_number(struct reading *reading, size_t *number)
{
    size_t digits = 0;
    for (*number = 0; next(reading) >= '0' && next(reading) <= '9'; reading->at++, digits++)
        if ((*number = *number * 10 + (size_t)(next(reading) - '0')) > MAX_NUMBER)
            return false;
    return digits > 0;
}

/* "6native"; namespaces without a name are written as such. */
static bool read_identifier(struct reading *reading)
{
    size_t size;
    if (!read_number(reading, &size) || size == 0 || size > reading->symbol.size - reading->at)
        return false;
    struct text word = {reading->symbol.data + reading->at, size};
    reading->at += size;
    return text_starts(word, TEXT("_GLOBAL__N")) ? put_word(reading, "(anonymous namespace)")
                                                 : put(reading, word.data, word.size);
}

/* "S_", "S1A_": what was read before, by its number; "St" and others are of the standard library.
 */
static bool read_reference(struct reading *reading)
{
    static const char *const known[] = {['t'] = "std",          ['a'] = "std::allocator",
                                        ['s'] = "std::string",  ['b'] = "std::basic_string",
                                        ['i'] = "std::istream", ['o'] = "std::ostream"};
    size_t number = 0;
    unsigned char c = (unsigned char)next(reading);
    if (c < sizeof known / sizeof *known && known[c]) {
        reading->at++;
        return put_word(reading, known[c]);
    }
    if (!take(reading, '_')) {
        for (; (c = (unsigned char)next(reading)) != '_'; reading->at++) {
            if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')) || number > MAX_PIECES)
                return false;
            number = number * 36 + (size_t)(c <= '9' ? c - '0' : c - 'A' + 10);
        }
        reading->at++;
        number++;
    }
    return number < reading->piece_count &&
           put(reading, reading->out + reading->pieces[number].from, reading->pieces[number].size);
}

static bool read_type(struct reading *reading);
static bool read_arguments(struct reading *reading);

/* One name of a path, without what is before it. */
static bool read_component(struct reading *reading)
{
    while (take(reading, 'L')) /* of this file alone */
        ;
    return read_identifier(reading);
}

/* "N2at6native3addIfEE": names and their arguments. Each beginning of the path may be referred to
 * later; the last one is the caller's to keep. */
static bool read_path(struct reading *reading)
{
    size_t from = reading->size, parts = 0;
    while (next(reading) == 'K' || next(reading) == 'V' || next(reading) == 'r')
        reading->at++;
    while (!take(reading, 'E')) {
        bool is_reference = parts == 0 && take(reading, 'S');
        bool has_args = !is_reference && parts > 0 && take(reading, 'I');
        if (!is_reference && !has_args && parts > 0 && !put_word(reading, "::"))
            return false;
        if (is_reference ? !read_reference(reading)
            : has_args   ? !read_arguments(reading)
                         : !read_component(reading))
            return false;
        parts++;
        if (next(reading) != 'E' && !is_reference && !keep(reading, from))
            return false;
    }
    return parts > 0;
}

/* A name outside of namespaces, or in std, with its arguments. */
static bool read_plain_name(struct reading *reading)
{
    size_t from = reading->size;
    if (take(reading, 'S') && (!take(reading, 't') || !put_word(reading, "std::")))
        return false;
    if (!read_component(reading))
        return false;
    if (next(reading) != 'I')
        return true;
    reading->at++;
    return keep(reading, from) && read_arguments(reading);
}

/* The word of a built-in type, behind which the reading goes on; NULL if it is another type. */
static const char *builtin(struct reading *reading)
{
    static const char *const words[] = {
        ['v'] = "void",        ['w'] = "wchar_t",
        ['b'] = "bool",        ['c'] = "char",
        ['a'] = "signed char", ['h'] = "unsigned char",
        ['s'] = "short",       ['t'] = "unsigned short",
        ['i'] = "int",         ['j'] = "unsigned int",
        ['l'] = "long",        ['m'] = "unsigned long",
        ['x'] = "long long",   ['y'] = "unsigned long long",
        ['n'] = "__int128",    ['o'] = "unsigned __int128",
        ['f'] = "float",       ['d'] = "double",
        ['e'] = "long double", ['g'] = "__float128",
        ['z'] = "...",
    };
    static const struct {
        struct text code;
        const char *word;
    } longer[] = {
        {{"DF16b", 5}, "__bf16"},      {{"DF16_", 5}, "_Float16"}, {{"Dh", 2}, "half"},
        {{"Dn", 2}, "std::nullptr_t"}, {{"Di", 2}, "char32_t"},    {{"Ds", 2}, "char16_t"},
        {{"Du", 2}, "char8_t"},        {{"Da", 2}, "auto"},
    };
    unsigned char c = (unsigned char)next(reading);
    struct text rest = {reading->symbol.data + reading->at, reading->symbol.size - reading->at};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        if (text_starts(rest, longer[i].code)) {
            reading->at += longer[i].code.size;
            return longer[i].word;
        }
    const char *word = c < sizeof words / sizeof *words ? words[c] : NULL;
    reading->at += word != NULL;
    return word;
}

/* What is written behind the type that it changes. */
static const char *modifier(char c)
{
    return c == 'P'   ? "*"
           : c == 'R' ? "&"
           : c == 'O' ? "&&"
           : c == 'K' ? " const"
           : c == 'V' ? " volatile"
                      : NULL;
}

static bool read_array(struct reading *reading)
{
    char text[32];
    size_t number;
    if (!read_number(reading, &number) || !take(reading, '_') || !read_type(reading))
        return false;
    snprintf(text, sizeof text, " [%zu]", number);
    return put_word(reading, text);
}

static bool read_named_type(struct reading *reading)
{
    if (take(reading, 'N'))
        return read_path(reading);
    if (next(reading) == 'S' && reading->at + 1 < reading->symbol.size &&
        reading->symbol.data[reading->at + 1] != 't') {
        reading->at++;
        return read_reference(reading) && (!take(reading, 'I') || read_arguments(reading));
    }
    return read_plain_name(reading);
}

/* Types without functions, members and what depends on parameters of templates: kernels have few of
 * these, and they end the arguments that are shown. */
static bool read_type(struct reading *reading)
{
    size_t from = reading->size;
    const char *word = builtin(reading), *behind = word ? NULL : modifier(next(reading));
    if (word)
        return put_word(reading, word);
    if (reading->depth >= MAX_DEPTH)
        return false;
    reading->depth++;
    bool ok, is_reference = false;
    if (behind) {
        reading->at++;
        ok = read_type(reading) && put_word(reading, behind);
    } else if (take(reading, 'A')) {
        ok = read_array(reading);
    } else {
        size_t start = reading->at;
        bool is_short = next(reading) == 'S';
        ok = read_named_type(reading);
        is_reference = is_short && ok && reading->symbol.data[reading->at - 1] != 'E' &&
                       reading->symbol.data[start + 1] != 't';
    }
    reading->depth--;
    return ok && (is_reference || keep(reading, from));
}

/* "Li4E", "Lb1E": a number of a type. */
static bool read_literal(struct reading *reading)
{
    static const char *const suffixes[] = {
        ['j'] = "u", ['l'] = "l", ['m'] = "ul", ['x'] = "ll", ['y'] = "ull"};
    unsigned char type = (unsigned char)next(reading);
    bool is_known = type == 'b' || type == 'i' || type == 's' || type == 't' || type == 'c' ||
                    type == 'h' || type == 'a' ||
                    (type < sizeof suffixes / sizeof *suffixes && suffixes[type]);
    if (is_known)
        reading->at++;
    else if (!put_word(reading, "(") || !read_type(reading) || !put_word(reading, ")"))
        return false;
    if (take(reading, 'n') && !put_word(reading, "-"))
        return false;
    size_t first = reading->at;
    while (next(reading) >= '0' && next(reading) <= '9')
        reading->at++;
    struct text digits = {reading->symbol.data + first, reading->at - first};
    if (digits.size == 0 || !take(reading, 'E'))
        return false;
    if (type == 'b' && digits.size == 1 && digits.data[0] <= '1')
        return put_word(reading, digits.data[0] == '1' ? "true" : "false");
    const char *suffix =
        is_known && type < sizeof suffixes / sizeof *suffixes ? suffixes[type] : NULL;
    return put(reading, digits.data, digits.size) && (!suffix || put_word(reading, suffix));
}

/* Behind their "I", up to their "E". */
static bool read_arguments(struct reading *reading)
{
    bool is_outermost = reading->depth == 0, is_first = true;
    unsigned packs = 0;
    if (reading->depth >= MAX_DEPTH || !put_word(reading, "<"))
        return false;
    if (is_outermost)
        reading->args_from = reading->sound = reading->size;
    reading->depth++;
    while (packs > 0 || next(reading) != 'E') {
        if (take(reading, 'J')) { /* several as one: they are listed as if they were not */
            packs++;
            continue;
        }
        if (packs > 0 && take(reading, 'E')) {
            packs--;
            continue;
        }
        if (!is_first && !put_word(reading, ", "))
            return false;
        if (take(reading, 'L') ? !read_literal(reading) : !read_type(reading))
            return false;
        is_first = false;
        if (is_outermost)
            reading->sound = reading->size;
    }
    reading->at++;
    reading->depth--;
    return put_word(reading, ">");
}

size_t mangled_read(struct text symbol, char name[static MANGLED_MAX])
{
    struct reading reading = {.symbol = symbol, .at = 2, .out = name};
    if (!text_starts(symbol, TEXT("_Z")))
        return 0;
    bool ok = take(&reading, 'N') ? read_path(&reading) : read_plain_name(&reading);
    if (ok)
        return reading.size;
    if (reading.args_from == 0)
        return 0;
    /* What has room, or is complete, up to the argument that could not be read. */
    const char *end = reading.is_full ? "…" : reading.sound > reading.args_from ? ", …>" : "…>";
    size_t size = reading.is_full ? text_utf8_prefix(name, reading.size) : reading.sound;
    memcpy(name + size, end, strlen(end));
    return size + strlen(end);
}
