/*
 * import: one file per format that is read. Each turns a capture into a source: a catalog, and
 * events pushed as batches. Formats are recognised by content; a directory is searched for
 * captures.
 */
#ifndef KYMO_IMPORT_H
#define KYMO_IMPORT_H

#include "import/paths.h"
#include "record/record.h"
#include "trace/trace.h"

struct capture_file {
    char *path;
    char *label;    /* what the host is called when the file does not say */
    bool is_device; /* it is a device's profile, not the system's */
    bool is_rings; /* it is the directory of what a program recorded that did not end its capture */
};

/* The files that make up one profile, and what else was found. */
struct capture {
    ARRAY(struct capture_file) files;
    ARRAY(char *) other_runs; /* sessions of a log directory that are not part of this capture */
    char *run;                /* name of the session, NULL for a single file */
    path_list warnings;       /* sentences about what could not be taken */
    char *tables;             /* the directory, when the files are tables in it */
};

/* path: a file, a session directory (plugins/profile/<run>) or a log directory, whose newest run is
 * taken. */
bool capture_find(struct capture *capture, const char *path, struct error *err);
void capture_free(struct capture *capture);

/* Keeps the files of the system's profile, those of the devices', or those of one of these. */
enum capture_part { CAPTURE_ALL, CAPTURE_SYSTEM, CAPTURE_DEVICES, CAPTURE_DEVICE };
void capture_keep(struct capture *capture, enum capture_part part, size_t device);

/* The caller ends it with source_close. The capture must stay until then. */
bool import_capture(const struct capture *capture, struct pool *pool, struct source **source,
                    struct error *err);

/* What libkymo recorded at a path since a moment and is session files. */
struct recording_counts {
    size_t processes;
    uint64_t recorded, kept, lost; /* events */
};
bool recording_survey(const char *path, int64_t since_ns, struct recording_counts *counts,
                      struct error *err);

/* Turns what killed programs left behind at a path since a moment into session files. One entry for
 * each; false when the path cannot be read. */
struct recovered {
    char *directory;
    bool is_done;
    struct record_summary summary;
    struct error error; /* where it is not done */
};
typedef ARRAY(struct recovered) recovered_list;
bool recording_recover(const char *path, int64_t since_ns, recovered_list *list, struct error *err);
void recovered_free(recovered_list *list);

/* One file's content that is already in memory; name and data must outlive the source. */
bool import_xplane_bytes(const char *name, const uint8_t *data, size_t size, struct pool *pool,
                         struct source **source, struct error *err);
bool import_chrome_bytes(const char *name, const uint8_t *data, size_t size, struct pool *pool,
                         struct source **source, struct error *err);
bool import_system_trace_bytes(const char *name, const uint8_t *data, size_t size,
                               struct source **source, struct error *err);
bool import_explorer_bytes(const char *name, const uint8_t *data, size_t size,
                           struct source **source, struct error *err);
bool import_recording_bytes(const char *name, const uint8_t *data, size_t size,
                            struct source **source, struct error *err);

#endif
