/*
 * InfluxDB's line protocol, written as it comes: one line a point,
 *
 *     measurement,tag=value,... field=value,... time
 *
 * A series is the part before the fields, written once for many points. Tags and field keys are
 * names to the server: what it takes apart (comma, equals sign, space) is escaped, what it cannot
 * hold (line breaks and other non-printable characters, bytes that are not UTF-8) becomes '?'.
 * There is no way to write a backslash before one of those it takes apart, before a quote or at the
 * end: the full-width backslash U+FF3C stands for it. A long name is cut. Text values hold
 * everything but bytes that are not UTF-8; those become U+FFFD.
 */
#ifndef KYMO_WIRE_LINE_PROTOCOL_H
#define KYMO_WIRE_LINE_PROTOCOL_H

#include "base/base.h"

/* A series and a field key may have 65,535 bytes together; nobody reads names as long as these. */
enum { SERIES_LONGEST_TAG = 1024, POINT_LONGEST_KEY = 1024 };

/* The times a server takes, in nanoseconds since 1970. */
#define POINT_FIRST_NS (-INT64_MAX + 1)
#define POINT_LAST_NS  (INT64_MAX - 1)

/* The measurement is plain letters. A tag without a value is none and is left out. */
void series_begin(struct output *out, const char *measurement);
void series_tag(struct output *out, const char *key, struct text value);
void series_tag_uint(struct output *out, const char *key, uint64_t value);

struct point {
    struct output *out;
    bool has_fields;
};

/* After the series; it must get a field at least. */
void point_begin(struct point *point, struct output *out);
/* The key of the value that follows: a plain prefix and any name. */
void point_key(struct point *point, const char *prefix, struct text name);
void point_int(struct point *point, int64_t value);
void point_double(struct point *point, double value); /* finite: the protocol has no other */
void point_bool(struct point *point, bool value);
void point_text(struct point *point, struct text value);
void point_end(struct point *point, int64_t time_ns);

/* key and value in one call. */
void point_put_int(struct point *point, const char *key, int64_t value);
void point_put_text(struct point *point, const char *key, struct text value);

#endif
