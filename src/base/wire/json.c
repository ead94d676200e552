/*
 * JSON writer: commas, quoting and indentation over an output.
 */
#include "base/wire/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void json_begin(struct json *json, struct output *out, bool pretty)
{
    *json = (struct json){.out = out, .pretty = pretty, .flat_from = JSON_MAX_DEPTH};
}

static void break_line(struct json *json)
{
    if (!json->pretty || json->depth >= json->flat_from)
        return;
    output_char(json->out, '\n');
    for (unsigned i = 0; i < json->depth; i++)
        output_write(json->out, "  ", 2);
}

/* Writes what goes before the next value or key: nothing, a comma, a line break. */
static void separate(struct json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->has_items[json->depth - 1])
        output_char(json->out, ',');
    json->has_items[json->depth - 1] = true;
    break_line(json);
}

void json_open(struct json *json, char bracket)
{
    separate(json);
    assert(json->depth < JSON_MAX_DEPTH);
    output_char(json->out, bracket);
    json->has_items[json->depth++] = false;
}

void json_close(struct json *json, char bracket)
{
    bool had_items = json->has_items[--json->depth];
    if (had_items && json->depth + 1 < json->flat_from)
        break_line(json);
    output_char(json->out, bracket);
    if (json->depth == 0)
        output_char(json->out, '\n');
}

void json_open_row(struct json *json, char bracket)
{
    json_open(json, bracket);
    if (json->flat_from == JSON_MAX_DEPTH)
        json->flat_from = json->depth;
}

void json_close_row(struct json *json, char bracket)
{
    json_close(json, bracket);
    if (json->depth < json->flat_from)
        json->flat_from = JSON_MAX_DEPTH;
}

/* Short escapes where JSON has them, \u00XX for the other control characters. Bytes of 0x80 and
 * above never get here: quote copies or replaces them. */
static void escape(struct json *json, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    switch (c) {
    case '"':
        output_write(json->out, "\\\"", 2);
        break;
    case '\\':
        output_write(json->out, "\\\\", 2);
        break;
    case '\n':
        output_write(json->out, "\\n", 2);
        break;
    case '\t':
        output_write(json->out, "\\t", 2);
        break;
    case '\r':
        output_write(json->out, "\\r", 2);
        break;
    default: {
        char escaped[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        output_write(json->out, escaped, sizeof escaped);
    }
    }
}

/* Copies runs of plain characters at once, as nearly all strings need no escape. The output is
 * valid JSON for any bytes: malformed UTF-8 becomes U+FFFD. */
static void quote(struct json *json, struct text text)
{
    if (text.size == 0) {
        output_write(json->out, "\"\"", 2);
        return;
    }
    output_char(json->out, '"');
    const char *at = text.data, *end = text.data + text.size, *plain = at;
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            at++;
            continue;
        }
        size_t length = c < 0x80 ? 0 : text_utf8_length(at, (size_t)(end - at));
        if (length > 0) {
            at += length;
            continue;
        }
        output_write(json->out, plain, (size_t)(at - plain));
        if (c < 0x80)
            escape(json, c);
        else
            output_text(json->out, UTF8_REPLACEMENT);
        plain = ++at;
    }
    output_write(json->out, plain, (size_t)(at - plain));
    output_char(json->out, '"');
}

void json_key_text(struct json *json, struct text key)
{
    separate(json);
    quote(json, key);
    output_char(json->out, ':');
    if (json->pretty)
        output_char(json->out, ' ');
    json->after_key = true;
}

void json_key(struct json *json, const char *key)
{
    json_key_text(json, text_of(key));
}

void json_text(struct json *json, struct text value)
{
    separate(json);
    quote(json, value);
}

void json_uint(struct json *json, uint64_t value)
{
    separate(json);
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    output_write(json->out, digits + at, sizeof digits - at);
}

void json_int(struct json *json, int64_t value)
{
    if (value >= 0) {
        json_uint(json, (uint64_t)value);
        return;
    }
    separate(json);
    output_char(json->out, '-');
    json->after_key = true; /* no separator between sign and digits */
    json_uint(json, 0 - (uint64_t)value);
}

size_t json_double_digits(double value, char digits[static JSON_DOUBLE_SIZE])
{
    int enough = fabs(value) < DBL_MIN ? 1 : 15; /* subnormal numbers have fewer digits */
    for (int precision = enough; precision <= 17; precision++) {
        snprintf(digits, JSON_DOUBLE_SIZE, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    size_t size = strlen(digits);
    if (strpbrk(digits, ".e"))
        return size;
    memcpy(digits + size, ".0", sizeof ".0");
    return size + 2;
}

void json_double(struct json *json, double value)
{
    if (!isfinite(value)) {
        json_text(json, isnan(value) ? TEXT("NaN")
                        : value > 0  ? TEXT("Infinity")
                                     : TEXT("-Infinity"));
        return;
    }
    separate(json);
    char digits[JSON_DOUBLE_SIZE];
    output_write(json->out, digits, json_double_digits(value, digits));
}

void json_bool(struct json *json, bool value)
{
    separate(json);
    output_text(json->out, value ? "true" : "false");
}

void json_null(struct json *json)
{
    separate(json);
    output_text(json->out, "null");
}

void json_raw(struct json *json, struct text value)
{
    separate(json);
    output_write(json->out, value.data, value.size);
}

void json_base64(struct json *json, const uint8_t *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    separate(json);
    output_char(json->out, '"');
    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = (uint32_t)data[i] << 16;
        if (i + 1 < size)
            group |= (uint32_t)data[i + 1] << 8;
        if (i + 2 < size)
            group |= data[i + 2];
        char encoded[4] = {digits[group >> 18], digits[group >> 12 & 63],
                           i + 1 < size ? digits[group >> 6 & 63] : '=',
                           i + 2 < size ? digits[group & 63] : '='};
        output_write(json->out, encoded, sizeof encoded);
    }
    output_char(json->out, '"');
}

struct json json_fork(const struct json *json, struct output *out)
{
    struct json fork = *json;
    fork.out = out;
    fork.has_items[fork.depth - 1] = false;
    return fork;
}

void json_splice(struct json *json, const char *items, size_t size)
{
    if (size == 0)
        return;
    if (json->has_items[json->depth - 1])
        output_char(json->out, ',');
    json->has_items[json->depth - 1] = true;
    output_write(json->out, items, size);
}

void json_put_text(struct json *json, const char *key, struct text value)
{
    json_key(json, key);
    json_text(json, value);
}

void json_put_int(struct json *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_int(json, value);
}

void json_put_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

void json_put_double(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_double(json, value);
}
