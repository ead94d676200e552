/*
 * Streaming JSON writer: the document is never held in memory. Handles commas, quoting, indentation
 * and malformed UTF-8 (replaced by U+FFFD).
 */
#ifndef KYMO_BASE_WIRE_JSON_H
#define KYMO_BASE_WIRE_JSON_H

#include "base/base.h"

enum { JSON_MAX_DEPTH = 32 };

struct json {
    struct output *out;
    bool pretty;
    bool after_key;
    unsigned depth;
    bool has_items[JSON_MAX_DEPTH];
    unsigned flat_from; /* no line breaks from this depth on: a table row stays on one line */
};

void json_begin(struct json *json, struct output *out, bool pretty);
void json_open(struct json *json, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);
/* Like json_open and json_close, but everything inside stays on one line even when pretty. */
void json_open_row(struct json *json, char bracket);
void json_close_row(struct json *json, char bracket);
void json_key(struct json *json, const char *key);
void json_key_text(struct json *json, struct text key);
void json_text(struct json *json, struct text value);
void json_int(struct json *json, int64_t value);
void json_uint(struct json *json, uint64_t value);
/* The shortest form that parses back to the same number; NaN and infinities become strings. */
void json_double(struct json *json, double value);
enum { JSON_DOUBLE_SIZE = 32 };
/* Formats a finite number in that form, NUL-terminated; returns its length. */
size_t json_double_digits(double value, char digits[static JSON_DOUBLE_SIZE]);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
/* A value that is already JSON. */
void json_raw(struct json *json, struct text value);
void json_base64(struct json *json, const uint8_t *data, size_t size);
/*
 * For lists whose items are made in parallel: a fork writes items of the currently open list into
 * its own output, and json_splice appends them to the list.
 */
struct json json_fork(const struct json *json, struct output *out);
void json_splice(struct json *json, const char *items, size_t size);

/* Key and value in one call. */
void json_put_text(struct json *json, const char *key, struct text value);
void json_put_int(struct json *json, const char *key, int64_t value);
void json_put_uint(struct json *json, const char *key, uint64_t value);
void json_put_double(struct json *json, const char *key, double value);

#endif
