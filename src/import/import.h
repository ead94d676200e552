/*
 * import: one folder or file per input format. Each turns a capture into a source: a catalog, and
 * events pushed as batches. Formats are recognized by content; directories are searched for
 * captures.
 */
#ifndef KYMO_IMPORT_IMPORT_H
#define KYMO_IMPORT_IMPORT_H

#include "capture/recorder/record.h"
#include "import/paths.h"
#include "model/model.h"

struct capture_file {
    char *path;
    char *label;    /* the host's name if the file has none */
    char *neff;     /* of an NTFF: its NEFF; NULL: found by its uuid */
    bool is_device; /* a device profile, not a system profile */
    bool is_ntff;   /* a raw one: read separately from a system profile */
    bool is_rings;  /* a directory of rings left by a program that was killed during a capture */
};

/* The files of one profile, and what else was found. */
struct capture {
    ARRAY(struct capture_file) files;
    ARRAY(char *) other_runs; /* other sessions of the log directory */
    char *run;                /* name of the session, NULL for a single file */
    path_list warnings;       /* messages about files that were skipped */
    char *tables;             /* the directory, when the files are Parquet tables */
    bool tracks_memory;       /* of device profiles: uses of the scratchpad are traced */
};

/* path: a file, a session directory (plugins/profile/<run>) or a log directory, whose newest run is
 * taken. */
bool capture_find(struct capture *capture, const char *path, struct error *err);
void capture_free(struct capture *capture);

/* Keeps only the system profile's files, the device profiles, or one device profile. */
enum capture_part { CAPTURE_ALL, CAPTURE_SYSTEM, CAPTURE_DEVICES, CAPTURE_DEVICE };
void capture_keep(struct capture *capture, enum capture_part part, size_t device);

/* Whether there are NTFF files beside others. */
bool capture_is_mixed(const struct capture *capture);
/* Assigns this NEFF to its NTFF files; fails if it has none. */
bool capture_set_neff(struct capture *capture, const char *path, struct error *err);

/* The caller closes it with source_close. The capture must outlive it. */
bool import_capture(const struct capture *capture, struct pool *pool, struct source **source,
                    struct error *err);
/* The content of a source of NTFF files, NULL for other sources. Its lanes are its tracks. */
struct device_cores;
const struct device_cores *import_device_cores(const struct source *source);

/* What libkymo recorded at a path since a given time, in complete session files, and the device
 * profiles that runtimes put beside them. */
struct recording_counts {
    size_t processes, device_profiles;
    uint64_t kept, gpu; /* events, and activities of GPUs */
    struct drops drops; /* of both */
};
bool recording_survey(const char *path, int64_t since_ns, struct recording_counts *counts,
                      struct error *err);

/* Converts recordings that killed programs left at a path since a given time into session files,
 * with one entry each; false when the path cannot be read. */
struct recovered {
    char *directory;
    bool is_done;
    struct record_summary summary;
    struct error error; /* if it failed */
};
typedef ARRAY(struct recovered) recovered_list;
bool recording_recover(const char *path, int64_t since_ns, recovered_list *list, struct error *err);
void recovered_free(recovered_list *list);

/* Opens one file's content in memory; name and data must outlive the source. */
bool import_xplane_bytes(const char *name, const uint8_t *data, size_t size, struct pool *pool,
                         struct source **source, struct error *err);
bool import_chrome_bytes(const char *name, const uint8_t *data, size_t size, struct pool *pool,
                         struct source **source, struct error *err);
bool import_system_trace_bytes(const char *name, const uint8_t *data, size_t size,
                               struct source **source, struct error *err);
bool import_explorer_bytes(const char *name, const uint8_t *data, size_t size,
                           struct source **source, struct error *err);
/* Takes ownership of the profile. */
struct device_profile;
struct source *import_device_profile(struct device_profile *profile, const char *name,
                                     struct pool *pool);
bool import_recording_bytes(const char *name, const uint8_t *data, size_t size,
                            struct source **source, struct error *err);

#endif
