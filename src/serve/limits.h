/*
 * All limits on what clients can make the server use. docs/api.md lists those visible to clients.
 */
#ifndef KYMO_SERVE_LIMITS_H
#define KYMO_SERVE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Connections and requests */
enum {
    MAX_CONNECTIONS = 2000,       /* or a quarter of the files that may be open */
    MAX_ADDRESS_PERCENT = 75,     /* of them for one address */
    CONNECTION_MEMORY = 64 << 10, /* buffer for the header and a chunk of the body */
    CONNECTION_STACK = 8 << 20,   /* parsing nested SQL recurses */
    IDLE_S = 30,                  /* idle timeout */
    STREAM_IDLE_S = 120,          /* idle timeout of streamed responses */
    HEADER_MS = 20000,            /* to receive the header */
    BODY_MS = 120000,             /* to receive the body, except uploaded files */
    SEND_MS = 60000,              /* to send a response, plus its size / SEND_BYTES_MS */
    SEND_BYTES_MS = 64,           /* minimum rate, bytes per ms */
    MAX_SEGMENTS = 24,            /* of a path */
    MAX_ARGUMENTS = 32,           /* in the query string */
    SMALL_BODY = 64 << 10,
    MEDIUM_BODY = 1 << 20, /* SQL, lists of tracks */
    MARKERS_BODY = 4 << 20,
    MAX_SETS = 1000, /* of markers, per profile */
    MAX_SET_NAME = 100,
};
/* Of responses with status 503, in seconds. */
#define RETRY_AFTER_S "5"

/* Unsent response bytes of all connections. */
#define MAX_UNSENT ((size_t)512 << 20)

/* Wrong tokens */
enum {
    MIN_TOKEN = 16,   /* minimum length on non-loopback addresses */
    MAX_GUESSES = 20, /* per minute and address; further ones are delayed */
    GUESS_DELAY_MS = 500,
    MAX_DELAYED_GUESSES = 32, /* of all addresses; more are refused */
    MAX_GUESSERS = 1024,      /* tracked addresses */
};

/* User SQL, one child process per query. `kymo sql --timeout` uses the same limits, except time and
 * response size. */
enum {
    MAX_QUERIES = 4,
    MAX_WAITING_QUERIES = 32,
    QUERY_WAIT_MS = 10000, /* for a free slot */
    QUERY_S = 60,
    QUERY_THREADS = 4, /* at most; fewer on fewer cores */
    QUERY_DEFAULT_ROWS = 10000,
    QUERY_MAX_ROWS = 1000000,
    QUERY_MAX_ANSWER = 32 << 20,
    QUERY_MAX_VALUE = 16 << 20,
};
#define QUERY_MEMORY ((size_t)256 << 20) /* beyond this DuckDB spills to disk */
#define QUERY_SPILL  ((uint64_t)4 << 30) /* of spilled files */
/* RLIMIT_AS: much larger, since DuckDB's library, stacks and allocator reserve address space that
 * they do not use. */
#define QUERY_ADDRESS_SPACE ((size_t)1 << 30)

/* Defaults for each process that imports, exports or analyzes. It needs less than 512 MB of memory
 * for captures of any size, besides the stacks of its threads. */
enum {
    PROCESSING_MEMORY_MIB = 4096,
    PROCESSING_CPU_S = 6 * 3600,
    PROCESSING_OUTPUT_MIB = 256 << 10,
};

/* Internal queries: searches, selections, event details, table lists, exports. */
enum {
    SEARCH_S = 60,
    SEARCH_WAIT_MS = 30000,
    MAX_WAITING_SEARCHES = 200,
    EXPORT_S = 3600,
    MAX_EXPORTS = 4, /* CSV exports: each lasts as long as its client reads */
    MAX_RENDERS = 8, /* concurrent timeline requests */
    RENDER_WAIT_S = 10,
    MAX_HITS = 10000,
    MAX_TRACKS = 10000,
    TOOL_MAX_ROWS = 50000, /* of a table of a tool */
    TOOL_MAX_WIDTH = 1000, /* of a graph */
    MAX_HEATMAP_SIDE = 4096,
    MAX_HEATMAP_CELLS = 1 << 20,
    MAX_STEP_COLLECTIVES = 2000, /* of a step of a run */
    MAX_STEP_LANES = 64,         /* that are asked for at once */
    MAX_FLEET_DEPTH = 4,         /* datasets are looked for this deep in the log directory */
    MAX_DATASETS = 1000,
    RUN_WAIT_MS = 600000, /* for a run to be processed */
};
/* Per profile; beyond this DuckDB spills to disk. */
#define ENGINE_MEMORY ((size_t)256 << 20)

/* Each kind of internal query has its own limit, so that slow exports do not block searches. */
enum query_kind { QUERY_SEARCH, QUERY_EXPORT, QUERY_KINDS };

#endif
