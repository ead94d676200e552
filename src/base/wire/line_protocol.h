/*
 * Streaming writer of InfluxDB's line protocol: one line per point,
 *
 *     measurement,tag=value,... field=value,... time
 *
 * A series is the part before the fields, written once for many points. In tags and field keys,
 * separators (comma, equals sign, space) are escaped, and what InfluxDB rejects (line breaks and
 * other non-printable characters, malformed UTF-8) becomes '?'. A backslash before a separator,
 * before a quote or at the end cannot be expressed: it becomes the full-width backslash U+FF3C.
 * Long names are truncated. In text values only malformed UTF-8 is replaced, by U+FFFD.
 */
#ifndef KYMO_BASE_WIRE_LINE_PROTOCOL_H
#define KYMO_BASE_WIRE_LINE_PROTOCOL_H

#include "base/base.h"

/* A series and a field key may have 65,535 bytes together; longer names are truncated to stay
 * below. */
enum { SERIES_MAX_TAG = 1024, POINT_MAX_KEY = 1024 };

/* The range of times InfluxDB accepts, in nanoseconds since 1970. */
#define POINT_FIRST_NS (-INT64_MAX + 1)
#define POINT_LAST_NS  (INT64_MAX - 1)

/* The measurement is plain letters. Tags with an empty value are omitted, as the protocol
 * requires. */
void series_begin(struct output *out, const char *measurement);
void series_tag(struct output *out, const char *key, struct text value);
void series_tag_uint(struct output *out, const char *key, uint64_t value);

struct point {
    struct output *out;
    bool has_fields;
};

/* After the series; at least one field must follow. */
void point_begin(struct point *point, struct output *out);
/* The key of the value that follows: a plain prefix and any name. */
void point_key(struct point *point, const char *prefix, struct text name);
void point_int(struct point *point, int64_t value);
void point_double(struct point *point,
                  double value); /* finite: the protocol has no NaN or infinities */
void point_bool(struct point *point, bool value);
void point_text(struct point *point, struct text value);
void point_end(struct point *point, int64_t time_ns);

/* Key and value in one call. */
void point_put_int(struct point *point, const char *key, int64_t value);
void point_put_text(struct point *point, const char *key, struct text value);

#endif
