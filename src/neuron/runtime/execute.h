/*
 * Executions of models on the threads of their cores.
 */
#ifndef KYMO_NEURON_RUNTIME_EXECUTE_H
#define KYMO_NEURON_RUNTIME_EXECUTE_H

#include "neuron/runtime/model.h"

#include <nrt/nrt_experimental.h>

/* A request for the COMPUTE queue of the model's core, which holds everything it needs; NULL:
 * *status says why. */
struct runtime_request *execution_new(const nrt_model_t *model, const nrt_tensor_set_t *inputs,
                                      const nrt_tensor_set_t *outputs, uint32_t repeat,
                                      struct vnc **vnc, NRT_STATUS *status);

/* Before it is submitted: its end is reported to the callback below. */
void execution_set_scheduled(struct runtime_request *request);

/* Ends executions that run and those that begin; for nrt_close. nrt_init turns it off. */
void execute_cancel(bool is_on);
/* Frees what belongs to a core, once its thread has ended. */
void execute_close(struct vnc *vnc);

/* nrt_register_async_exec_callback */
void callback_set(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params);
/* On the core's thread: reports an execution's end to the callback, if there is one. */
void callback_run(uint32_t model_id, uint32_t vnc, uint64_t execution, NRT_STATUS status);

#endif
