/*
 * JSON of events. Malformed UTF-8 is replaced by U+FFFD, so that the output is valid JSON.
 */
#include "neuron/runtime/api/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *room(struct json *json, size_t size)
{
    if (json->failed)
        return NULL;
    if (size >= json->capacity - json->size) {
        size_t capacity = json->capacity ? json->capacity : 4096;
        while (capacity - json->size <= size && capacity <= SIZE_MAX / 4)
            capacity *= 2;
        char *text = realloc(json->text, capacity);
        if (!text) {
            json->failed = true;
            return NULL;
        }
        json->text = text;
        json->capacity = capacity;
    }
    return json->text + json->size;
}

static void add(struct json *json, const char *text, size_t size)
{
    char *to = room(json, size);
    if (!to)
        return;
    memcpy(to, text, size);
    to[size] = '\0';
    json->size += size;
}

void trace_json_raw(struct json *json, const char *text)
{
    add(json, text, strlen(text));
}

void trace_json_unsigned(struct json *json, uint64_t value)
{
    char digits[20], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    add(json, at, (size_t)(digits + sizeof digits - at));
}

static void json_signed(struct json *json, int64_t value)
{
    if (value < 0)
        add(json, "-", 1);
    trace_json_unsigned(json, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* JSON's decimal point does not depend on the locale. */
static void json_double(struct json *json, double value)
{
    char digits[40];
    if (!isfinite(value)) {
        trace_json_raw(json, "null");
        return;
    }
    snprintf(digits, sizeof digits, "%.17g", value);
    char *at = digits + strspn(digits, "+-0123456789");
    size_t wide = strcspn(at, "+-0123456789e");
    if (wide > 0) {
        *at = '.';
        memmove(at + 1, at + wide, strlen(at + wide) + 1);
    }
    trace_json_raw(json, digits);
}

/* The size of the UTF-8 character that begins here, 0 when it is malformed. */
static size_t utf8_size(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (text[0] < 0x80)
        return 1;
    size_t size = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    if (text[0] < 0xC2 || text[0] > 0xF4)
        return 0;
    uint32_t code = text[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    return code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : size;
}

static void json_text(struct json *json, const char *text)
{
    add(json, "\"", 1);
    while (*text) {
        size_t plain = 0, size;
        while (text[plain] && text[plain] != '"' && text[plain] != '\\' &&
               (unsigned char)text[plain] >= 0x20 &&
               (size = utf8_size((const unsigned char *)text + plain)) > 0)
            plain += size;
        add(json, text, plain);
        text += plain;
        unsigned char c = (unsigned char)*text;
        if (c == '\0')
            break;
        char escape[8];
        if (c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%c", c);
        else
            snprintf(escape, sizeof escape, "\\u%04x", c < 0x20 ? c : 0xFFFDu);
        trace_json_raw(json, escape);
        text++;
    }
    add(json, "\"", 1);
}

static void json_value(struct json *json, const struct rings_event *event, unsigned i)
{
    switch (event->kind[i]) {
    case KYMO_INT:
        json_signed(json, event->value[i].i);
        break;
    case KYMO_UINT:
        trace_json_unsigned(json, event->value[i].u);
        break;
    case KYMO_DOUBLE:
        json_double(json, event->value[i].d);
        break;
    case KYMO_TEXT:
        if (event->value[i].text) {
            json_text(json, event->value[i].text);
            break;
        }
        trace_json_raw(json, "null");
        break;
    default:
        trace_json_raw(json, "null");
    }
}

/* The members of an event as Neuron's runtime writes them; its readers depend on these names. */
void trace_json_event(struct json *json, const struct rings_event *event, uint32_t ring)
{
    static const char *const phases[] = {[TRACE_POINT] = "",
                                         [TRACE_START] = ",\"phase\":\"start\"",
                                         [TRACE_STOP] = ",\"phase\":\"stop\""};
    trace_json_raw(json, "{\"event_type\":\"");
    trace_json_raw(json, event_type_name((enum event_type)event->type));
    trace_json_raw(json, "\"");
    trace_json_raw(json, phases[event->phase]);
    trace_json_raw(json, ",\"tracking_id\":");
    trace_json_unsigned(json, event->tracking_id);
    if (ring < RINGS_CORES) {
        trace_json_raw(json, ",\"nc_idx\":");
        trace_json_unsigned(json, ring);
    }
    trace_json_raw(json, ",\"timestamp_ns\":");
    json_signed(json, event->time_ns);
    trace_json_raw(json, ",\"data\":{");
    for (unsigned i = 0; i < event->count; i++) {
        if (i > 0)
            trace_json_raw(json, ",");
        json_text(json, event->key[i] ? event->key[i] : "value");
        trace_json_raw(json, ":");
        json_value(json, event, i);
    }
    trace_json_raw(json, "}}");
}
