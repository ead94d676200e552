/*
 * serve: the HTTP server of the API (docs/api.md) and web UI over the profiles of a workspace. Like
 * cli, it prints: its URL and errors.
 */
#ifndef KYMO_SERVE_SERVE_H
#define KYMO_SERVE_SERVE_H

#include "base/base.h"
#include "serve/limits.h"

enum { SERVE_UI_PORT = 3001, SERVE_API_PORT = 3002 };

struct serve_port {
    uint16_t number; /* 0: any free port */
    bool is_given;   /* explicitly: fail if it is in use */
};

/* Of each process that imports, exports or analyzes; 0: none. */
struct processing_limits {
    uint64_t memory_bytes; /* without mapped files */
    uint64_t cpu_s;        /* all threads together */
    uint64_t output_bytes; /* written, all files together */
    /* Of what captures may declare; 0: by their size, as for all commands that read captures. */
    uint64_t scratch_gib, tracks, names;
};

struct serve_options {
    const char *data_path;       /* workspace; NULL for the default */
    const char *log_directory;   /* its runs are listed and processed on request; or NULL */
    bool is_dataset;             /* the log directory is a dataset of many ranks */
    const char *profile;         /* profile to open; NULL for the list */
    bool is_collective;          /* it is one of several ranks, whose address is /profile_cc/ */
    const char *host;            /* NULL for 127.0.0.1 */
    const char *token;           /* NULL: none on loopback, a random one on other addresses */
    const char *source_root;     /* directory of source files named in stack frames; or NULL */
    const char *nki_source_root; /* the same of NKI kernels */
    struct serve_port ui, api;
    bool has_ui;
    bool is_xprof;         /* XProf's routes also without their prefix */
    bool allows_frames;    /* of pages of this machine */
    bool allows_capture;   /* over the network, also when the host is not loopback */
    bool forbids_capture;  /* also when it is */
    uint64_t upload_limit; /* total bytes of all uploads */
    struct processing_limits processing;
    const char *version; /* of the program */
};

/* Serves until SIGINT or SIGTERM. */
bool serve_run(const struct serve_options *options, struct error *err);

#endif
