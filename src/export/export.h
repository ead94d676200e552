/*
 * export: a profile as text and files for people and other tools. Exporters print what the analysis
 * found; none works out a figure of its own.
 */
#ifndef KYMO_EXPORT_H
#define KYMO_EXPORT_H

#include "analyze/analyze.h"
#include "sql/sql.h"

struct text_style {
    bool coloured;
    size_t width; /* of a line, in characters */
    size_t top;   /* rows a ranking shows */
};

/* The summary for people. */
void export_summary_text(const struct analysis *analysis, const struct text_style *style,
                         struct output *out);
/* The same as one JSON object, with all rows of the rankings. */
void export_summary_json(const struct analysis *analysis, bool pretty, struct output *out);

/* What a profile consists of, as text and as JSON. */
void export_info_text(const struct analysis *analysis, const struct text_style *style,
                      struct output *out);
void export_info_json(const struct analysis *analysis, bool pretty, struct output *out);

/* Everything, events with all their args included; reads the source once more and streams. */
bool export_json(const struct analysis *analysis, struct source *source, struct pool *pool,
                 bool pretty, struct output *out, struct error *err);

/* Fields that tracks of an exported timeline are grouped by. */
enum group_field {
    GROUP_INSTANCE,
    GROUP_PROCESS,
    GROUP_THREAD,
    GROUP_CORE,
    GROUP_WORKER,
    GROUP_FIELDS
};
struct group_fields {
    enum group_field items[GROUP_FIELDS];
    size_t count;
};
/* From a list such as "instance_id,process_id". */
bool group_fields_read(struct group_fields *fields, const char *list, struct error *err);

struct perfetto_options {
    struct group_fields primary, secondary; /* a process and a thread of the viewer */
    bool has_flows;
};

/* A Perfetto trace (.pftrace): every event as a slice, an instant or a counter's sample. */
bool export_perfetto(const struct analysis *analysis, struct source *source, struct pool *pool,
                     const struct perfetto_options *options, struct output *out, struct error *err);

struct influx_options {
    const char *endpoint, *org, *bucket;
    const char *token;        /* NULL for none */
    unsigned long patience_s; /* how long to go on trying with a server that takes nothing */
    void (*notice)(const char *text); /* told about long waits, by any thread; may be NULL */
};

/*
 * InfluxDB: a server is found before the work, then every event is written as a point. See influx.c
 * for what points look like. The texts in the options must outlive the server. `replace` removes
 * what the bucket has of a profile of this name first. *written is how many points the server has
 * taken, also when that was not all; the error says so, too.
 */
struct influx;
bool influx_open(struct influx **influx, const struct influx_options *options, struct error *err);
void influx_close(struct influx *influx);
bool export_influx(const struct analysis *analysis, struct source *source, struct pool *pool,
                   struct influx *influx, const char *profile, bool replace, uint64_t *written,
                   struct error *err);

/* The most that readers of XPlane files accept: protobuf's own limit. */
#define XPLANE_LARGEST ((uint64_t)INT32_MAX)
/*
 * XPlane, as XProf and jaxlib read it; reads the source twice. One file holds one host: a capture
 * of several, or one that takes more than `largest` bytes, is refused. A session has files for
 * every host, as many as it takes, in a directory that must be there; *.xplane.pb files of another
 * session in it are removed.
 */
bool export_xplane(struct source *source, struct pool *pool, uint64_t largest, struct output *out,
                   struct error *err);
bool export_xplane_session(struct source *source, struct pool *pool, uint64_t largest,
                           const char *directory, struct error *err);

/* The rows of a query, up to a limit (0: all). JSON is an array with one object a line; CSV is as
 * RFC 4180 has it but for the line ends, which are the system's. Both stream. */
bool export_rows_json(struct sql_result *result, uint64_t limit, struct output *out,
                      struct error *err);
bool export_rows_csv(struct sql_result *result, uint64_t limit, struct output *out,
                     struct error *err);
/* CSV piece by piece: the titles, and the rows that sql_next has just fetched. */
void export_csv_titles(const struct sql_result *result, struct output *out);
void export_csv_rows(const struct sql_result *result, size_t rows, struct output *out);
/* As a table for people, the style's top rows of it (0: all), and how many there are. */
bool export_rows_text(struct sql_result *result, const struct text_style *style, struct output *out,
                      struct error *err);

enum rows_kind {
    ROWS_TEXT,
    ROWS_CSV,
    ROWS_JSON,
    ROWS_API_CSV,     /* an error when it is too large */
    ROWS_API_LISTS,   /* {"columns": …, "rows": [[…], …], "truncated": …} */
    ROWS_API_OBJECTS, /* {"data": [{…}, …]} */
};
/* How to write rows; can be handed to another process as it is. */
struct rows_format {
    enum rows_kind kind;
    uint64_t limit;          /* rows; 0 is all, but for the API's formats */
    size_t answer_bytes;     /* of the API's formats */
    struct text_style style; /* of ROWS_TEXT */
};
bool export_rows(struct sql_result *result, const struct rows_format *format, struct output *out,
                 struct error *err);
/* A value as the kind of its column says, for the API. */
struct json;
void export_json_value(struct json *json, const struct sql_column *column, struct text value);

#endif
