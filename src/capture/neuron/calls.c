/*
 * Wrappers of the runtime's functions, generated from the table in calls.def: a start event, the
 * call of the real function, a stop event. The result and errno are those of the real function.
 * Without a capture, only the handles are tracked.
 */
#include "capture/neuron/call.h"
#include "capture/neuron/objects.h"
#include "capture/neuron/requests.h"
#include "capture/neuron/systrace.h"

#include <errno.h>

#define NO_CORE       TRACE_NO_CORE
#define CORE(vnc)     (uint32_t)(vnc) /* -1 means no core */
#define LIST(...)     __VA_ARGS__
#define NUMBER(name)  kymo_int(#name, (int64_t)(name))
#define COUNT(name)   kymo_uint(#name, (uint64_t)(name))
#define TEXT(name)    kymo_text(#name, (name) ? (name) : "")
#define POINTER(name) KYMO_POINTER(#name, name)
#define POINTED(name) KYMO_POINTER(#name, (name) ? *(name) : NULL)

#define KYMO_POINTER(key, pointer) kymo_uint(key, (uint64_t)(uintptr_t)(pointer))
#define TENSOR(handle)             KYMO_POINTER("tensor_id", handle)
/* Output parameters of a call, if it succeeded. */
#define RESULT_POINTER(name) KYMO_POINTER(#name, result == NRT_SUCCESS && (name) ? *(name) : NULL)
#define RESULT_TENSOR(name)  TENSOR(result == NRT_SUCCESS && (name) ? *(name) : NULL)
#define RESULT_NUMBER(name)  kymo_uint(#name, result == NRT_SUCCESS && (name) ? *(name) : 0)
#define RESULT_BOOL(name)    kymo_int(#name, result == NRT_SUCCESS && (name) ? *(name) : 0)

#define LOOK_UP(handle)                                                                            \
    struct known_object found;                                                                     \
    found.core = NO_CORE;                                                                          \
    if (recorded)                                                                                  \
    objects_find(handle, &found)
#define NOT_LOOKED_UP const struct known_object found = {.core = NO_CORE}
#define FOUND_NAME    kymo_text("tensor_name", found.name)
#define FOUND_SIZE    kymo_uint("tensor_size", found.size)

static void track_model(NRT_STATUS status, void *const *model, size_t size, int32_t vnc)
{
    if (status == NRT_SUCCESS && model)
        objects_add(*model, CORE(vnc), size, NULL);
}

static void track_tensor(NRT_STATUS status, void *const *tensor, size_t size, int vnc,
                         const char *name)
{
    if (status == NRT_SUCCESS && tensor)
        objects_add(*tensor, CORE(vnc), size, name);
}

static void track_slice(NRT_STATUS status, void *const *tensor, const void *source, size_t size,
                        const char *name)
{
    if (status != NRT_SUCCESS || !tensor)
        return;
    struct known_object found;
    objects_find(source, &found);
    objects_add(*tensor, found.core, size, name);
}

static void track_size(NRT_STATUS status, const void *tensor, size_t size)
{
    struct known_object found;
    objects_find(tensor, &found);
    if (status == NRT_SUCCESS && found.is_known)
        objects_add(tensor, found.core, size, found.name[0] ? found.name : NULL);
}

static void untrack(NRT_STATUS status, const void *handle)
{
    if (status == NRT_SUCCESS)
        objects_remove(handle);
}

static void request_scheduled(NRT_STATUS status, const uint64_t *sequence,
                              enum runtime_event operation, uint32_t core, int queue)
{
    if (status == NRT_SUCCESS && sequence)
        requests_begin(*sequence, operation, core, queue);
}
#define SCHEDULED(name) request_scheduled(result, sequence, EVENT_##name, found.core, queue)

static void request_completed(NRT_STATUS status, uint64_t sequence, const bool *is_completed)
{
    if (status == NRT_SUCCESS && is_completed && *is_completed)
        requests_end(sequence);
}

/* ---- The table ----------------------------------------------------------------------------- */

#define INTERPOSE __attribute__((visibility("default")))

/* NOLINTBEGIN(bugprone-macro-parentheses): types and parameter lists cannot be parenthesized */

/* Before the call. The empty first arg allows for an otherwise empty list. */
#define BEFORE(type_, otherwise, name, parameters, look_up, core_, before)                         \
    static void *slot;                                                                             \
    type_(*real) parameters = (type_(*) parameters)call_find(&slot, #name);                        \
    if (!real)                                                                                     \
        return otherwise;                                                                          \
    const bool recorded = call_is_recorded(EVENT_##name);                                          \
    int problem = errno;                                                                           \
    look_up;                                                                                       \
    struct trace_record record_ = {.type = EVENT_##name, .core = NO_CORE, .phase = TRACE_START};   \
    if (recorded) {                                                                                \
        const struct kymo_arg args_[] = {kymo_int(NULL, 0), LIST before};                          \
        record_.core = core_;                                                                      \
        record_.tracking_id = trace_next_id();                                                     \
        trace_emit(&record_, args_ + 1, sizeof args_ / sizeof *args_ - 1);                         \
    }                                                                                              \
    errno = problem;

/* After the call. `skip` is 1 to omit the first arg. */
#define AFTER(after_call, skip, ...)                                                               \
    problem = errno;                                                                               \
    if (recorded) {                                                                                \
        const struct kymo_arg args_[] = {__VA_ARGS__};                                             \
        record_.phase = TRACE_STOP;                                                                \
        trace_emit(&record_, args_ + (skip), sizeof args_ / sizeof *args_ - (skip));               \
    }                                                                                              \
    after_call;                                                                                    \
    errno = problem;

#define STATUS(name, parameters, arguments, look_up, core, before, after_call, after)              \
    INTERPOSE NRT_STATUS name parameters                                                           \
    {                                                                                              \
        BEFORE(NRT_STATUS, NRT_FAILURE, name, parameters, look_up, core, before)                   \
        NRT_STATUS result = real arguments;                                                        \
        AFTER(after_call, result == NRT_SUCCESS, kymo_int("status", result), LIST after)           \
        return result;                                                                             \
    }

#define VALUE(type, otherwise, name, parameters, arguments, look_up, core, before, after_call,     \
              after)                                                                               \
    INTERPOSE type name parameters                                                                 \
    {                                                                                              \
        BEFORE(type, otherwise, name, parameters, look_up, core, before)                           \
        type result = real arguments;                                                              \
        AFTER(after_call, 1, kymo_int(NULL, 0), LIST after)                                        \
        return result;                                                                             \
    }

#define VOID(name, parameters, arguments, look_up, core, before, after_call)                       \
    INTERPOSE void name parameters                                                                 \
    {                                                                                              \
        BEFORE(void, , name, parameters, look_up, core, before)                                    \
        real arguments;                                                                            \
        AFTER(after_call, 1, kymo_int(NULL, 0))                                                    \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#include "capture/neuron/calls.def"
