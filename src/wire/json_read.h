/*
 * JSON, read piece by piece over a byte range: no tree, no allocation, no copy. Texts are given as
 * they stand in the file; escapes are resolved by those who need it. Read like this:
 *
 *     struct json_reader in = json_read(text);
 *     struct json_value key, value;
 *     for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
 *         if (json_read_key(&in, &key) && json_read_value(&in, &value))
 *             ...
 *     if (in.problem) ...in.at is where...
 *
 * Beside what JSON allows, strings may hold control characters as they are, and numbers may be NaN
 * or infinite, as Python and C++ write them.
 */
#ifndef KYMO_WIRE_JSON_READ_H
#define KYMO_WIRE_JSON_READ_H

#include "wire/json.h"

enum { JSON_DEEPEST_READ = 512 }; /* brackets inside each other in one value */

struct json_reader {
    const char *at, *end;
    const char *problem; /* why reading stopped; JSON_CUT_OFF when the text ended too early */
};

extern const char JSON_CUT_OFF[];

enum json_kind {
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_LIST,
    JSON_OBJECT,
};

struct json_value {
    struct text text; /* a string without its quotes, everything else as it stands */
    enum json_kind kind;
    bool has_escapes; /* of a string */
};

/* A number as it is written: digits * 10^exponent. */
struct json_number {
    struct text text;
    uint64_t digits;
    int32_t exponent;
    bool is_negative;
    bool is_whole;   /* has neither a fraction nor an exponent */
    bool is_rounded; /* has more digits than fit; those behind the first 19 are left out */
    bool is_word;    /* NaN or infinite */
};

static inline struct json_reader json_read(struct text text)
{
    return (struct json_reader){.at = text.data,
                                .end = text.size ? text.data + text.size : text.data};
}

static inline bool json_fail(struct json_reader *in, const char *problem)
{
    in->problem = problem;
    return false;
}

static inline void json_skip_space(struct json_reader *in)
{
    while (in->at < in->end && (unsigned char)*in->at <= ' ')
        in->at++;
}

/* The character that comes next, behind any space; false when there is none. */
static inline bool json_peek(struct json_reader *in, char *next)
{
    json_skip_space(in);
    if (in->at == in->end)
        return json_fail(in, JSON_CUT_OFF);
    *next = *in->at;
    return true;
}

static inline bool json_expect(struct json_reader *in, char wanted, const char *problem)
{
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != wanted)
        return json_fail(in, problem);
    in->at++;
    return true;
}

/* Steps over '{' or '['; true when something is inside. */
static inline bool json_enter(struct json_reader *in, char open)
{
    char next, close = (char)(open + 2);
    if (!json_expect(in, open, open == '{' ? "expected an object" : "expected a list") ||
        !json_peek(in, &next))
        return false;
    in->at += next == close;
    return next != close;
}

/* Behind a value: steps over the comma, or over '}' or ']', and then there is no more. */
static inline bool json_more(struct json_reader *in, char close)
{
    char next;
    if (in->problem || !json_peek(in, &next))
        return false;
    if (next != ',' && next != close)
        return json_fail(in, "expected a comma or a closing bracket");
    in->at++;
    return next == ',';
}

/* The first quote or backslash; eight characters at a time where they may be loaded. */
static inline const char *json_plain_end(const char *at, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        uint64_t found = (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
        if (found) /* its lowest bit is exact, those above may not be */
            return at + __builtin_ctzll(found) / 8;
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* The slow end of json_read_string: goes on at a backslash or at the end of the text. */
bool json_read_escaped(struct json_reader *in, const char *at, struct json_value *value);

/* Where a quote stands. */
static inline bool json_read_string(struct json_reader *in, struct json_value *value)
{
    const char *start = in->at + 1, *at = json_plain_end(start, in->end);
    if (at == in->end || *at != '"')
        return json_read_escaped(in, at, value);
    *value = (struct json_value){{start, (size_t)(at - start)}, JSON_STRING, false};
    in->at = at + 1;
    return true;
}

/* A key with the colon behind it. */
static inline bool json_read_key(struct json_reader *in, struct json_value *key)
{
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != '"')
        return json_fail(in, "expected a key");
    return json_read_string(in, key) && json_expect(in, ':', "expected a colon");
}

/*
 * Up to eight digits from memory that can be loaded eight bytes at a time: how many there are, and
 * their value. There is no branch on their number, which no predictor could guess.
 */
static inline unsigned json_eight_digits(const char *at, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= 0x3030303030303030u;
    uint64_t others = (word | (word + 0x0606060606060606u)) & 0xF0F0F0F0F0F0F0F0u;
    unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    word = count ? word << (64 - 8 * count) : 0; /* zeros come in before the first digit */
    word = word * 10 + (word >> 8);
    *value = ((word & 0x000000FF000000FFu) * 0x000F424000000064u +
              (word >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u) >>
             32;
    return count;
}

/* The same for up to sixteen; 17 when there may be more. */
static inline unsigned json_digits(const char *at, uint64_t *value)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    unsigned count = json_eight_digits(at, value);
    if (count < 8)
        return count;
    uint64_t rest;
    unsigned more = json_eight_digits(at + 8, &rest);
    *value = *value * powers[more] + rest;
    return more < 8 ? 8 + more : 17;
}

/* Steps over a word, of which the end of the text may leave only the beginning. */
bool json_read_word(struct json_reader *in, struct text word);

/* The slow end of json_read_number: a number of any shape. */
bool json_read_any_number(struct json_reader *in, struct json_number *number);

static inline bool json_read_number(struct json_reader *in, struct json_number *number)
{
    enum { LOADED = 1 + 16 + 1 + 16, FEW_DIGITS = 18 };
    static const uint64_t powers[] = {1,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000};
    const char *at = in->at;
    if (in->end - at <= LOADED)
        return json_read_any_number(in, number);
    bool is_negative = *at == '-', is_whole = true;
    at += is_negative;
    uint64_t digits, fraction;
    unsigned count = json_digits(at, &digits), behind = 0;
    if (count == 0 || count > 16 || (*at == '0' && count > 1))
        return json_read_any_number(in, number);
    at += count;
    if (*at == '.') {
        behind = json_digits(at + 1, &fraction);
        if (behind == 0 || behind > 16 || count + behind > FEW_DIGITS)
            return json_read_any_number(in, number);
        digits = digits * powers[behind] + fraction;
        at += 1 + behind;
        is_whole = false;
    }
    if ((*at | 0x20) == 'e')
        return json_read_any_number(in, number);
    *number = (struct json_number){.text = {in->at, (size_t)(at - in->at)},
                                   .digits = digits,
                                   .exponent = -(int32_t)behind,
                                   .is_negative = is_negative,
                                   .is_whole = is_whole};
    in->at = at;
    return true;
}

/* Any value; lists and objects are checked from end to end. */
bool json_read_value(struct json_reader *in, struct json_value *value);
/* The same for what was read before: lists and objects are passed over by their brackets. */
bool json_read_again(struct json_reader *in, struct json_value *value);

/* The nearest double; exact for what is_word says. */
double json_number_double(const struct json_number *number);

/* A string's text with its escapes resolved, into a buffer of its size at least; returns the size.
 * Halves of surrogate pairs become U+FFFD. */
size_t json_unescape(struct text raw, char *buffer);

/* Writes a value that was read, as one line of JSON that every reader takes: without space, with
 * U+FFFD for what is not UTF-8 and words in quotes. */
void json_copy(struct json *json, struct text value);

#endif
