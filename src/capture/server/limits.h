/*
 * All limits on what clients can make the ProfilerService use, and how long it waits for what;
 * docs/remote.md lists those visible to clients. Times end in _MS or _S, the rest are bytes or
 * counts.
 */
#ifndef KYMO_CAPTURE_SERVER_LIMITS_H
#define KYMO_CAPTURE_SERVER_LIMITS_H

#include <stdint.h>

/* Connections and their requests */
enum {
    CONNECTION_MAX = 32,
    CONNECTION_STREAMS = 8,           /* requests at once, per connection */
    CONNECTION_HEADERS = 16 << 10,    /* bytes of a request's headers */
    CONNECTION_MESSAGE = 4 << 20,     /* gRPC's limit of a message, without its prefix */
    CONNECTION_ALL_BODIES = 16 << 20, /* of all connections */
    CONNECTION_SMALL_BODY = 16 << 10, /* there is always room for these */
    CONNECTION_READ = 32 << 10,       /* bytes read at once */
    CONNECTION_READS = 8,             /* of these before other connections have their turn */
    CONNECTION_START_MS = 10000,      /* until the first request */
    CONNECTION_IDLE_MS = 120000,      /* between requests */
    CONNECTION_REQUEST_MS = 30000,    /* from the start of a request to its end */
    CONNECTION_STALL_MS = 60000,      /* in which a client takes nothing of an answer */
    SERVER_LISTENERS = 8,             /* addresses that a name may have */
    SERVER_BACKLOG = 64,              /* connections that wait to be accepted */
    SERVER_PORT_ATTEMPTS = 16,        /* to find one that is free for both loopback addresses */
    SERVER_DESCRIPTORS = 64,          /* open in the traced program, all together */
    SERVER_KEEPALIVE_S = 30,          /* of silence before TCP asks whether the peer is there */
    SERVER_PROBE_S = 10,              /* between two such questions */
    SERVER_PROBES = 3,                /* without an answer, and the connection is closed */
    SERVER_TICK_MS = 500,             /* how often connections are looked at */
    SERVER_PAUSE_MS = 100,            /* after accept has failed for want of descriptors */
    SERVER_EXIT_MS = 2000,            /* for the end of a capture at the program's exit */
};

/* Captures and monitors */
enum {
    CONNECTION_MONITORS = 8, /* of all connections */
    CONNECTION_MONITOR_MS = 3600000,
    CONNECTION_PROFILES = 8,  /* that clients have not taken yet */
    CAPTURE_OPTION_NAME = 64, /* bytes of an option's name that an error repeats */
    CAPTURE_SAMPLES_MS = 100, /* of CPUs and memory: captures are short */
    CAPTURE_POLL_MS = 5,      /* how often the converting child is looked at */
    CAPTURE_VARIABLE = 4096,  /* bytes of an environment variable given to that child */
};
/* A capture that lasts longer lasts until it is ended: arithmetic on times must not overflow. */
#define CAPTURE_LONGEST_MS ((uint64_t)10 * 365 * 24 * 3600 * 1000)

#endif
