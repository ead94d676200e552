/*
 * JSON reader: the functions that are not inlined, and writing parsed values back as JSON.
 */
#include "base/wire/json_read.h"

#include <math.h>
#include <stdlib.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four hex digits; -1 when they are not. */
static int32_t hex_number(const char *at)
{
    int32_t number = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        number = number << 4 | digit;
    }
    return number;
}

/* Skips one escape sequence. */
static bool check_escape(struct json_reader *in)
{
    if (in->end - in->at < 2)
        return json_fail(in, JSON_CUT_OFF);
    char c = in->at[1];
    if (c == 'u') {
        for (int i = 2; i < 6; i++) {
            if (in->end - in->at <= i)
                return json_fail(in, JSON_CUT_OFF);
            if (hex_digit(in->at[i]) < 0)
                return json_fail(in, "an escape needs four hexadecimal digits");
        }
        in->at += 6;
        return true;
    }
    if (c == 0 || !strchr("\"\\/bfnrt", c))
        return json_fail(in, "unknown escape");
    in->at += 2;
    return true;
}

bool json_read_escaped(struct json_reader *in, const char *at, struct json_value *value)
{
    const char *start = in->at + 1;
    for (in->at = at; in->at < in->end && *in->at != '"';) {
        if (!check_escape(in))
            return false;
        in->at = json_plain_end(in->at, in->end);
    }
    if (in->at == in->end)
        return json_fail(in, JSON_CUT_OFF);
    *value = (struct json_value){{start, (size_t)(in->at - start)}, JSON_STRING, true};
    in->at++;
    return true;
}

static bool read_keyword(struct json_reader *in, struct json_value *value)
{
    static const struct json_value words[] = {{{"true", 4}, JSON_TRUE, false},
                                              {{"false", 5}, JSON_FALSE, false},
                                              {{"null", 4}, JSON_NULL, false}};
    struct json_number number;
    for (size_t i = 0; i < sizeof words / sizeof *words && !in->problem; i++) {
        if (*in->at == *words[i].text.data && json_read_keyword(in, words[i].text)) {
            *value = words[i];
            return true;
        }
    }
    if (in->problem || !json_read_any_number(in, &number))
        return false;
    *value = (struct json_value){number.text, JSON_NUMBER, false};
    return true;
}

/* A string, number or keyword. */
static inline bool read_plain(struct json_reader *in, struct json_value *value)
{
    struct json_number number;
    if (*in->at == '"')
        return json_read_string(in, value);
    if ((*in->at < '0' || *in->at > '9') && *in->at != '-')
        return read_keyword(in, value);
    if (!json_read_number(in, &number))
        return false;
    *value = (struct json_value){number.text, JSON_NUMBER, false};
    return true;
}

/* Skips a short integer, the common item of lists; false for anything else. */
static inline bool skip_small_number(struct json_reader *in)
{
    uint64_t ignored;
    if (in->end - in->at <= 8)
        return false;
    unsigned count = json_eight_digits(in->at, &ignored);
    if (count == 0 || count == 8 || (*in->at == '0' && count > 1) ||
        (in->at[count] != ',' && in->at[count] != ']'))
        return false;
    in->at += count;
    return true;
}

/* Stack of open brackets, one bit each: whether it is an object. */
struct nesting {
    uint32_t depth;
    uint64_t objects[JSON_MAX_READ_DEPTH / 64];
};

static bool in_object(const struct nesting *open)
{
    return open->objects[(open->depth - 1) / 64] >> ((open->depth - 1) % 64) & 1;
}

static bool push(struct json_reader *in, struct nesting *open, bool is_object)
{
    if (open->depth == JSON_MAX_READ_DEPTH)
        return json_fail(in, "nested too deeply");
    uint64_t bit = (uint64_t)1 << (open->depth % 64);
    uint64_t *word = &open->objects[open->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    open->depth++;
    return true;
}

/* Skips one value, or the brackets up to the first value inside it; false on error. An empty pair
 * of brackets is a value. */
static bool read_inside(struct json_reader *in, struct nesting *open, bool *is_value)
{
    struct json_value ignored;
    char next;
    *is_value = true;
    if (!json_peek(in, &next))
        return false;
    if (next != '{' && next != '[')
        return skip_small_number(in) || read_plain(in, &ignored);
    *is_value = !json_enter(in, next);
    if (*is_value)
        return in->problem == NULL;
    return push(in, open, next == '{') && (next == '[' || json_read_key(in, &ignored));
}

/* After a value: closes brackets, up to the position of the next value. */
static bool read_between(struct json_reader *in, struct nesting *open)
{
    struct json_value ignored;
    while (open->depth > 0) {
        bool is_object = in_object(open);
        if (json_more(in, is_object ? '}' : ']'))
            return !is_object || json_read_key(in, &ignored);
        if (in->problem)
            return false;
        open->depth--;
    }
    return true;
}

static struct json_value nested(const char *start, const char *end)
{
    return (struct json_value){
        {start, (size_t)(end - start)}, *start == '{' ? JSON_OBJECT : JSON_LIST, false};
}

bool json_read_value(struct json_reader *in, struct json_value *value)
{
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != '{' && next != '[')
        return read_plain(in, value);
    const char *start = in->at;
    struct nesting open = {0};
    do {
        bool is_value;
        if (!read_inside(in, &open, &is_value) || (is_value && !read_between(in, &open)))
            return false;
    } while (open.depth > 0);
    *value = nested(start, in->at);
    return true;
}

/* The position after the string whose opening quote this is, or the end. */
static const char *string_end(const char *at, const char *end)
{
    for (at = json_plain_end(at + 1, end); at < end && *at != '"';)
        at = json_plain_end(at + 2 < end ? at + 2 : end, end);
    return at < end ? at + 1 : end;
}

/* Counts brackets instead of parsing: both kinds count alike, since the text was validated before.
 * Strings are skipped whole, as brackets inside them do not count. */
bool json_read_validated(struct json_reader *in, struct json_value *value)
{
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != '{' && next != '[')
        return read_plain(in, value);
    const char *at = in->at;
    size_t depth = 0;
    do {
        if (*at == '"') {
            at = string_end(at, in->end);
            continue;
        }
        char folded = (char)(*at | 0x20); /* maps '[' to '{' and ']' to '}' */
        depth += folded == '{';
        depth -= folded == '}';
        at++;
    } while (depth > 0 && at < in->end);
    if (depth > 0)
        return json_fail(in, JSON_CUT_OFF);
    *value = nested(in->at, at);
    in->at = at;
    return true;
}

enum { REPLACEMENT = 0xFFFD };

static bool is_high_surrogate(int32_t unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low_surrogate(int32_t unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* The code point of \uXXXX, combined with a following low surrogate; advances past it. */
static int32_t read_unicode(const char **at, const char *end)
{
    int32_t unit = hex_number(*at + 2);
    *at += 6;
    if (!is_high_surrogate(unit))
        return is_low_surrogate(unit) || unit < 0 ? REPLACEMENT : unit;
    if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u' ||
        !is_low_surrogate(hex_number(*at + 2)))
        return REPLACEMENT;
    int32_t low = hex_number(*at + 2);
    *at += 6;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

static char *put_utf8(char *to, int32_t character)
{
    if (character < 0x80) {
        *to++ = (char)character;
        return to;
    }
    if (character < 0x800) {
        *to++ = (char)(0xC0 | character >> 6);
    } else if (character < 0x10000) {
        *to++ = (char)(0xE0 | character >> 12);
        *to++ = (char)(0x80 | (character >> 6 & 0x3F));
    } else {
        *to++ = (char)(0xF0 | character >> 18);
        *to++ = (char)(0x80 | (character >> 12 & 0x3F));
        *to++ = (char)(0x80 | (character >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (character & 0x3F));
    return to;
}

static char escaped_character(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter;
    }
}

size_t json_unescape(struct text raw, char *buffer)
{
    const char *at = raw.data, *end = raw.data + raw.size;
    char *to = buffer;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
        } else if (end - at >= 6 && at[1] == 'u') {
            to = put_utf8(to, read_unicode(&at, end));
        } else if (end - at >= 2) {
            *to++ = escaped_character(at[1]);
            at += 2;
        } else {
            at = end; /* json_read_string never returns a lone backslash */
        }
    }
    return (size_t)(to - buffer);
}

char *json_copy_string(struct text raw)
{
    char *text = mem_alloc(raw.size + 1);
    text[json_unescape(raw, text)] = '\0';
    return text;
}

/* Copies an escape as it is, unless it is half of a surrogate pair. */
static void copy_escape(struct output *out, const char **at, const char *end)
{
    const char *start = *at;
    if (end - start < 6 || start[1] != 'u') {
        *at += end - start < 2 ? end - start : 2;
        output_write(out, start, (size_t)(*at - start));
    } else if (read_unicode(at, end) == REPLACEMENT) {
        output_text(out, "\\ufffd");
    } else {
        output_write(out, start, (size_t)(*at - start));
    }
}

/* The reader accepts unescaped control characters and malformed UTF-8, which strict JSON does not:
 * they are escaped or replaced here. Escapes are copied without being resolved. */
static void copy_string(struct output *out, struct text raw)
{
    const char *at = raw.data, *end = raw.data + raw.size, *plain = at;
    output_char(out, '"');
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        size_t length = c >= 0x20 && c != '\\' ? text_utf8_length(at, (size_t)(end - at)) : 0;
        at += length;
        if (length > 0)
            continue;
        output_write(out, plain, (size_t)(at - plain));
        if (c == '\\') {
            copy_escape(out, &at, end);
        } else if (c < 0x20) {
            output_format(out, "\\u%04x", c);
            at++;
        } else {
            output_text(out, UTF8_REPLACEMENT);
            at++;
        }
        plain = at;
    }
    output_write(out, plain, (size_t)(at - plain));
    output_char(out, '"');
}

static void copy_plain(struct output *out, struct json_reader *in)
{
    struct json_value value = {0};
    read_plain(in, &value);
    if (value.kind == JSON_STRING) {
        copy_string(out, value.text);
        return;
    }
    bool is_nonfinite = value.kind == JSON_NUMBER && value.text.data[value.text.size - 1] > '9';
    if (!is_nonfinite) {
        output_write(out, value.text.data, value.text.size);
        return;
    }
    struct json_reader word = json_read(value.text);
    struct json_number number;
    json_read_number(&word, &number);
    double wordy = json_number_double(&number);
    output_text(out, isnan(wordy) ? "\"NaN\"" : wordy > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

void json_copy(struct json *json, struct text value)
{
    struct json_reader in = json_read(value);
    json_raw(json, TEXT("")); /* writes the comma */
    for (json_skip_space(&in); in.at < in.end && !in.problem; json_skip_space(&in)) {
        if (strchr("{}[]:,", *in.at))
            output_char(json->out, *in.at++);
        else
            copy_plain(json->out, &in);
    }
}
