/*
 * Executions of models on the threads of their cores.
 */
#ifndef KYMO_NRT_RUNTIME_EXECUTE_H
#define KYMO_NRT_RUNTIME_EXECUTE_H

#include "nrt/runtime/model.h"

/* A request for the COMPUTE queue of the model's core, which holds all it needs; NULL: *status
 * tells. */
struct request *execution_new(const nrt_model_t *model, const nrt_tensor_set_t *inputs,
                              const nrt_tensor_set_t *outputs, uint32_t repeat, struct vnc **vnc,
                              NRT_STATUS *status);

/* Before it is submitted: its end is told to the callback below. */
void execution_set_scheduled(struct request *request);

/* Ends executions that run and those that begin; for nrt_close. nrt_init turns it off. */
void execute_cancel(bool is_on);
/* Frees what belongs to a core, once its thread has ended. */
void execute_close(struct vnc *vnc);

/* nrt_register_async_exec_callback */
void execute_set_callback(void (*callback)(void *, uint32_t, uint32_t, uint64_t, NRT_STATUS),
                          void *params);

#endif
