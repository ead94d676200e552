/*
 * A runtime for the tests of the interposer: tensors are memory, models are numbers, what is
 * scheduled is complete when it is asked for the second time.
 */
#include "published.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

struct nrt_tensor {
    size_t size;
    char *data;
};
struct nrt_model {
    int core, executions;
};

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model)
{
    (void)neff_bytes;
    (void)vnc_count;
    if (size == 0)
        return NRT_UNSUPPORTED_NEFF_VERSION;
    *model = calloc(1, sizeof **model);
    (*model)->core = vnc;
    errno = EDOM;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
    free(model);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    (void)input_set;
    (void)output_set;
    return ++model->executions % 5 ? NRT_SUCCESS : NRT_EXEC_NC_BUSY;
}

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
                               const char *name, nrt_tensor_t **tensor)
{
    (void)tensor_placement;
    (void)vnc;
    (void)name;
    *tensor = calloc(1, sizeof **tensor);
    (*tensor)->size = size;
    (*tensor)->data = calloc(1, size);
    return NRT_SUCCESS;
}

void nrt_tensor_free(nrt_tensor_t **tensor)
{
    free((*tensor)->data);
    free(*tensor);
    *tensor = NULL;
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
    if (offset + size > tensor->size)
        return NRT_INVALID;
    memcpy(tensor->data + offset, buf, size);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
    if (offset + size > tensor->size)
        return NRT_INVALID;
    memcpy(buf, tensor->data + offset, size);
    return NRT_SUCCESS;
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
    return tensor->size;
}

static _Atomic uint64_t scheduled, asked;

NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
                                 nrta_seq_t *req_sequence)
{
    (void)model;
    (void)input;
    (void)output;
    (void)err;
    if (queue != 0)
        return NRT_QUEUE_FULL;
    *req_sequence = (uint64_t)3 << 48 | ++scheduled;
    return NRT_SUCCESS;
}

NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed)
{
    (void)seq;
    *is_completed = ++asked % 2 == 0;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_visible_nc_count(uint32_t *vnc_count)
{
    *vnc_count = 4;
    return NRT_SUCCESS;
}
