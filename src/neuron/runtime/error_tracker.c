/*
 * nrta_error_tracker_t: statuses of requests that failed, kept until the program asks for them.
 */
#include "neuron/runtime/tracker.h"

#include "base/base.h"
#include "neuron/runtime/runtime.h"

#include <nrt/nrt_async.h>

struct tracker {
    struct object object;
    pthread_mutex_t lock;
    ARRAY(nrta_error_t) errors, returned;
};

static void tracker_destroy(struct object *object)
{
    struct tracker *tracker = (struct tracker *)object;
    array_free(&tracker->errors);
    array_free(&tracker->returned);
    pthread_mutex_destroy(&tracker->lock);
}

void tracker_add(struct tracker *tracker, uint64_t sequence, NRT_STATUS status)
{
    pthread_mutex_lock(&tracker->lock);
    *array_push(&tracker->errors) =
        (nrta_error_t){.seq_id = sequence, .error_code = (uint64_t)status};
    pthread_mutex_unlock(&tracker->lock);
}

void tracker_put(struct tracker *tracker)
{
    object_put(tracker ? &tracker->object : NULL);
}

static NRT_STATUS tracker_create(uint32_t core, nrta_error_tracker_t **result)
{
    if (!result || !vnc_at(core))
        return NRT_INVALID;
    struct tracker *tracker = object_new(OBJECT_TRACKER, sizeof *tracker, tracker_destroy);
    pthread_mutex_init(&tracker->lock, NULL);
    *result = object_publish(&tracker->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker)
{
    IN_RUNTIME(tracker_create(lnc_idx, error_tracker));
}

void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker)
{
    if (runtime_enter() == NRT_SUCCESS) {
        object_put(object_retire(error_tracker, OBJECT_TRACKER));
        runtime_leave();
    }
}

static NRT_STATUS tracker_list(nrta_error_tracker_t *handle, const nrta_error_t **list,
                               size_t *count)
{
    if (!list || !count)
        return NRT_INVALID;
    struct tracker *tracker = object_get(handle, OBJECT_TRACKER);
    if (!tracker)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&tracker->lock);
    tracker->returned.count = 0;
    for (size_t i = 0; i < tracker->errors.count; i++)
        *array_push(&tracker->returned) = tracker->errors.items[i];
    tracker->errors.count = 0;
    *list = tracker->returned.count ? tracker->returned.items : NULL;
    *count = tracker->returned.count;
    pthread_mutex_unlock(&tracker->lock);
    object_put(&tracker->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
                                       const nrta_error_t **list, size_t *error_count)
{
    IN_RUNTIME(tracker_list(error_tracker, list, error_count));
}
