/*
 * kymo.h: annotate a program and control the capture of what it does. For C11 and C++11.
 *
 *     KYMO_SCOPE("load");                                   a range, until the block ends
 *     KYMO_SCOPE("load", kymo_int("rows", n));              the same with args
 *     KYMO_BEGIN("parse"); ... KYMO_END("parse");           a range with explicit begin and end
 *     KYMO_INSTANT("retry", kymo_text("host", name));       a moment
 *     KYMO_COUNTER("queue", depth);                         a value over time
 *     KYMO_STEP_SCOPE("train", step);                       a range that is a step
 *     KYMO_FLOW_BEGIN("request", id); ... KYMO_FLOW_END("request", id);    an arrow between threads
 *
 * Names and keys in these macros are string literals. Capture is off until kymo_start is called, or
 * the program is run with NEURON_RT_INSPECT_ENABLE=1; while it is off, a macro costs one load and
 * one branch, and its arguments are not evaluated. A level from 1 (few, important) to 3 (all) can
 * be given with the _AT forms; events above the level of the capture are not recorded.
 *
 * Everything here may be called from any thread, but not from signal handlers: an event that a
 * handler records may be replaced by the one it interrupted. A handler may leave an event with
 * longjmp or exit, and a thread may be canceled in one: that event is then not recorded. The
 * library keeps no descriptor open. Recorded events survive if the program is killed; the files of
 * a running capture may be deleted, but must not be truncated (SIGBUS). Link with -lkymo.
 */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_API __attribute__((visibility("default")))

/* ---- Control ------------------------------------------------------------------------------- */

/* Which executions of models have a device profile: none, the first of each model, or all. */
enum kymo_devices { KYMO_DEVICES_NONE, KYMO_DEVICES_MODEL, KYMO_DEVICES_SESSION };

/*
 * What to capture. Initialize it with KYMO_OPTIONS, then set the fields that differ; fields are
 * only ever added at the end, and `size` tells the library which of them the program knows.
 */
struct kymo_options {
    size_t size;
    const char *output_dir;  /* NULL: "./output" */
    const char *instance;    /* NULL: detected */
    int level;               /* 0: only sampled values; 1 to 3 */
    uint64_t max_events;     /* records kept per lane; the oldest are dropped first */
    unsigned cpu_util_ms;    /* interval of CPU utilization samples; 0: none */
    unsigned host_memory_ms; /* interval of host memory samples; 0: none */
    /* Filters of runtime events, as in NEURON_RT_INSPECT_EVENT_FILTER_NC and _TYPE: "0,2,4-7";
     * "hardware,nrt_load,^cc_running". NULL: all, "none": none. Invalid items are reported on
     * standard error and ignored. */
    const char *event_cores, *event_types;
    /* Device profiles that a runtime takes meanwhile, and where they go: into a directory with the
     * name of the session's, in this one. NULL: into the session's own. */
    enum kymo_devices devices;
    const char *devices_dir;
};

#define KYMO_OPTIONS                                                                               \
    {sizeof(struct kymo_options), NULL, NULL, 2, 1000000, 1000, 1000, NULL, NULL,                  \
     KYMO_DEVICES_NONE,           NULL}

/* Reads options from the variables NEURON_RT_INSPECT_* and KYMO_LEVEL; returns whether they request
 * a capture. *options must be initialized with KYMO_OPTIONS; strings point into the environment. */
KYMO_API int kymo_options_from_environment(struct kymo_options *options);
/* The value of NEURON_RT_INSPECT_DEVICE_PROFILE; usual when it is not set. */
KYMO_API enum kymo_devices kymo_devices_in_environment(enum kymo_devices usual);

/* Returns 0, or a negative errno after one line on standard error. -EALREADY when a capture is
 * running. */
KYMO_API int kymo_start(const struct kymo_options *options); /* NULL: KYMO_OPTIONS */
/* Writes the session files; returns 0, or a negative errno after one line on standard error. Done
 * at exit for a capture that is still running. -EALREADY when none is. */
KYMO_API int kymo_stop(void);
/* Adds a function that is called before a capture ends by kymo_stop or with the program, while it
 * still records: what a runtime has not handed over yet can be recorded in it. Any thread may call
 * it, several at once; one that was added before is not added again. Returns 0, or -ENOSPC when
 * there are four already. */
KYMO_API int kymo_before_stop(void (*function)(void));
/* The directory of the session files of the running capture, or else of the last one: returns the
 * length of the path, and stores at most size - 1 bytes of it and a NUL. 0 when there was none. */
KYMO_API size_t kymo_session_dir(char *path, size_t size);

/* For runtimes that execute models: the device profiles that the running capture asks for, its
 * number in this process, from 1, and the directory they go to, which may have to be made: none are
 * asked for when its path does not fit. Both may be NULL. */
KYMO_API enum kymo_devices kymo_wanted_devices(uint64_t *capture, char *directory, size_t size);

/* Sets the name of the calling thread and of the process in the capture. */
KYMO_API void kymo_thread_name(const char *name);
KYMO_API void kymo_process_name(const char *name);

/* The level of the running capture, 0 when there is none. Read-only. */
KYMO_API extern int kymo_level;

static inline int kymo_wants(int level)
{
    return (int)__builtin_expect(__atomic_load_n(&kymo_level, __ATOMIC_RELAXED) >= level, 0);
}

/* ---- Events -------------------------------------------------------------------------------- */

enum kymo_kind {
    KYMO_KIND_BEGIN = 1,
    KYMO_KIND_END = 2,
    KYMO_KIND_INSTANT = 3,
    KYMO_KIND_COUNTER = 4,
    KYMO_KIND_FLOW_BEGIN = 5,
    KYMO_KIND_FLOW_STEP = 6,
    KYMO_KIND_FLOW_END = 7,
    KYMO_KIND_STEP = 8,
    KYMO_KIND_RANGE = 9 /* a whole range: only by the functions for these, below */
};

enum kymo_type { KYMO_INT = 1, KYMO_UINT = 2, KYMO_DOUBLE = 3, KYMO_TEXT = 4 };
enum kymo_group { KYMO_SOFTWARE = 0, KYMO_HARDWARE = 1 };
enum { KYMO_MOST_ARGS = 16 }; /* per event; further ones are dropped */

struct kymo_arg {
    const char *key;
    enum kymo_type type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *text; /* copied; of texts that are rarely repeated, up to 1,650 bytes per event
                             are kept */
    } value;
};

static inline struct kymo_arg kymo_int(const char *key, int64_t value)
{
    struct kymo_arg arg;
    arg.key = key;
    arg.type = KYMO_INT;
    arg.value.i = value;
    return arg;
}

static inline struct kymo_arg kymo_uint(const char *key, uint64_t value)
{
    struct kymo_arg arg;
    arg.key = key;
    arg.type = KYMO_UINT;
    arg.value.u = value;
    return arg;
}

static inline struct kymo_arg kymo_double(const char *key, double value)
{
    struct kymo_arg arg;
    arg.key = key;
    arg.type = KYMO_DOUBLE;
    arg.value.d = value;
    return arg;
}

static inline struct kymo_arg kymo_text(const char *key, const char *value)
{
    struct kymo_arg arg;
    arg.key = key;
    arg.type = KYMO_TEXT;
    arg.value.text = value;
    return arg;
}

/*
 * A call site that records: static, zero except for the first line. The library assigns its id on
 * first use and caches the ids of its keys.
 */
enum { KYMO_SITE_KEYS = 4 };
struct kymo_site {
    const char *name, *file;
    uint32_t line;
    uint8_t level, group;
    uint16_t unused;
    uint32_t id;
    uint32_t key_ids[KYMO_SITE_KEYS];
    const char *keys[KYMO_SITE_KEYS];
};

#define KYMO_SITE(name, level, group) {name, __FILE__, __LINE__, level, group, 0, 0, {0}, {0}}

/* An event without args, with one number as its arg, and the general case. They record if a capture
 * is running, whatever its level above 0. */
KYMO_API void kymo_event(struct kymo_site *site, enum kymo_kind kind);
KYMO_API void kymo_event_int(struct kymo_site *site, enum kymo_kind kind, const char *key,
                             int64_t value);
KYMO_API void kymo_event_args(struct kymo_site *site, enum kymo_kind kind, uint64_t id,
                              const struct kymo_arg *args, size_t count);
/* The same for names only known at run time; the name is looked up in each call, or once with
 * kymo_type_id. */
KYMO_API void kymo_named_event(const char *name, enum kymo_kind kind, uint64_t id,
                               const struct kymo_arg *args, size_t count);

/* ---- Lanes of a runtime -------------------------------------------------------------------- */

/*
 * For runtimes, which have more than threads: lanes of a NeuronCore, and events with an explicit
 * core, id and time. A lane has one writer at a time, which the caller must ensure. Lanes belong to
 * the capture in which they were opened: after its end their events are dropped. Filters by core
 * and type apply to these events, not to the annotations above.
 */
struct kymo_lane;
/* NULL when no capture is running, or memory runs out. */
KYMO_API struct kymo_lane *kymo_lane_open(const char *name, uint32_t nc_idx);
KYMO_API void kymo_lane_close(struct kymo_lane *lane);
KYMO_API void kymo_lane_name(struct kymo_lane *lane, const char *name);

/* The id of an event type or any other string, valid for the life of the process; 0 when no capture
 * has begun or the table is full. */
KYMO_API uint32_t kymo_type_id(const char *name, enum kymo_group group, int level);
/* That of an event type whose place in a source file is known only at run time, as in an
 * interpreted program. */
KYMO_API uint32_t kymo_type_id_at(const char *name, int level, const char *file, uint32_t line);

#define KYMO_NO_CORE 0xFFFFu

struct kymo_lane_event {
    uint32_t type;  /* from kymo_type_id */
    uint16_t core;  /* nc_idx, or KYMO_NO_CORE for the lane's own */
    uint8_t kind;   /* enum kymo_kind: begin and end are start and stop, instant has no phase */
    uint64_t id;    /* the tracking id that start and stop share; 0 for none */
    uint64_t ticks; /* from kymo_ticks; 0 for now */
};
/* lane NULL: that of the calling thread. */
KYMO_API void kymo_lane_record(struct kymo_lane *lane, const struct kymo_lane_event *event,
                               const struct kymo_arg *args, size_t count);

/* A lane for events of a thread that are recorded by others, such as samples of its stack, or under
 * a lock of an interpreter: `thread` is the system's id of it, 0 when it is not known. With
 * `is_shared`, they are shown among the thread's own events, with which they must nest; else in a
 * place of their own. NULL as above. */
KYMO_API struct kymo_lane *kymo_lane_open_thread(const char *name, uint64_t thread, int is_shared);

/* A range that is over, recorded at its end: nothing else pairs up its begin and end, so that
 * ranges need not nest, but those that are open when a program is killed are lost. From kymo_ticks
 * to kymo_ticks; end 0: now. */
KYMO_API void kymo_range(struct kymo_lane *lane, uint32_t type, uint64_t begin, uint64_t end);
/* The same on the calling thread's lane, for names only known at run time, with args. */
KYMO_API void kymo_named_range(const char *name, uint64_t begin, uint64_t end,
                               const struct kymo_arg *args, size_t count);

/* Appends to a file of the running capture's session, for data that is not an event: a name of
 * schema/ that the recorder knows. Returns 0, or a negative errno after one line on standard error.
 */
KYMO_API int kymo_session_append(const char *name, const void *data, size_t size);

/* Counts events that were lost before they could be recorded, such as by a runtime's own rings. */
KYMO_API void kymo_count_lost(uint64_t events);

/* The capture's clock now, and at a given time of CLOCK_MONOTONIC; 0 when no capture is running. */
KYMO_API uint64_t kymo_ticks(void);
KYMO_API uint64_t kymo_ticks_at(int64_t monotonic_ns);

/* ---- Macros -------------------------------------------------------------------------------- */

#define KYMO_JOIN2(a, b) a##b
#define KYMO_JOIN(a, b)  KYMO_JOIN2(a, b)

/* Chosen at compile time: common cases have their own function. */
static inline __attribute__((always_inline)) void kymo_emit(struct kymo_site *site,
                                                            enum kymo_kind kind, uint64_t id,
                                                            const struct kymo_arg *args,
                                                            size_t count)
{
    if (__builtin_constant_p(id) && id == 0 && count == 0)
        kymo_event(site, kind);
    else if (__builtin_constant_p(id) && id == 0 && count == 1 && args[0].type == KYMO_INT)
        kymo_event_int(site, kind, args[0].key, args[0].value.i);
    else
        kymo_event_args(site, kind, id, args, count);
}

/* The empty first arg allows for an otherwise empty list. */
#define KYMO_EVENT_AT(level_, kind_, id_, name_, ...)                                              \
    do {                                                                                           \
        if (kymo_wants(level_)) {                                                                  \
            static struct kymo_site kymo_site_ = KYMO_SITE(name_, level_, KYMO_SOFTWARE);          \
            const struct kymo_arg kymo_args_[] = {kymo_int(NULL, 0), ##__VA_ARGS__};               \
            kymo_emit(&kymo_site_, kind_, id_, kymo_args_ + 1,                                     \
                      sizeof kymo_args_ / sizeof *kymo_args_ - 1);                                 \
        }                                                                                          \
    } while (0)

#define KYMO_BEGIN_AT(level, name, ...)                                                            \
    KYMO_EVENT_AT(level, KYMO_KIND_BEGIN, 0, name, ##__VA_ARGS__)
#define KYMO_END_AT(level, name, ...) KYMO_EVENT_AT(level, KYMO_KIND_END, 0, name, ##__VA_ARGS__)
#define KYMO_INSTANT_AT(level, name, ...)                                                          \
    KYMO_EVENT_AT(level, KYMO_KIND_INSTANT, 0, name, ##__VA_ARGS__)
#define KYMO_COUNTER_AT(level, name, value)                                                        \
    KYMO_EVENT_AT(level, KYMO_KIND_COUNTER, 0, name, kymo_int(NULL, value))
#define KYMO_BEGIN(name, ...)     KYMO_BEGIN_AT(1, name, ##__VA_ARGS__)
#define KYMO_END(name, ...)       KYMO_END_AT(1, name, ##__VA_ARGS__)
#define KYMO_INSTANT(name, ...)   KYMO_INSTANT_AT(1, name, ##__VA_ARGS__)
#define KYMO_COUNTER(name, value) KYMO_COUNTER_AT(1, name, value)
#define KYMO_COUNTER_DOUBLE(name, value)                                                           \
    KYMO_EVENT_AT(1, KYMO_KIND_COUNTER, 0, name, kymo_double(NULL, value))
#define KYMO_FLOW_BEGIN(name, id, ...)                                                             \
    KYMO_EVENT_AT(1, KYMO_KIND_FLOW_BEGIN, id, name, ##__VA_ARGS__)
#define KYMO_FLOW_STEP(name, id, ...) KYMO_EVENT_AT(1, KYMO_KIND_FLOW_STEP, id, name, ##__VA_ARGS__)
#define KYMO_FLOW_END(name, id, ...)  KYMO_EVENT_AT(1, KYMO_KIND_FLOW_END, id, name, ##__VA_ARGS__)
/* Begin and end that need not nest: paired by id, also across threads. */
#define KYMO_ASYNC_BEGIN(name, id, ...) KYMO_EVENT_AT(1, KYMO_KIND_BEGIN, id, name, ##__VA_ARGS__)
#define KYMO_ASYNC_END(name, id, ...)   KYMO_EVENT_AT(1, KYMO_KIND_END, id, name, ##__VA_ARGS__)
/* A step is ended by KYMO_END. */
#define KYMO_STEP(name, number, ...)                                                               \
    KYMO_EVENT_AT(1, KYMO_KIND_STEP, 0, name, kymo_int("step_num", number), ##__VA_ARGS__)

/* Scopes remember whether they were begun: an end without a begin only occurs when a new capture
 * has begun in between. */
static inline void kymo_scope_end(struct kymo_site **begun)
{
    if (*begun && kymo_wants(1))
        kymo_event(*begun, KYMO_KIND_END);
}

#ifdef __cplusplus
}
namespace kymo
{
struct scope {
    kymo_site *begun;
    scope() : begun(nullptr)
    {
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    ~scope()
    {
        kymo_scope_end(&begun);
    }
};
} // namespace kymo
#define KYMO_SCOPE_VARIABLE(variable) kymo::scope variable
#define KYMO_SCOPE_SITE(variable)     variable.begun
#else
#define KYMO_SCOPE_VARIABLE(variable)                                                              \
    struct kymo_site *variable __attribute__((cleanup(kymo_scope_end))) = NULL
#define KYMO_SCOPE_SITE(variable) variable
#endif

#define KYMO_SCOPE_NAMED(variable_, level_, kind_, name_, ...)                                     \
    KYMO_SCOPE_VARIABLE(variable_);                                                                \
    do {                                                                                           \
        if (kymo_wants(level_)) {                                                                  \
            static struct kymo_site kymo_site_ = KYMO_SITE(name_, level_, KYMO_SOFTWARE);          \
            const struct kymo_arg kymo_args_[] = {kymo_int(NULL, 0), ##__VA_ARGS__};               \
            kymo_emit(&kymo_site_, kind_, 0, kymo_args_ + 1,                                       \
                      sizeof kymo_args_ / sizeof *kymo_args_ - 1);                                 \
            KYMO_SCOPE_SITE(variable_) = &kymo_site_;                                              \
        }                                                                                          \
    } while (0)
#define KYMO_SCOPE_KIND(level, kind, name, ...)                                                    \
    KYMO_SCOPE_NAMED(KYMO_JOIN(kymo_scope_, __COUNTER__), level, kind, name, ##__VA_ARGS__)

#define KYMO_SCOPE_AT(level, name, ...) KYMO_SCOPE_KIND(level, KYMO_KIND_BEGIN, name, ##__VA_ARGS__)
#define KYMO_SCOPE(name, ...)           KYMO_SCOPE_AT(1, name, ##__VA_ARGS__)
#define KYMO_STEP_SCOPE(name, number, ...)                                                         \
    KYMO_SCOPE_KIND(1, KYMO_KIND_STEP, name, kymo_int("step_num", number), ##__VA_ARGS__)

#endif
