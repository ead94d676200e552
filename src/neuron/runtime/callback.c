/*
 * The callback of asynchronous executions. It runs on the thread that completes a core's requests,
 * so what it calls must not wait for requests: of that core, nor of others, whose callbacks might
 * wait for this one.
 */
#include "neuron/runtime/execute.h"

#include <unistd.h>

static pthread_mutex_t callback_lock = PTHREAD_MUTEX_INITIALIZER;
static NRT_ASYNC_EXEC_STATUS_CALLBACK exec_callback;
static void *callback_params;
static _Thread_local bool is_in_callback;

void callback_set(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params)
{
    pthread_mutex_lock(&callback_lock);
    exec_callback = callback;
    callback_params = params;
    pthread_mutex_unlock(&callback_lock);
}

void callback_run(uint32_t model_id, uint32_t vnc, uint64_t execution, NRT_STATUS status)
{
    pthread_mutex_lock(&callback_lock);
    NRT_ASYNC_EXEC_STATUS_CALLBACK callback = exec_callback;
    void *params = callback_params;
    pthread_mutex_unlock(&callback_lock);
    if (!callback)
        return;
    is_in_callback = true;
    callback(params, model_id, vnc, execution, status);
    is_in_callback = false;
    if (runtime_has_forked()) { /* in the callback: the child has nowhere to return to */
        rt_error(RT_NRT, "a process that was forked in the callback of asynchronous executions "
                         "returned from it and is ended; it must call exec or _exit");
        _exit(1);
    }
}

bool runtime_may_wait(const char *what)
{
    if (is_in_callback)
        rt_error(RT_NRT,
                 "%s cannot wait in the callback of asynchronous executions: its core completes "
                 "nothing before the callback returns",
                 what);
    return !is_in_callback;
}
