/*
 * export: writes profiles as text, JSON, Perfetto, XPlane, InfluxDB points, and query results as
 * rows. Exporters only print what the analysis computed.
 */
#ifndef KYMO_EXPORT_EXPORT_H
#define KYMO_EXPORT_EXPORT_H

#include "analyze/device/device.h"
#include "analyze/profile/analyze.h"
#include "export/table.h"
#include "neuron/profile_file/ntff.h"
#include "neuron/program/neff.h"
#include "sql/sql.h"

/* The summary as text for a terminal. */
void export_summary_text(const struct analysis *analysis, const struct text_style *style,
                         struct output *out);
/* The same as one JSON object, with all rows of the rankings. */
void export_summary_json(const struct analysis *analysis, bool pretty, struct output *out);

/* Findings, with what to do about them: of an analysis, or of a processed profile. */
struct findings_options {
    const char *profile; /* name of the processed profile that links refer to; NULL: no links */
    const char *address; /* of the server that has it */
};
void export_findings_text(const struct findings *findings, const struct findings_options *options,
                          const struct text_style *style, struct output *out);
void export_findings_json(const struct findings *findings, struct output *out);
/* Those of a profile's tables. */
bool findings_read(struct sql_connection *connection, struct findings *findings, struct error *err);

/* The contents of a profile (hosts, planes, lines, counts, versions), as text and as JSON. */
/* A device profile beside the capture: an NTFF file. */
struct info_device {
    const char *path;
    struct ntff *ntff;
};
typedef ARRAY(struct info_device) info_device_list;
void export_info_text(const struct analysis *analysis, const info_device_list *devices,
                      const struct text_style *style, struct output *out);
void export_info_json(const struct analysis *analysis, const info_device_list *devices, bool pretty,
                      struct output *out);

/* The contents of an executable: header, programs, tensors, queues. */
bool export_neff_text(const struct neff *neff, const struct text_style *style, struct output *out,
                      struct error *err);
bool export_neff_json(const struct neff *neff, struct output *out, struct error *err);
/* A text from a file, with control characters replaced by spaces. */
void export_printable(const char *text, struct output *out);
/* The contents of a device profile: header, executions, notifications of each type and unit. */
void export_ntff_text(const struct ntff *ntff, const struct text_style *style, struct output *out);
void export_ntff_json(const struct ntff *ntff, struct output *out);
/* The notifications of an NTFF file themselves, without its NEFF. loss: the damaged parts. */
struct show_options {
    bool trace, dma; /* instructions and collectives; transfers. Errors are always shown */
};
void export_session_text(const struct ntff *ntff, const struct show_options *options,
                         struct output *out, struct ntff_loss *loss);
void export_session_json(const struct ntff *ntff, const struct show_options *options,
                         struct output *out, struct ntff_loss *loss);

/* Device profiles: metrics in two columns, one block for each; as JSON, keyed by the profiles' ids.
 * version: of this program. */
void export_device_text(const struct device_analysis *const *analyses, size_t count,
                        const char *version, struct output *out);
/* The overview of a device profile, or of several ranks, for a terminal. */
void export_device_overview(const struct analysis *analysis, const struct device_analysis *device,
                            const struct text_style *style, struct output *out);
void export_ranks_overview(const struct analysis *analysis, const struct device_ranks *ranks,
                           const struct text_style *style, struct output *out);
/* ranks: NULL for one profile alone. system: the profile of the system they were taken on, or NULL.
 */
void export_device_summary_json(const struct device_analysis *const *analyses, size_t count,
                                const struct device_ranks *ranks, const struct analysis *system,
                                const char *version, bool pretty, struct output *out);
/* The ranks of a capture, the slowest one, and the collectives with the greatest skew. */
void export_device_ranks_text(const struct device_ranks *ranks, const struct text_style *style,
                              struct output *out);
/* "n_" and 40 hexadecimal digits: from the NEFF, the process, the core. */
enum { DEVICE_ID_SIZE = 43 };
const char *export_device_id(const struct device_profile *profile, char id[static DEVICE_ID_SIZE]);
/* Findings about a device, as Markdown. */
void export_device_findings(const struct device_analysis *analysis, struct output *out);
/* Each metric with its meaning and formula. */
void export_terminology(struct output *out);
/* All instructions and transfers of a device profile, in the published form; reads executions one
 * after the other and streams. */
struct device_json_options {
    const char *ntff_path, *version;
    bool is_pretty;
    bool tracks_memory; /* adds the times when tensors are in the scratchpad */
};
void export_device_json(const struct device_analysis *analysis,
                        const struct device_json_options *options, struct pool *pool,
                        struct output *out);

/* A device profile of the same capture. */
struct json_device {
    const char *name, *instance, *model_name;
    uint64_t model;                      /* the number in the names of its files */
    int64_t process, core, logical_core; /* core: as the machine numbers them */
};
struct json_options {
    bool is_pretty;
    const struct json_device *devices;
    size_t device_count;
};
/* The whole profile, all events and args included. Reads the source again and streams. */
bool export_json(const struct analysis *analysis, struct source *source, struct pool *pool,
                 const struct json_options *options, struct output *out, struct error *err);

/* The fields by which lanes are grouped into tracks of an exported timeline. */
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
/* Parses a list such as "instance_id,process_id". */
bool group_fields_read(struct group_fields *fields, const char *list, struct error *err);

struct perfetto_options {
    struct group_fields primary, secondary; /* become processes and threads in the viewer */
    bool has_flows;
    bool has_gpu_stages; /* streams and counters of GPUs as GPU packets, not as tracks */
    const struct device_cores *devices; /* whose lanes are the tracks; NULL: none */
};

/* A Perfetto trace (.pftrace): events become slices, instants or counter samples. */
bool export_perfetto(const struct analysis *analysis, struct source *source, struct pool *pool,
                     const struct perfetto_options *options, struct output *out, struct error *err);

struct influx_options {
    const char *endpoint, *org, *bucket;
    const char *token;                /* NULL for none */
    unsigned long timeout_s;          /* how long to retry while the server accepts nothing */
    void (*notice)(const char *text); /* reports long waits; called from any thread; may be NULL */
};

/*
 * Writes every event as a point to InfluxDB; influx.c describes the points. influx_open checks that
 * the server accepts writes before the work begins; strings in the options must outlive the handle.
 * `replace` first deletes the points of a profile of the same name. *written counts the points the
 * server accepted, also on failure, and the error mentions it.
 */
struct influx;
struct influx_profile {
    const char *name;
    bool replace;
    const struct device_cores *devices; /* whose lanes are the tracks; NULL: none */
};
bool influx_open(struct influx **influx, const struct influx_options *options, struct error *err);
void influx_close(struct influx *influx);
bool export_influx(const struct analysis *analysis, struct source *source, struct pool *pool,
                   struct influx *influx, const struct influx_profile *profile, uint64_t *written,
                   struct error *err);

/* The largest file XPlane readers accept: protobuf's limit. */
#define XPLANE_MAX_BYTES ((uint64_t)INT32_MAX)
/*
 * XPlane for XProf and jaxlib; reads the source twice. export_xplane writes one file, which holds
 * one host: it fails for captures of several hosts or larger than `max_bytes`.
 * export_xplane_session writes as many files per host as needed to an existing directory, and
 * removes the *.xplane.pb files of an earlier session from it.
 */
bool export_xplane(struct source *source, struct pool *pool, uint64_t largest, struct output *out,
                   struct error *err);
/* The same with a second capture of the same process, an XPlane file such as jaxlib's profiler
 * writes: planes and lines of the host's threads are merged. */
bool export_xplane_with(struct source *source, const char *other, struct pool *pool,
                        uint64_t largest, struct output *out, struct error *err);
/* The same for XLA's profiler to add to its own planes: times are clock times, as it subtracts its
 * start, and the environment plane is omitted. */
bool export_xplane_plugin(struct source *source, struct pool *pool, uint64_t largest,
                          struct output *out, struct error *err);
bool export_xplane_session(struct source *source, struct pool *pool, uint64_t largest,
                           const char *directory, struct error *err);

/* The rows of a query, at most `limit` (0: all), streamed. JSON: an array, one object per line.
 * CSV: RFC 4180, but lines end with LF. */
bool export_rows_json(struct sql_result *result, uint64_t limit, struct output *out,
                      struct error *err);
bool export_rows_csv(struct sql_result *result, uint64_t limit, struct output *out,
                     struct error *err);
/* A value of CSV. If quoted only where needed, NULL is nothing and the empty text is "": readers
 * can distinguish them. */
enum csv_quotes { CSV_QUOTED_IF_NEEDED, CSV_QUOTED };
void export_csv_value(struct output *out, struct text value, enum csv_quotes quotes);
/* CSV in steps: the header line, then a row, or the rows that sql_next fetched. */
void export_csv_header(const struct sql_result *result, struct output *out);
void export_csv_row(const struct sql_result *result, size_t row, enum csv_quotes quotes,
                    struct output *out);
void export_csv_rows(const struct sql_result *result, size_t rows, struct output *out);
/* A text table of at most style->top rows (0: all), followed by the row count. */
bool export_rows_text(struct sql_result *result, const struct text_style *style, struct output *out,
                      struct error *err);

enum rows_kind {
    ROWS_TEXT,
    ROWS_CSV,
    ROWS_JSON,
    ROWS_API_CSV,     /* fails if too large */
    ROWS_API_LISTS,   /* {"columns": …, "rows": [[…], …], "truncated": …} */
    ROWS_API_OBJECTS, /* {"data": [{…}, …]} */
};
/* How to write rows. Plain data: can be passed to another process. */
struct rows_format {
    enum rows_kind kind;
    uint64_t limit;          /* rows; 0: all (not for the API formats) */
    size_t answer_bytes;     /* max size of a document in the API formats */
    struct text_style style; /* for ROWS_TEXT */
};
bool export_rows(struct sql_result *result, const struct rows_format *format, struct output *out,
                 struct error *err);
struct json;
/* The values of a row as members of an object, as export_rows_json writes them. */
void export_json_members(struct json *json, const struct sql_result *result, size_t row);
/* Writes a value for the API, typed by its column. */
void export_json_value(struct json *json, const struct sql_column *column, struct text value);

#endif
