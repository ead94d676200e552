/*
 * remote: captures profiles over the network, as a client of the gRPC service ProfilerService that
 * jax.profiler.start_server and kymo_serve provide. All hosts are asked at once, each by a thread;
 * answers are written to files as they come.
 */
#ifndef KYMO_CAPTURE_CLIENT_REMOTE_H
#define KYMO_CAPTURE_CLIENT_REMOTE_H

#include "base/base.h"

enum { REMOTE_MAX_HOSTS = 1024 };

struct remote_options {
    const char *addresses;       /* HOST:PORT, separated by commas; IPv6 addresses in brackets */
    const char *const *settings; /* each KEY=VALUE, or several with commas between them */
    size_t setting_count;
    uint64_t duration_ms;
    uint64_t timeout_ms;   /* how long to wait for answers from the start on; 0: the default */
    unsigned retries;      /* of a host that cannot be reached or is busy */
    const char *directory; /* log directory to write the session to */
    /* Called about five times a second from the thread that captures. False: ends the capture, what
     * was recorded so far is kept. */
    bool (*tick)(void *context, size_t finished, size_t hosts, uint64_t bytes);
    void *context;
};

struct remote_host {
    char *address; /* as given */
    char *path;    /* of its profile, or NULL */
    uint64_t size_bytes;
    bool was_written_there; /* by a server that does not send profiles, on a shared file system */
    struct error problem;   /* when there is no profile */
};

struct remote_session {
    char *directory; /* of the run */
    ARRAY(struct remote_host) hosts;
    size_t failed;
};

/* False when nothing was tried: an option is wrong, or the directory cannot be made. Which hosts
 * have failed is in the session; what the others sent is kept. */
bool remote_capture(const struct remote_options *options, struct remote_session *session,
                    struct error *err);
/* The addresses and settings alone. */
bool remote_check(const struct remote_options *options, struct error *err);
void remote_session_free(struct remote_session *session);

#endif
