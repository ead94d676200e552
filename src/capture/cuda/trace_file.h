/*
 * gpu_trace.pb (schema/gpu_trace.proto) of the running capture: texts, streams and shapes, each
 * written once, and activities in columns. Memory is bounded and allocated when a capture begins.
 * The caller holds trace_file_lock.
 */
#ifndef KYMO_CAPTURE_CUDA_TRACE_FILE_H
#define KYMO_CAPTURE_CUDA_TRACE_FILE_H

#include "capture/cuda/cupti.h"
#include "capture/cuda/options/gpu_options.h"

/* Tables: the fields of GpuTrace. */
enum trace_table {
#define X(table, field, columns, differences) TRACE_##table = field,
#include "capture/cuda/gpu_trace.def"
#undef X
    TRACE_TABLES
};

void trace_file_lock(void);
void trace_file_unlock(void);

/* Begins the file; false when out of memory. */
bool trace_file_begin(const struct gpu_options *options);
/* Writes the rows added so far. After a failure, everything counts as lost. */
void trace_file_flush(void);
void trace_file_end(void);

/* Ids, from 1; 0 when the file has ended. */
uint32_t trace_text(const char *text);
uint32_t trace_annotation(const char *text); /* 0 when the limit is reached */
uint32_t trace_stream(uint32_t device, uint32_t context, uint32_t stream);
/* Writes the name of a thread of this process, once. */
void trace_thread(uint32_t thread);
uint32_t trace_shape(const struct cupti_kernel *kernel);

void trace_device(const struct cupti_device *device);
/* A row: one value per column of the table's message, in the order of its fields. */
void trace_row(enum trace_table table, const uint64_t *values);
void trace_lost(uint64_t records);
void trace_lost_samples(uint64_t samples); /* of hardware counters */

/* In the child of a fork, which writes no file; the lock is held. */
void trace_file_forked(void);

#endif
