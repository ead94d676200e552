/*
 * InfluxDB line protocol writer: escaping of names and of text values.
 */
#include "base/wire/line_protocol.h"

#include "base/wire/json.h"

#include <assert.h>
#include <math.h>

#define WIDE_BACKSLASH "\xEF\xBC\xBC"

static uint32_t code_point(const char *data, size_t length)
{
    const unsigned char *c = (const unsigned char *)data;
    if (length == 2)
        return (c[0] & 31u) << 6 | (c[1] & 63u);
    if (length == 3)
        return (c[0] & 15u) << 12 | (c[1] & 63u) << 6 | (c[2] & 63u);
    return (c[0] & 7u) << 18 | (c[1] & 63u) << 12 | (c[2] & 63u) << 6 | (c[3] & 63u);
}

/* InfluxDB 2 rejects a series that contains a non-printable character or U+FFFD. */
static bool has_picture(const char *data, size_t length)
{
    static const struct {
        uint32_t first, last;
    } without[] = {{0x80, 0xA0},     {0xAD, 0xAD},     {0x2000, 0x200F},
                   {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000},
                   {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFF}};
    uint32_t code = code_point(data, length);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (code >= without[i].first && code <= without[i].last)
            return false;
    return true;
}

static bool is_separator(char c)
{
    return c == ',' || c == '=' || c == ' ';
}

/* Writes one character of a name; returns its size in bytes. */
static size_t put_name_character(struct output *out, const char *data, size_t size)
{
    size_t length = text_utf8_length(data, size);
    unsigned char c = (unsigned char)data[0];
    if (length == 0 || c < 0x20 || c == 0x7F || (length > 1 && !has_picture(data, length))) {
        output_char(out, '?');
        return length ? length : 1;
    }
    if (c == '\\' && (size == 1 || is_separator(data[1]) || data[1] == '"')) {
        output_text(out, WIDE_BACKSLASH);
        return 1;
    }
    if (is_separator(data[0]))
        output_char(out, '\\');
    output_write(out, data, length);
    return length;
}

/* The length of the prefix that needs no escaping: nearly all names need none. */
static size_t plain_prefix(const char *data, size_t size)
{
    size_t at = 0;
    while (at < size && data[at] > 0x20 && data[at] < 0x7F && data[at] != ',' && data[at] != '=' &&
           data[at] != '\\')
        at++;
    return at;
}

static void put_name(struct output *out, struct text name, size_t longest)
{
    if (name.size > longest) {
        name.size = longest;
        while (name.size > longest - 4 && ((unsigned char)name.data[name.size] & 0xC0) == 0x80)
            name.size--; /* do not cut inside a character */
    }
    for (size_t at = 0; at < name.size;) {
        size_t plain = plain_prefix(name.data + at, name.size - at);
        output_write(out, name.data + at, plain);
        at += plain;
        if (at < name.size)
            at += put_name_character(out, name.data + at, name.size - at);
    }
}

static void put_uint(struct output *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    output_write(out, digits + at, sizeof digits - at);
}

static void put_int(struct output *out, int64_t value)
{
    if (value < 0)
        output_char(out, '-');
    put_uint(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void series_begin(struct output *out, const char *measurement)
{
    output_text(out, measurement);
}

static void put_tag_key(struct output *out, const char *key)
{
    output_char(out, ',');
    output_text(out, key);
    output_char(out, '=');
}

void series_tag(struct output *out, const char *key, struct text value)
{
    if (value.size == 0)
        return;
    put_tag_key(out, key);
    put_name(out, value, SERIES_MAX_TAG);
}

void series_tag_uint(struct output *out, const char *key, uint64_t value)
{
    put_tag_key(out, key);
    put_uint(out, value);
}

void point_begin(struct point *point, struct output *out)
{
    *point = (struct point){.out = out};
}

void point_key(struct point *point, const char *prefix, struct text name)
{
    output_char(point->out, point->has_fields ? ',' : ' ');
    point->has_fields = true;
    output_text(point->out, prefix);
    put_name(point->out, name, POINT_MAX_KEY);
    output_char(point->out, '=');
}

void point_int(struct point *point, int64_t value)
{
    put_int(point->out, value);
    output_char(point->out, 'i');
}

void point_double(struct point *point, double value)
{
    char digits[JSON_DOUBLE_SIZE];
    assert(isfinite(value));
    output_write(point->out, digits, json_double_digits(value, digits));
}

void point_bool(struct point *point, bool value)
{
    output_text(point->out, value ? "true" : "false");
}

void point_text(struct point *point, struct text value)
{
    struct output *out = point->out;
    output_char(out, '"');
    for (size_t at = 0; at < value.size;) {
        size_t plain = at;
        while (at < value.size && value.data[at] != '"' && value.data[at] != '\\' &&
               (unsigned char)value.data[at] < 0x80)
            at++;
        if (at > plain)
            output_write(out, value.data + plain, at - plain);
        if (at == value.size)
            break;
        size_t length = text_utf8_length(value.data + at, value.size - at);
        if (length == 1)
            output_char(out, '\\');
        if (length > 0)
            output_write(out, value.data + at, length);
        else
            output_text(out, UTF8_REPLACEMENT);
        at += length ? length : 1;
    }
    output_char(out, '"');
}

void point_end(struct point *point, int64_t time_ns)
{
    assert(point->has_fields);
    output_char(point->out, ' ');
    put_int(point->out, time_ns);
    output_char(point->out, '\n');
}

/* Kymo's own keys need no escaping. */
static void put_plain_key(struct point *point, const char *key)
{
    output_char(point->out, point->has_fields ? ',' : ' ');
    point->has_fields = true;
    output_text(point->out, key);
    output_char(point->out, '=');
}

void point_put_int(struct point *point, const char *key, int64_t value)
{
    put_plain_key(point, key);
    point_int(point, value);
}

void point_put_text(struct point *point, const char *key, struct text value)
{
    put_plain_key(point, key);
    point_text(point, value);
}
