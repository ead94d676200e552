/*
 * Streaming JSON parser over a byte range: no tree, no allocation, no copy. Strings are returned
 * with their escapes; json_unescape resolves them. Usage:
 *
 *     struct json_reader in = json_read(text);
 *     struct json_value key, value;
 *     for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
 *         if (json_read_key(&in, &key) && json_read_value(&in, &value))
 *             ...
 *     if (in.problem) ...in.at is the position...
 *
 * Accepts two extensions of JSON: unescaped control characters in strings, and NaN and infinities,
 * as Python and C++ write them.
 */
#ifndef KYMO_BASE_WIRE_JSON_READ_H
#define KYMO_BASE_WIRE_JSON_READ_H

#include "base/wire/json.h"

enum { JSON_MAX_READ_DEPTH = 512 }; /* maximum nesting depth of one value */

struct json_reader {
    const char *at, *end;
    const char *problem; /* the error, NULL for none; JSON_CUT_OFF when the text ended too early */
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
    struct text text; /* a string without its quotes, anything else verbatim */
    enum json_kind kind;
    bool has_escapes; /* only for strings */
};

/* A number in decimal form: digits * 10^exponent. */
struct json_number {
    struct text text;
    uint64_t digits;
    int32_t exponent;
    bool is_negative;
    bool is_whole;     /* neither a fraction nor an exponent */
    bool is_rounded;   /* more digits than fit; those after the first 19 are dropped */
    bool is_nonfinite; /* NaN or infinite */
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

/* The next character, after white space; false at the end. */
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

/* Enters '{' or '['; true when it is not empty. */
static inline bool json_enter(struct json_reader *in, char open)
{
    char next, close = (char)(open + 2);
    if (!json_expect(in, open, open == '{' ? "expected an object" : "expected a list") ||
        !json_peek(in, &next))
        return false;
    in->at += next == close;
    return next != close;
}

/* After a value: skips the comma and returns true, or skips '}' or ']' and returns false. */
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
        if (found) /* its lowest bit is exact, higher ones may not be */
            return at + __builtin_ctzll(found) / 8;
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* Slow path of json_read_string: continues at a backslash or at the end of the text. */
bool json_read_escaped(struct json_reader *in, const char *at, struct json_value *value);

/* Reads a string, at its opening quote. */
static inline bool json_read_string(struct json_reader *in, struct json_value *value)
{
    const char *start = in->at + 1, *at = json_plain_end(start, in->end);
    if (at == in->end || *at != '"')
        return json_read_escaped(in, at, value);
    *value = (struct json_value){{start, (size_t)(at - start)}, JSON_STRING, false};
    in->at = at + 1;
    return true;
}

/* A key and its colon. */
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
 * Parses up to eight digits from memory that can be loaded eight bytes at a time: their count and
 * value. Branch-free in the count, which is unpredictable.
 */
static inline unsigned json_eight_digits(const char *at, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= 0x3030303030303030u;
    uint64_t others = (word | (word + 0x0606060606060606u)) & 0xF0F0F0F0F0F0F0F0u;
    unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    word = count ? word << (64 - 8 * count) : 0; /* shifts in zeros before the first digit */
    word = word * 10 + (word >> 8);
    *value = ((word & 0x000000FF000000FFu) * 0x000F424000000064u +
              (word >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u) >>
             32;
    return count;
}

/* The same for up to sixteen digits; 17 when there may be more. */
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

/* Reads a keyword, which may be cut off by the end of the text. */
bool json_read_keyword(struct json_reader *in, struct text word);

/* Slow path of json_read_number: any form of number. */
bool json_read_any_number(struct json_reader *in, struct json_number *number);

/* The fast path: up to 16 digits before and after the point and 18 together, no exponent, and
 * enough text behind it to load whole words. Everything else, errors included, is left to
 * json_read_any_number, which starts over at the same position. */
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

/* Reads any value; lists and objects are validated completely. */
bool json_read_value(struct json_reader *in, struct json_value *value);
/* The same for text that was validated before: lists and objects are skipped by their brackets. */
bool json_read_validated(struct json_reader *in, struct json_value *value);

/* The nearest double; also NaN and infinities. */
double json_number_double(const struct json_number *number);

/* Resolves a string's escapes into a buffer of at least its size; returns the result's size.
 * Unpaired surrogates become U+FFFD. */
size_t json_unescape(struct text raw, char *buffer);
/* A NUL-terminated copy with escapes resolved, to be freed. */
char *json_copy_string(struct text raw);

/* Writes a parsed value as one line of strict JSON: without white space, with U+FFFD for malformed
 * UTF-8 and with NaN and infinities quoted. */
void json_copy(struct json *json, struct text value);

#endif
