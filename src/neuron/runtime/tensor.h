/*
 * Tensors: a part of a storage. Storages are shared by slices and by executions in flight.
 */
#ifndef KYMO_NEURON_RUNTIME_TENSOR_H
#define KYMO_NEURON_RUNTIME_TENSOR_H

#include "neuron/runtime/runtime.h"

struct storage; /* memory, counted by its users */

/* A range of bytes that a tensor stands for at the moment. */
struct view {
    struct storage *storage; /* a reference; NULL: the tensor has no memory */
    uint8_t *data;
    size_t size;
    struct vnc *vnc; /* NULL: not on a device */
};

struct tensor {
    struct object object;
    char *name;
    struct storage *storage; /* NULL: none yet. Guarded, as the others, by the storages' lock */
    size_t offset, size;
    uint64_t completions;
};

/* A tensor in events: its handle is unique within the process. */
#define TENSOR_ID(handle) kymo_uint("tensor_id", (uint64_t)(uintptr_t)(handle))

/* NULL for an invalid handle; put with object_put. */
struct tensor *tensor_get(const nrt_tensor_t *handle);
struct view tensor_view(struct tensor *tensor);
void view_put(struct view *view);
/* Part of a view; false when it is not inside. Shares the reference. */
bool view_part(const struct view *view, uint64_t offset, uint64_t size, struct view *part);

/* Copies exclude executions that use the storage; each waits for the other. Executions count from
 * when they are submitted. NRT_CLOSED: nrt_close waits; NRT_FAILURE: in a callback, which must not.
 */
NRT_STATUS storage_begin_copy(struct storage *storage, struct storage *second); /* NULL: one */
/* The same without waiting; false: executions use one of them. */
bool storage_try_copy(struct storage *storage, struct storage *second);
void storage_end_copy(struct storage *storage, struct storage *second);
void storage_add_execution(struct storage *storage);
void storage_end_execution(struct storage *storage);
/* Waits until no copy is under way. */
void storage_wait_for_copies(struct storage *storage);
/* An execution wrote the tensor. */
void tensor_completed(struct tensor *tensor);
/* Wakes whoever waits in this module, so that they see that the runtime closes. */
void tensors_wake(void);

/* The bytes of a tensor between two offsets, to or from host memory; both wait for executions. */
NRT_STATUS tensor_read(struct tensor *tensor, void *buffer, uint64_t offset, uint64_t size);
NRT_STATUS tensor_write(struct tensor *tensor, const void *buffer, uint64_t offset, uint64_t size);
NRT_STATUS tensor_copy(struct tensor *from, uint64_t from_offset, struct tensor *to,
                       uint64_t to_offset, uint64_t size);
/* Whether tensor_copy will accept them. */
NRT_STATUS tensor_copy_check(struct tensor *from, uint64_t from_offset, struct tensor *to,
                             uint64_t to_offset, uint64_t size);
NRT_STATUS tensor_range_check(struct tensor *tensor, uint64_t offset, uint64_t size);

/* Tensor sets; NULL for an invalid handle. */
struct tensor_set;
struct tensor_set *set_get(const nrt_tensor_set_t *handle);
void set_put(struct tensor_set *set);
/* NULL when there is no tensor of that name, or it was freed; else a reference. */
struct tensor *set_find(struct tensor_set *set, const char *name);

#endif
