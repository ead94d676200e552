/*
 * Settings of a remote capture: levels, options of devices, and what the request is made of.
 */
#ifndef KYMO_CAPTURE_CLIENT_SETTINGS_H
#define KYMO_CAPTURE_CLIENT_SETTINGS_H

#include "base/base.h"

enum { SETTINGS_NO_DELAY = -1 };

struct remote_settings {
    uint64_t host_level, device_level, python_level;
    uint64_t traceme_mask;
    bool has_hlo, has_dataset_ops, has_mask;
    uint64_t max_bytes;     /* of the profiles of all hosts together */
    int64_t delay_ms;       /* SETTINGS_NO_DELAY: not set */
    char *session_id;       /* or NULL */
    char *host_names;       /* for the files, with commas between them; or NULL */
    struct output advanced; /* entries of advanced_configuration, as fields of ProfileOptions */
};

bool settings_read(struct remote_settings *settings, const char *const *texts, size_t count,
                   struct error *err);
void settings_free(struct remote_settings *settings);

/* What a request says besides. */
struct remote_request {
    const struct remote_settings *settings;
    uint64_t duration_ms, start_ns; /* start_ns 0: at once */
    const char *repository, *session_id, *host_name;
};
/* Appends a ProfileRequest as a gRPC message. */
void request_put(struct output *out, const struct remote_request *request);
/* A TerminateRequest. */
void terminate_put(struct output *out, const char *session_id);

#endif
