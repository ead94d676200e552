/*
 * All limits on what clients can make the server use, and how long it waits for what. docs/api.md
 * lists those visible to clients. Times end in _MS or _S, the rest are bytes or counts.
 */
#ifndef KYMO_SERVE_LIMITS_H
#define KYMO_SERVE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Connections */
enum {
    MAX_OPEN_FILES = 65536,       /* asked of the system: each connection needs a descriptor */
    MAX_CONNECTIONS = 2000,       /* or a quarter of the files that may be open */
    MAX_ADDRESS_PERCENT = 75,     /* of them for one address */
    CONNECTION_MEMORY = 64 << 10, /* buffer for the header and a chunk of the body */
    CONNECTION_STACK = 8 << 20,   /* parsing nested SQL recurses */
    LISTEN_BACKLOG = 1024,        /* connections that wait to be accepted */
    LISTEN_MAX_PORTS = 100,       /* tried after one in use, unless it was given */
    IDLE_S = 30,                  /* idle timeout */
    STREAM_IDLE_S = 120,          /* idle timeout of streamed responses */
    HEADER_MS = 20000,            /* to receive the header */
    BODY_MS = 120000,             /* to receive the body, except uploaded files */
    SEND_MS = 60000,              /* to send a response, plus its size / SEND_BYTES_MS */
    SEND_BYTES_MS = 64,           /* minimum rate, bytes per ms */
    STREAM_CHUNK = 64 << 10,      /* of a streamed response, per connection */
};
/* Unsent response bytes of all connections: clients that do not read must not exhaust memory. */
#define MAX_UNSENT ((size_t)512 << 20)
/* Of responses with status 503, in seconds. */
#define RETRY_AFTER_S "5"

/* Requests */
enum {
    MAX_SEGMENTS = 24,  /* of a path */
    MAX_ARGUMENTS = 32, /* in the query string */
    MAX_PARAMETERS = 3, /* segments that a route's * matches */
    MAX_HEADERS = 8,    /* that a handler adds to its reply */
    SMALL_BODY = 64 << 10,
    MEDIUM_BODY = 1 << 20, /* SQL, lists of tracks */
    MARKERS_BODY = 4 << 20,
    MAX_SETS = 1000, /* of markers, per profile */
    MAX_SET_NAME = 100,
};

/* Wrong tokens */
enum {
    MIN_TOKEN = 16,          /* minimum length on non-loopback addresses */
    MAX_GUESSES = 20,        /* per period and address; further ones are delayed */
    GUESS_PERIOD_MS = 60000, /* after which an address starts anew */
    GUESS_DELAY_MS = 500,
    MAX_DELAYED_GUESSES = 32, /* of all addresses; more are refused */
    MAX_GUESSERS = 1024,      /* tracked addresses */
    KEPT_GUESSES = 8,         /* of an address: a page left open repeats one, not a guess */
};

/* How often the server looks: for clients that are gone, time that is up, children that ended */
enum {
    SERVER_TICK_MS = 50, /* queries and open profiles */
    CLIENTS_TICKS = 20,  /* server ticks from one look at the connections to the next */
    JOBS_TICK_MS = 200,  /* progress of jobs */
    CHILD_POLL_MS = 30,
    QUERY_POLL_MS = 50,            /* while waiting for a slot for user SQL */
    SEARCH_POLL_MS = 100,          /* the same for an internal query */
    RUN_POLL_MS = 20,              /* while waiting for a run to be processed */
    CANCEL_CHECK_EVENTS = 1 << 16, /* events walked between two looks for the client */
};

/* User SQL, one child process per query. `kymo sql --timeout` uses the same limits, except time and
 * response size. */
enum {
    MAX_QUERIES = 4,
    MAX_WAITING_QUERIES = 32,
    QUERY_WAIT_MS = 10000, /* for a free slot */
    QUERY_S = 60,
    QUERY_SPARE_MS = 60000, /* a child with DuckDB loaded waits so long for the next query */
    QUERY_THREADS = 4,      /* at most; fewer on fewer cores */
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

/* Uploads, captures and jobs */
enum {
    MAX_UPLOADS = 1000,        /* with failed ones */
    UPLOAD_MAX_DEPTH = 12,     /* folders of an uploaded file's path */
    UPLOAD_MAX_NAME = 200,     /* bytes of each */
    UPLOAD_MAX_PATH = 1000,    /* bytes of all */
    UPLOAD_MEASURE_MS = 1000,  /* the disk is measured at most this often */
    JOB_FILE_BYTES = 64 << 10, /* of a job's description */
    MAX_CAPTURES = 4,          /* at once, besides the jobs that import: they mostly wait */
    CAPTURE_DEFAULT_MS = 1000,
    CAPTURE_MAX_MS = 3600 * 1000,
    CAPTURE_DEPTH = 5,       /* folders of files/plugins/profile/RUN/FILE */
    CHILD_MAX_LOG = 1 << 20, /* read of what a child printed */
    CHILD_MAX_REASON = 2000, /* kept of it if it failed */
    MAX_RUN_NAME = 180,      /* bytes; the end of a longer path names a run of the log directory */
    RUN_WAIT_MS = 600000,    /* for a run to be processed */
};
/* Incomplete uploads older than this are removed. */
#define UPLOAD_ABANDONED_MS ((int64_t)24 * 3600 * 1000)

/* Defaults for each process that imports, exports or analyzes. It needs less than 512 MB of memory
 * for captures of any size, besides the stacks of its threads. */
enum {
    PROCESSING_MEMORY_MIB = 4096,
    PROCESSING_CPU_S = 6 * 3600,
    PROCESSING_OUTPUT_MIB = 256 << 10,
};

/* The data of XProf's trace viewer */
enum {
    TRACE_MAX_EVENTS = 200000, /* in an answer; more are thinned by the resolution */
    TRACE_RESOLUTION = 8000,   /* XProf's default */
};

/* Open profiles and caches */
enum {
    MAX_OPEN_PROFILES = 6,       /* unless more are in use */
    PROFILE_IDLE_MS = 60000,     /* an unused profile is closed after this */
    MAX_CACHED_PROFILES = 10000, /* statistics for the list of profiles */
    MAX_KEPT_SEARCHES = 3,       /* results of searches, per open profile */
};
/* Per profile; beyond this DuckDB spills to disk. */
#define ENGINE_MEMORY ((size_t)256 << 20)
/* Resident memory of the process above which mapped files are released. */
#define MAX_RESIDENT (144L << 20)

/* Internal queries: searches, selections, event details, table lists, exports */
enum {
    SEARCH_S = 60,
    SEARCH_WAIT_MS = 30000, /* for a free slot */
    MAX_WAITING_SEARCHES = 200,
    SEARCH_MAX_BYTES = 4000, /* of a query */
    SEARCH_MAX_CONDITIONS = 32,
    DEFAULT_HITS = 100,
    MAX_HITS = 10000,
    SEARCH_TOP_NAMES = 20,
    SEARCH_RANGES = 1000, /* of the timeline that are marked as having hits */
    SELECTION_MAX_NAMES = 1000,
    EVENT_MAX_FLOWS = 1000,
    EVENT_MAX_CHILDREN = 100,
    EVENT_MAX_PARTS = 100, /* kernels of an operation, operations of a module */
    EXPORT_S = 3600,
    MAX_EXPORTS = 4,       /* CSV exports: each lasts as long as its client reads */
    DIFF_MAX_ROWS = 5000,  /* of each kind and change: answers are made in memory */
    TOOL_MAX_ROWS = 50000, /* of a table of a tool */
    TOOL_MAX_WIDTH = 1000, /* of a graph */
};
/* Numbers that JSON readers keep exactly. */
#define SEARCH_MAX_OFFSET ((uint64_t)1 << 53)

/* Timelines and flame graphs */
enum {
    MAX_RENDERS = 8,    /* concurrent timeline requests */
    RENDER_WAIT_S = 10, /* for one of them to end */
    MAX_TRACKS = 10000,
    TIMELINE_MAX_WIDTH = 20000,   /* pixels */
    TIMELINE_MAX_ITEMS = 2 << 20, /* of a response: 75 MB */
    FLAME_MAX_TREE = 1 << 20,     /* nodes kept while walking; 48 MB */
    FLAME_MAX_SENT = 20000,       /* nodes of a response, those with the most time */
};

/* Runs of many ranks */
enum {
    MAX_FLEET_DEPTH = 4, /* datasets are looked for this deep in the log directory */
    MAX_DATASETS = 1000,
    RESULTS_FRESH_MS = 2000,   /* files of ranks are looked at again after this time */
    ANALYSIS_RETRY_MS = 10000, /* a failed analysis is begun again after this */
    MAX_HEATMAP_SIDE = 4096,
    MAX_HEATMAP_CELLS = 1 << 20,
    MAX_STEP_COLLECTIVES = 2000, /* of a step of a run */
    MAX_STEP_LANES = 64,         /* that are asked for at once */
};

/* Each kind of internal query has its own limit, so that slow exports do not block searches. */
enum query_kind { QUERY_SEARCH, QUERY_EXPORT, QUERY_KINDS };

#endif
