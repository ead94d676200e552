/*
 * Tensors and their storages.
 */
#include "base/clock.h"
#include "neuron/runtime/tensor.h"

#include "base/base.h"
#include "capture/neuron/trace.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct storage {
    unsigned references; /* this and the next two are guarded by the lock */
    unsigned copies, executions;
    nrt_tensor_placement_t placement;
    struct vnc *vnc; /* DEVICE */
    uint8_t *data;
    size_t size;
    bool is_attached; /* the caller's memory */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* copies, executions, completions */

static void storage_free(struct storage *storage)
{
    if (storage->vnc) {
        uint64_t id = trace_next_id();
        trace_event(EVENT_nrt_dma_mem_dealloc, storage->vnc->index, TRACE_START, id,
                    kymo_uint("size", storage->size));
        stack_free(storage->vnc->stack, storage->data, storage->size);
        atomic_fetch_sub(&storage->vnc->used, storage->size);
        trace_event(EVENT_nrt_dma_mem_dealloc, storage->vnc->index, TRACE_STOP, id);
    } else if (!storage->is_attached) {
        free(storage->data);
    }
    mem_free(storage);
}

/* With the lock held; true: the caller frees it, without the lock. */
static bool drop_reference(struct storage *storage)
{
    return storage && --storage->references == 0;
}

static void storage_put(struct storage *storage)
{
    pthread_mutex_lock(&lock);
    bool is_last = drop_reference(storage);
    pthread_mutex_unlock(&lock);
    if (is_last)
        storage_free(storage);
}

static struct storage *storage_new(nrt_tensor_placement_t placement, struct vnc *vnc, size_t size)
{
    uint8_t *data = NULL;
    if (vnc) {
        uint64_t id = trace_next_id();
        trace_event(EVENT_nrt_dma_mem_alloc, vnc->index, TRACE_START, id, kymo_uint("size", size));
        data = stack_allocate(vnc->stack, size);
        trace_event(EVENT_nrt_dma_mem_alloc, vnc->index, TRACE_STOP, id);
    } else if (size <= PTRDIFF_MAX) {
        data = calloc(1, size);
    }
    if (!data)
        return NULL;
    if (vnc)
        atomic_fetch_add(&vnc->used, size);
    struct storage *storage = mem_zeroed(1, sizeof *storage);
    *storage = (struct storage){
        .references = 1, .placement = placement, .vnc = vnc, .data = data, .size = size};
    return storage;
}

/* ---- Views --------------------------------------------------------------------------------- */

struct view tensor_view(struct tensor *tensor)
{
    struct view view = {0};
    pthread_mutex_lock(&lock);
    if (tensor->storage) {
        tensor->storage->references++;
        view = (struct view){.storage = tensor->storage,
                             .data = tensor->storage->data + tensor->offset,
                             .size = tensor->size,
                             .vnc = tensor->storage->vnc};
    }
    pthread_mutex_unlock(&lock);
    return view;
}

void view_put(struct view *view)
{
    if (view->storage)
        storage_put(view->storage);
    *view = (struct view){0};
}

bool view_part(const struct view *view, uint64_t offset, uint64_t size, struct view *part)
{
    if (!view->storage || size > view->size || offset > view->size - size)
        return false;
    *part = *view;
    part->data += offset;
    part->size = size;
    return true;
}

/* ---- Who uses a storage -------------------------------------------------------------------- */

/* With the lock held. Both at once: an execution may use both. */
static bool try_copy(struct storage *storage, struct storage *second)
{
    bool may = storage->executions + second->executions == 0;
    storage->copies += may;
    second->copies += may;
    return may;
}

bool storage_try_copy(struct storage *storage, struct storage *second)
{
    pthread_mutex_lock(&lock);
    bool may = try_copy(storage, second ? second : storage);
    pthread_mutex_unlock(&lock);
    return may;
}

NRT_STATUS storage_begin_copy(struct storage *storage, struct storage *second)
{
    second = second ? second : storage;
    if (storage_try_copy(storage, second))
        return NRT_SUCCESS;
    if (!runtime_may_wait("a copy of a tensor that executions in a queue use"))
        return NRT_FAILURE;
    uint32_t core = storage->vnc ? storage->vnc->index : TRACE_NO_CORE;
    uint64_t id = trace_next_id();
    trace_event(EVENT_tensor_block_while_exec, core, TRACE_START, id);
    pthread_mutex_lock(&lock);
    while (storage->executions + second->executions > 0 && !runtime_is_closing())
        pthread_cond_wait(&changed, &lock);
    bool may = try_copy(storage, second);
    pthread_mutex_unlock(&lock);
    trace_event(EVENT_tensor_block_while_exec, core, TRACE_STOP, id);
    return may ? NRT_SUCCESS : NRT_CLOSED;
}

void storage_end_copy(struct storage *storage, struct storage *second)
{
    pthread_mutex_lock(&lock);
    storage->copies--;
    (second ? second : storage)->copies--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void storage_add_execution(struct storage *storage)
{
    pthread_mutex_lock(&lock);
    storage->executions++;
    pthread_mutex_unlock(&lock);
}

void storage_end_execution(struct storage *storage)
{
    pthread_mutex_lock(&lock);
    storage->executions--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void storage_wait_for_copies(struct storage *storage)
{
    pthread_mutex_lock(&lock);
    while (storage->copies > 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void tensor_completed(struct tensor *tensor)
{
    pthread_mutex_lock(&lock);
    tensor->completions++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void tensors_wake(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- Allocation ---------------------------------------------------------------------------- */

static void tensor_destroy(struct object *object)
{
    struct tensor *tensor = (struct tensor *)object;
    if (tensor->storage)
        storage_put(tensor->storage);
    mem_free(tensor->name);
}

static nrt_tensor_t *publish(struct storage *storage, size_t offset, size_t size, const char *name)
{
    struct tensor *tensor = object_new(OBJECT_TENSOR, sizeof *tensor, tensor_destroy);
    tensor->storage = storage;
    tensor->offset = offset;
    tensor->size = size;
    tensor->name = mem_copy_text(name ? name : "", name ? strlen(name) : 0);
    return object_publish(&tensor->object);
}

struct tensor *tensor_get(const nrt_tensor_t *handle)
{
    return object_get(handle, OBJECT_TENSOR);
}

/* Only memory on a device belongs to a core. */
static NRT_STATUS allocate(nrt_tensor_placement_t placement, int vnc_index, size_t size,
                           const char *name, nrt_tensor_t **tensor)
{
    bool is_device = placement == NRT_TENSOR_PLACEMENT_DEVICE;
    struct vnc *vnc = vnc_at(vnc_index);
    if (!tensor || size == 0 || (unsigned)placement > NRT_TENSOR_PLACEMENT_VIRTUAL)
        return NRT_INVALID;
    if (!vnc && (is_device || vnc_index != -1))
        return NRT_INVALID;
    uint64_t id = trace_next_id();
    uint32_t core = is_device ? vnc->index : TRACE_NO_CORE;
    trace_event(EVENT_nrt_tensor_allocate, core, TRACE_START, id,
                kymo_text("tensor_name", name ? name : ""), kymo_uint("size", size),
                kymo_int("placement", placement));
    struct storage *storage = storage_new(placement, is_device ? vnc : NULL, size);
    if (storage)
        *tensor = publish(storage, 0, size, name);
    else
        rt_error(RT_TDRV, "cannot allocate %zu bytes for tensor %s: %zu of %zu bytes are used",
                 size, name ? name : "", vnc ? (size_t)vnc->used : 0,
                 vnc ? stack_size(vnc->stack) : 0);
    trace_event(EVENT_nrt_tensor_allocate, core, TRACE_STOP, id,
                TENSOR_ID(storage ? *tensor : NULL));
    return storage ? NRT_SUCCESS : NRT_RESOURCE;
}

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
                               const char *name, nrt_tensor_t **tensor)
{
    IN_RUNTIME(allocate(tensor_placement, vnc, size, name, tensor));
}

static NRT_STATUS allocate_empty(const char *name, nrt_tensor_t **tensor)
{
    if (!tensor)
        return NRT_INVALID;
    *tensor = publish(NULL, 0, 0, name);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
    IN_RUNTIME(allocate_empty(name, tensor));
}

static NRT_STATUS free_tensor(nrt_tensor_t *handle)
{
    struct tensor *tensor = object_retire(handle, OBJECT_TENSOR);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    struct view view = tensor_view(tensor);
    uint32_t core = view.vnc ? view.vnc->index : TRACE_NO_CORE;
    view_put(&view);
    uint64_t id = trace_next_id();
    trace_event(EVENT_nrt_tensor_free, core, TRACE_START, id, TENSOR_ID(handle),
                kymo_text("tensor_name", tensor->name), kymo_uint("size", tensor->size));
    object_put(&tensor->object);
    trace_event(EVENT_nrt_tensor_free, core, TRACE_STOP, id);
    return NRT_SUCCESS;
}

void nrt_tensor_free(nrt_tensor_t **tensor)
{
    if (!tensor)
        return;
    if (runtime_enter() == NRT_SUCCESS) {
        free_tensor(*tensor);
        runtime_leave();
    }
    *tensor = NULL;
}

/* The buffer stays the caller's. Slices and executions that use the old storage keep it: only the
 * tensor changes. */
static NRT_STATUS attach(nrt_tensor_t *handle, void *buffer, size_t size)
{
    if (!buffer || size == 0)
        return NRT_INVALID;
    struct tensor *tensor = tensor_get(handle);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    struct storage *storage = mem_zeroed(1, sizeof *storage);
    *storage = (struct storage){.references = 1,
                                .placement = NRT_TENSOR_PLACEMENT_VIRTUAL,
                                .data = buffer,
                                .size = size,
                                .is_attached = true};
    pthread_mutex_lock(&lock);
    struct storage *before = tensor->storage;
    tensor->storage = storage;
    tensor->offset = 0;
    tensor->size = size;
    bool is_last = drop_reference(before);
    pthread_mutex_unlock(&lock);
    if (is_last)
        storage_free(before);
    object_put(&tensor->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
    IN_RUNTIME(attach(tensor, buffer, size));
}

static NRT_STATUS slice(const nrt_tensor_t *handle, size_t offset, size_t size, const char *name,
                        nrt_tensor_t **result)
{
    if (!result || size == 0)
        return NRT_INVALID;
    struct tensor *source = tensor_get(handle);
    if (!source)
        return NRT_INVALID_HANDLE;
    struct view view = tensor_view(source), part;
    NRT_STATUS status = NRT_INVALID;
    if (view_part(&view, offset, size, &part)) {
        /* The slice takes over the view's reference. */
        *result = publish(view.storage, (size_t)(part.data - view.storage->data), size, name);
        status = NRT_SUCCESS;
    } else {
        view_put(&view);
    }
    object_put(&source->object);
    return status;
}

NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size,
                                     const char *name, nrt_tensor_t **tensor_slice)
{
    IN_RUNTIME(slice(tensor_source, offset, size, name, tensor_slice));
}

/* ---- What tensors are ---------------------------------------------------------------------- */

/* Empty for an invalid handle. The address stays valid as long as the tensor. */
static struct view look_at(const nrt_tensor_t *handle)
{
    struct view view = {0};
    if (runtime_enter() != NRT_SUCCESS)
        return view;
    struct tensor *tensor = tensor_get(handle);
    if (tensor) {
        view = tensor_view(tensor);
        if (view.storage)
            storage_put(view.storage);
        object_put(&tensor->object);
    }
    runtime_leave();
    return view;
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
    return look_at(tensor).size;
}

void *nrt_tensor_get_va(const nrt_tensor_t *tensor)
{
    return look_at(tensor).data; /* NOLINT(clang-analyzer-unix.Malloc): lives with the tensor */
}

static NRT_STATUS allocation_info(const nrt_tensor_t *handle,
                                  nrt_tensor_device_allocation_info_t *info)
{
    if (!info)
        return NRT_INVALID;
    struct tensor *tensor = tensor_get(handle);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    struct view view = tensor_view(tensor);
    NRT_STATUS status = view.vnc ? NRT_SUCCESS : NRT_INVALID;
    if (view.vnc)
        *info = (nrt_tensor_device_allocation_info_t){
            .physical_address = (uint64_t)(view.data - stack_base(view.vnc->stack)),
            .size = view.size,
            .hbm_index = (int)stack_index(view.vnc->stack)};
    view_put(&view);
    object_put(&tensor->object);
    return status;
}

NRT_STATUS
nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
                                      nrt_tensor_device_allocation_info_t *alloc_info)
{
    IN_RUNTIME(allocation_info(tensor, alloc_info));
}

/* ---- Completions --------------------------------------------------------------------------- */

enum { WARN_S = 30 };

/* With the lock held: waits for that many completions, at most until a time in nanoseconds. */
static bool wait_for_completions(struct tensor *tensor, int64_t until_ns, uint64_t expected)
{
    while (tensor->completions < expected && !runtime_is_closing()) {
        struct timespec until = clock_timespec(until_ns);
        if (pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) != 0)
            break;
    }
    return tensor->completions >= expected;
}

/* A negative timeout means forever, with a warning now and then. Saturates: now plus the longest
 * timeout must not overflow. nrt_close ends the wait. */
static NRT_STATUS check_completion(const nrt_tensor_t *handle, int64_t timeout_us,
                                   uint64_t expected)
{
    struct tensor *tensor = tensor_get(handle);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    bool are_there = tensor->completions >= expected;
    pthread_mutex_unlock(&lock);
    if (!are_there && timeout_us != 0 && !runtime_may_wait("nrt_tensor_check_output_completion")) {
        object_put(&tensor->object);
        return NRT_FAILURE;
    }
    int64_t now = clock_monotonic_ns();
    int64_t longest = (INT64_MAX - now) / 1000;
    int64_t until = now + (timeout_us < longest ? timeout_us : longest) * 1000;
    pthread_mutex_lock(&lock);
    are_there = wait_for_completions(
        tensor, timeout_us < 0 ? now + (int64_t)WARN_S * 1000000000 : until, expected);
    while (!are_there && timeout_us < 0 && !runtime_is_closing()) {
        rt_warning(RT_NRT, "tensor %s: still waiting for completion %llu, there are %llu",
                   tensor->name, (unsigned long long)expected,
                   (unsigned long long)tensor->completions);
        are_there = wait_for_completions(
            tensor, clock_monotonic_ns() + (int64_t)WARN_S * 1000000000, expected);
    }
    pthread_mutex_unlock(&lock);
    object_put(&tensor->object);
    return are_there ? NRT_SUCCESS : runtime_is_closing() ? NRT_CLOSED : NRT_TIMEOUT;
}

NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout,
                                              uint64_t expected_completion_count)
{
    IN_RUNTIME(check_completion(output_tensor, timeout, expected_completion_count));
}

static NRT_STATUS reset_completion(nrt_tensor_t *handle)
{
    struct tensor *tensor = tensor_get(handle);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    tensor->completions = 0;
    pthread_mutex_unlock(&lock);
    object_put(&tensor->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor)
{
    IN_RUNTIME(reset_completion(output_tensor));
}
