/*
 * serve: the HTTP server behind the web UI, over the profiles of a workspace. docs/api.md says what
 * it answers. Like the command line, it prints: where to look, and what goes wrong.
 */
#ifndef KYMO_SERVE_H
#define KYMO_SERVE_H

#include "base/base.h"
#include "serve/limits.h"

enum { SERVE_UI_PORT = 3001, SERVE_API_PORT = 3002 };
#define SERVE_UPLOAD_LIMIT ((uint64_t)64 << 30)

struct serve_port {
    uint16_t number; /* 0: any that is free */
    bool is_given;   /* by the user: then no other will do */
};

struct serve_options {
    const char *data_path;     /* the workspace; NULL for the usual one */
    const char *log_directory; /* its runs are listed, too, and processed on request; or NULL */
    const char *profile;       /* name of the one to show; NULL for the list of all */
    const char *host;          /* the address to listen on; NULL for 127.0.0.1 */
    const char *token;         /* NULL: none on loopback, a random one on other addresses */
    const char *source_root;   /* where sources that stack frames name may be read; or NULL */
    struct serve_port ui, api;
    bool has_ui;
    uint64_t upload_limit; /* bytes of all uploads together */
    const char *version;   /* of the program */
};

/* Serves until SIGINT or SIGTERM. */
bool serve_run(const struct serve_options *options, struct error *err);

#endif
