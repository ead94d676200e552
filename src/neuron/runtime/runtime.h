/*
 * Software NeuronCores behind nrt.h: what the files of this folder share. Handles of the public
 * interface are numbers in a registry, never addresses, so that any value a program passes can be
 * checked.
 */
#ifndef KYMO_NEURON_RUNTIME_RUNTIME_H
#define KYMO_NEURON_RUNTIME_RUNTIME_H

#include "neuron/hardware/hardware.h"
#include "neuron/runtime/cores/cores.h"
#include "neuron/runtime/queue.h"

#include <nrt/nrt.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- Settings: environment variables, read by nrt_init ----------------------------------------
 */

enum { CORES_MAX = 128, LOGICAL_MAX = 2 };

struct runtime_settings {
    const struct instance_hardware *instance;
    uint32_t logical_size;  /* physical cores of a logical one */
    uint32_t total;         /* logical cores of the machine */
    struct cores_row row;   /* the visible ones */
    struct cores_row job;   /* of all processes that run together; count 0: unknown */
    bool any;               /* wherever they are free; row.first is then set by nrt_init */
    bool compute;           /* false: timing alone */
    bool check_numbers;     /* NaN and infinities are errors */
    bool dge_notifications; /* profiles have transfers of dynamic DMA */
    bool validate_hash;     /* of NEFFs that are loaded */
    uint64_t timeout_s;     /* of an execution, 0: none */
    char root[256];         /* ip:port where the ranks of other processes are found; "": there are
                               none */
    char job_key[128], node[64];
};
/* False after a message when a variable cannot be read. */
bool settings_read(struct runtime_settings *settings);

/* ---- Log: NEURON_RT_LOG_LEVEL and NEURON_RT_LOG_LOCATION ------------------------------------- */

enum rt_level { RT_QUIET, RT_ERROR, RT_WARNING, RT_INFO, RT_DEBUG };
enum rt_component { RT_NRT, RT_TDRV, RT_KMGR, RT_COMPONENTS }; /* interface, devices, models */
void rt_log_configure(void);
void rt_log(enum rt_level level, enum rt_component component, const char *function,
            const char *format, ...) __attribute__((format(printf, 4, 5)));
#define rt_error(component, ...)   rt_log(RT_ERROR, component, __func__, __VA_ARGS__)
#define rt_warning(component, ...) rt_log(RT_WARNING, component, __func__, __VA_ARGS__)
#define rt_info(component, ...)    rt_log(RT_INFO, component, __func__, __VA_ARGS__)

/* ---- Memory of devices ------------------------------------------------------------------------
 */

struct stack; /* of HBM */
struct stack *stack_of(uint32_t chip, uint32_t index);
/* Zeroed pages; NULL when the stack is full, or the host. */
uint8_t *stack_allocate(struct stack *stack, size_t size);
void stack_free(struct stack *stack, uint8_t *memory, size_t size);
/* The stack's address space; NULL when it cannot be reserved. */
uint8_t *stack_base(struct stack *stack);
size_t stack_size(const struct stack *stack);
uint32_t stack_index(const struct stack *stack);
/* Whether the bytes lie in memory that is allocated on a device. */
bool stacks_contain(uintptr_t address, size_t size);
void stacks_open(const struct runtime_settings *settings);
void stacks_close(void);

/* ---- Logical cores ----------------------------------------------------------------------------
 */

enum { QUEUE_COMPUTE, QUEUE_TENSOR = 1, QUEUE_COLLECTIVE = 3, CORE_QUEUES = 6 };

struct vnc {
    uint32_t index;   /* as programs number it */
    uint32_t logical; /* of the machine */
    uint32_t chip, core_in_chip;
    uint32_t cores_on_stack; /* physical ones that share the stack */
    struct stack *stack;
    atomic_size_t used; /* bytes of device memory */
    atomic_uint models;
    struct queue queues[CORE_QUEUES];
    /* Of the COMPUTE queue's thread alone. */
    struct core *cores[LOGICAL_MAX];
    uint64_t last_model;
};

extern struct runtime_settings settings;
extern struct vnc vncs[CORES_MAX];
/* NULL when there is no such core. */
struct vnc *vnc_at(int64_t index);
/* Time on the clock of a core's device. */
uint64_t vnc_clock_ns(const struct vnc *vnc, int64_t monotonic_ns);

/* ---- Calls --------------------------------------------------------------------------------------
 */

/* NRT_SUCCESS between nrt_init and nrt_close; then followed by runtime_leave. */
NRT_STATUS runtime_enter(void);
void runtime_leave(void);
/* Whether nrt_close waits for calls to return: whatever blocks looks at it. */
bool runtime_is_closing(void);
/* Whether this is the child of a process that uses the runtime: its files and threads are the
 * parent's. */
bool runtime_has_forked(void);
/* Forgets cores, communicators and messages, after their handles. */
void sendrecv_close(void);

/* Around a fork. In the child, with lifecycle_lock held: runtime_forked. */
void runtime_before_fork(void);
void runtime_after_fork(bool is_child);
void runtime_forked(void);
/* False in the callback of asynchronous executions, after a message: whatever waits for requests,
 * for ranks or for nrt_close asks first. */
bool runtime_may_wait(const char *what);

/* Returns what the call returns, if the runtime is initialized. */
#define IN_RUNTIME(call)                                                                           \
    do {                                                                                           \
        NRT_STATUS status_ = runtime_enter();                                                      \
        if (status_ == NRT_SUCCESS) {                                                              \
            status_ = (call);                                                                      \
            runtime_leave();                                                                       \
        }                                                                                          \
        return status_;                                                                            \
    } while (0)

/* The same for calls that wait. */
#define WAIT_IN_RUNTIME(call)                                                                      \
    do {                                                                                           \
        if (!runtime_may_wait(__func__))                                                           \
            return NRT_FAILURE;                                                                    \
        IN_RUNTIME(call);                                                                          \
    } while (0)

/* ---- Locks --------------------------------------------------------------------------------------
 *
 * A thread that holds a lock may take those of later lines, never those of earlier ones:
 *
 *     inspect_lock, profile_lock           sessions and profiles that were begun (api/device.h)
 *     lifecycle_lock                       the runtime's state
 *     profiles_lock                        device profiles
 *     issued_lock, debug_lock              what was given out to the program
 *     send_lock, channels_lock, inbox_lock messages between cores (channels.c)
 *     join_lock, the lock of ranks.c, those of src/neuron/runtime/peers
 *     queues, tensors, sets                and then the registry of handles
 *     rings' control, each ring            capture/neuron/rings.c
 *     libkymo's
 *
 * Others (trackers, stacks, the callback's) are held for a few instructions without taking another.
 * None is held while its holder waits for a request, a rank, nrt_close or a callback: a callback
 * may take all of them, and fork does. api/fork.c has the only handler of fork. */
extern pthread_mutex_t lifecycle_lock, issued_lock, debug_lock; /* for fork */

/* ---- Handles ------------------------------------------------------------------------------------
 */

enum object_kind {
    OBJECT_TENSOR = 1,
    OBJECT_SET,
    OBJECT_MODEL,
    OBJECT_TRACKER,
    OBJECT_CC,
    OBJECT_COMM,
    OBJECT_REQUEST,
    OBJECT_KINDS
};

/* First member of everything with a handle. It lives until the handle is retired and all
 * references are put. */
struct object {
    atomic_uint references;
    enum object_kind kind;
    void (*destroy)(struct object *object);
};
/* Zeroed but for this; one reference, the caller's. */
void *object_new(enum object_kind kind, size_t size, void (*destroy)(struct object *));
/* The handle takes over the caller's reference. */
void *object_publish(struct object *object);
/* A new reference, or NULL when the handle is not a valid one of this kind. */
void *object_get(const void *handle, enum object_kind kind);
void object_reference(struct object *object);
void object_put(struct object *object);
/* Makes the handle invalid; returns the object with the handle's reference, or NULL. */
void *object_retire(const void *handle, enum object_kind kind);
void objects_retire_all(void);

#endif
