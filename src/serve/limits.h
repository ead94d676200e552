/*
 * What clients can make the server take: every limit, in one table. docs/api.md tells those that a
 * client can meet.
 */
#ifndef KYMO_SERVE_LIMITS_H
#define KYMO_SERVE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Connections and requests */
enum {
    MAX_CONNECTIONS = 2000,
    MAX_CONNECTIONS_PER_ADDRESS = 1500, /* of those: nobody can have them all */
    CONNECTION_MEMORY = 64 << 10,       /* a request's header, and a part of a body */
    CONNECTION_STACK = 8 << 20,         /* as of a program: SQL may be nested */
    IDLE_S = 30,                        /* a connection on which nothing moves */
    STREAM_IDLE_S = 120,                /* the same during a streamed answer */
    HEADER_MS = 20000,                  /* until all of a header is there */
    BODY_MS = 120000,                   /* until all of a body is there, but for files of uploads */
    SEND_MS = 60000,                    /* until an answer is taken, besides what its size allows */
    SEND_BYTES_MS = 64,                 /* an answer's size allows this many bytes a millisecond */
    MAX_SEGMENTS = 24,                  /* of a path */
    MAX_ARGUMENTS = 32,                 /* behind the ? */
    SMALL_BODY = 64 << 10,
    MEDIUM_BODY = 1 << 20, /* queries, lists of tracks */
    MARKERS_BODY = 4 << 20,
};
/* Answers that are made and not sent yet, of all connections together. */
#define MAX_UNSENT ((size_t)512 << 20)

/* Who does not know the token */
enum {
    MIN_TOKEN = 16, /* on other addresses than loopback */
    MAX_GUESSES_PER_MINUTE =
        20,               /* wrong ones of an address; further ones are looked at one at a time */
    GUESS_DELAY_MS = 500, /* and after this delay */
    MAX_DELAYED_GUESSES = 32, /* of all addresses; what is beyond is refused */
    MAX_GUESSERS = 1024,      /* addresses */
};

/* SQL of users: each query in a process of its own. `kymo sql --timeout` has the same but for time
 * and answer. */
enum {
    MAX_QUERIES = 4,
    MAX_WAITING_QUERIES = 32,
    QUERY_WAIT_MS = 10000, /* for one of those that run to end */
    QUERY_S = 60,
    QUERY_THREADS = 4, /* or as many as there are cores */
    QUERY_DEFAULT_ROWS = 10000,
    QUERY_MAX_ROWS = 1000000,
    QUERY_MAX_ANSWER = 32 << 20,
    QUERY_MAX_VALUE = 16 << 20,
};
#define QUERY_MEMORY ((size_t)256 << 20) /* what needs more goes to files */
#define QUERY_SPILL  ((uint64_t)4 << 30) /* of those */
/* Address space: DuckDB's library, stacks and allocator reserve what they do not use. */
#define QUERY_ADDRESS_SPACE ((size_t)1 << 30)

/* The server's own queries: searches, selections, details of events, lists of tables, exports. */
enum {
    SEARCH_S = 60,
    SEARCH_WAIT_MS = 30000,
    MAX_WAITING_SEARCHES = 200,
    EXPORT_S = 3600,
    MAX_EXPORTS = 4, /* tables as CSV: each takes as long as its reader */
    MAX_RENDERS = 8, /* timelines that are being drawn */
    RENDER_WAIT_S = 10,
    MAX_HITS = 10000,
    MAX_TRACKS = 10000,
};
/* Of one profile's engine; what needs more goes to a file. */
#define ENGINE_MEMORY ((size_t)256 << 20)

#endif
