/*
 * What nrt.h and nrt_experimental.h report about models.
 */
#include "base/base.h"
#include "neuron/runtime/execute.h"
#include "neuron/runtime/model.h"

#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <string.h>

/* Arrays that were given out: programs read them, so they have real addresses. */
struct issued {
    struct issued *next;
    nrt_tensor_info_array_t *array;
    uint32_t *shapes; /* of all its tensors */
};
pthread_mutex_t issued_lock = PTHREAD_MUTEX_INITIALIZER;
static struct issued *issued;

static void fill_info(nrt_tensor_info_t *info, const struct model_io *io, uint32_t *shape)
{
    const struct variable *variable = io->variable;
    snprintf(info->name, sizeof info->name, "%s", variable->name);
    info->usage = io->is_output ? NRT_TENSOR_USAGE_OUTPUT : NRT_TENSOR_USAGE_INPUT;
    info->size = variable->size;
    info->dtype = (nrt_dtype_t)variable->dtype;
    info->ndim = variable->rank;
    info->shape = shape;
    memcpy(shape, variable->shape, variable->rank * sizeof *shape);
}

static NRT_STATUS tensor_info(nrt_model_t *handle, nrt_tensor_info_array_t **result)
{
    if (!result)
        return NRT_INVALID;
    struct model *model = model_get(handle);
    if (!model)
        return NRT_INVALID_HANDLE;
    struct issued *item = mem_zeroed(1, sizeof *item);
    item->array =
        mem_zeroed(1, sizeof *item->array + model->io_count * sizeof *item->array->tensor_array);
    item->shapes = mem_zeroed(model->io_count * SHAPE_MAX + 1, sizeof *item->shapes);
    item->array->tensor_count = model->io_count;
    for (uint32_t i = 0; i < model->io_count; i++)
        fill_info(&item->array->tensor_array[i], &model->io[i],
                  item->shapes + (size_t)i * SHAPE_MAX);
    *result = item->array;
    pthread_mutex_lock(&issued_lock);
    item->next = issued;
    issued = item;
    pthread_mutex_unlock(&issued_lock);
    object_put(&model->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **info)
{
    IN_RUNTIME(tensor_info(model, info));
}

/* Also after nrt_close: the array is the caller's. */
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *info)
{
    if (!info)
        return NRT_INVALID;
    pthread_mutex_lock(&issued_lock);
    struct issued **link = &issued;
    while (*link && (*link)->array != info)
        link = &(*link)->next;
    struct issued *item = *link;
    if (item)
        *link = item->next;
    pthread_mutex_unlock(&issued_lock);
    if (!item)
        return NRT_INVALID_HANDLE;
    mem_free(item->shapes);
    mem_free(item->array);
    mem_free(item);
    return NRT_SUCCESS;
}

/* How many logical cores it runs on, and how many copies of it there are: one. */
static NRT_STATUS count_one(const nrt_model_t *handle, uint32_t *count)
{
    if (!count)
        return NRT_INVALID;
    struct model *model = model_get(handle);
    if (!model)
        return NRT_INVALID_HANDLE;
    *count = 1;
    object_put(&model->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
    IN_RUNTIME(count_one(model, vnc_count));
}

NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
    IN_RUNTIME(count_one(model, vnc_count));
}

NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count)
{
    IN_RUNTIME(count_one(model, instance_count));
}

static NRT_STATUS model_info(const nrt_model_t *handle, nrt_model_info_t *info, size_t size,
                             size_t *written)
{
    if (!info || size == 0)
        return NRT_INVALID;
    struct model *model = model_get(handle);
    if (!model)
        return NRT_INVALID_HANDLE;
    const nrt_model_info_t all = {.vnc = model->vnc->index};
    object_put(&model->object);
    size = size < sizeof all ? size : sizeof all;
    memcpy(info, &all, size);
    if (written)
        *written = size;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out)
{
    IN_RUNTIME(model_info(model, info, info_size_in, info_size_out));
}

static NRT_STATUS set_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params)
{
    callback_set(callback, params);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params)
{
    IN_RUNTIME(set_callback(callback, params));
}

static NRT_STATUS drain(int32_t index)
{
    struct vnc *vnc = vnc_at(index);
    if (!vnc)
        return NRT_INVALID;
    queue_drain(&vnc->queues[QUEUE_COMPUTE]);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc)
{
    WAIT_IN_RUNTIME(drain(vnc));
}
