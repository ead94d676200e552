/*
 * nrt_init and nrt_close: opens and closes what the other files of this folder have.
 */
#include "base/base.h"
#include "capture/neuron/trace.h"
#include "neuron/runtime/execute.h"
#include "neuron/runtime/profile.h"
#include "neuron/runtime/ranks.h"
#include "neuron/runtime/state.h"
#include "neuron/runtime/tensor.h"

#include <string.h>

static pthread_cond_t closed = PTHREAD_COND_INITIALIZER;

/* ---- Cores --------------------------------------------------------------------------------- */

/* Cores that share a stack: the visible ones, or those of the whole job. */
static uint32_t cores_on_stack(uint32_t chip, uint32_t stack, uint32_t per_stack)
{
    const struct cores_row *row = settings.job.count > 0 ? &settings.job : &settings.row;
    uint32_t first = chip * settings.instance->core->cores_per_chip + stack * per_stack;
    uint32_t count = 0;
    for (uint32_t i = first; i < first + per_stack; i++) {
        uint32_t logical = i / settings.logical_size;
        count += logical >= row->first && logical < row->first + row->count;
    }
    return count;
}

static void open_vnc(uint32_t index)
{
    const struct core_hardware *core = settings.instance->core;
    struct vnc *vnc = &vncs[index];
    uint32_t physical = (settings.row.first + index) * settings.logical_size;
    uint32_t per_stack = core->cores_per_chip / core->stacks_per_chip;
    memset(vnc, 0, sizeof *vnc);
    vnc->index = index;
    vnc->logical = settings.row.first + index;
    vnc->chip = physical / core->cores_per_chip;
    vnc->core_in_chip = physical % core->cores_per_chip;
    uint32_t stack = vnc->core_in_chip / per_stack;
    vnc->stack = stack_of(vnc->chip, stack);
    vnc->cores_on_stack = cores_on_stack(vnc->chip, stack, per_stack);
    for (uint32_t i = 0; i < CORE_QUEUES; i++)
        queue_open(&vnc->queues[i], (uint16_t)(index << 4 | i));
}

static void close_vnc(struct vnc *vnc)
{
    for (uint32_t i = 0; i < CORE_QUEUES; i++)
        queue_close(&vnc->queues[i]);
    execute_close(vnc);
}

static bool take_cores(struct runtime_settings *from)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    const struct cores_machine machine = {from->instance->name, from->node, from->logical_size,
                                          from->total};
    enum cores_claim claim = from->job.count > 0 ? CORES_OF_RESERVED : CORES_OWN;
    lifecycle.lock_file = cores_take(&machine, claim, from->any, &from->row, &err);
    if (lifecycle.lock_file < 0)
        rt_error(RT_TDRV, "%s", error_line(&err, line));
    return lifecycle.lock_file >= 0;
}

/* ---- Init and close ------------------------------------------------------------------------ */

/* With the lock held: init and close take turns. Waits without it, so that fork need not. */
static void wait_for_turn(void)
{
    while (lifecycle.phase == RUNTIME_CLOSING)
        pthread_cond_wait(&closed, &lifecycle_lock);
}

/* With the lock held. */
static NRT_STATUS init(nrt_framework_type_t framework)
{
    if (framework <= NRT_FRAMEWORK_TYPE_INVALID || framework > NRT_FRAMEWORK_TYPE_PRECHECK)
        return NRT_INVALID;
    rt_log_configure();
    if (lifecycle.phase == RUNTIME_READY || lifecycle.has_forked) {
        rt_error(RT_NRT, lifecycle.has_forked
                             ? "a process that was forked from one that called nrt_init "
                               "cannot use the runtime"
                             : "nrt_init was called twice");
        return NRT_FAILURE;
    }
    struct runtime_settings read;
    if (!settings_read(&read))
        return NRT_INVALID;
    if (!take_cores(&read))
        return NRT_LOAD_NOT_ENOUGH_NC;
    settings = read;
    execute_cancel(false);
    stacks_open(&settings);
    for (uint32_t i = 0; i < settings.row.count; i++)
        open_vnc(i);
    rt_info(RT_NRT, "%s in software: NeuronCores %u to %u of %u, %u physical each%s",
            settings.instance->name, settings.row.first,
            settings.row.first + settings.row.count - 1, settings.total, settings.logical_size,
            settings.compute ? "" : ", timing alone");
    lifecycle.phase = RUNTIME_READY;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    if (!runtime_may_wait(__func__))
        return NRT_FAILURE;
    uint64_t id = trace_next_id();
    trace_event(EVENT_nrt_init, TRACE_NO_CORE, TRACE_START, id, kymo_int("framework", framework),
                kymo_text("fw_version", fw_version ? fw_version : ""),
                kymo_text("fal_version", fal_version ? fal_version : ""));
    pthread_mutex_lock(&lifecycle_lock);
    wait_for_turn();
    NRT_STATUS status = init(framework);
    pthread_mutex_unlock(&lifecycle_lock);
    trace_event(EVENT_nrt_init, TRACE_NO_CORE, TRACE_STOP, id);
    return status;
}

static void wake_all(void)
{
    ranks_wake();
    tensors_wake();
}

/* False when there is nothing to close. */
static bool begin_close(void)
{
    pthread_mutex_lock(&lifecycle_lock);
    wait_for_turn();
    bool is_ready = lifecycle.phase == RUNTIME_READY;
    if (is_ready)
        lifecycle.phase = RUNTIME_CLOSING;
    pthread_mutex_unlock(&lifecycle_lock);
    return is_ready;
}

static void end_close(void)
{
    pthread_mutex_lock(&lifecycle_lock);
    cores_give_back(lifecycle.lock_file);
    lifecycle.lock_file = -1;
    settings.row.count = 0;
    lifecycle.phase = RUNTIME_CLOSED;
    pthread_cond_broadcast(&closed);
    pthread_mutex_unlock(&lifecycle_lock);
}

/* Without the lock: it waits for callbacks, which may fork. */
void nrt_close(void)
{
    if (!runtime_may_wait(__func__) || !begin_close())
        return;
    uint64_t id = trace_next_id();
    trace_event(EVENT_nrt_close, TRACE_NO_CORE, TRACE_START, id);
    execute_cancel(true);
    runtime_wait_for_calls(wake_all);
    for (uint32_t i = 0; i < settings.row.count; i++)
        close_vnc(&vncs[i]);
    profiles_close();
    objects_retire_all();
    sendrecv_close();
    ranks_close();
    stacks_close();
    trace_event(EVENT_nrt_close, TRACE_NO_CORE, TRACE_STOP, id);
    end_close();
}

/* ---- What the machine is ------------------------------------------------------------------- */

static NRT_STATUS instance_info(nrt_instance_info_t *info, size_t size)
{
    if (!info || size == 0)
        return NRT_INVALID;
    nrt_instance_info_t all = {.family = settings.instance->family,
                               .size = settings.instance->size};
    strncpy(all.arch_name, settings.instance->core->name, sizeof all.arch_name - 1);
    memcpy(all.device_revision, "0", 2);
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len)
{
    IN_RUNTIME(instance_info(info, instance_info_len));
}

/* Before nrt_init, as the variables say. */
static NRT_STATUS counts(uint32_t *total, uint32_t *visible)
{
    struct runtime_settings read;
    if (!total && !visible)
        return NRT_INVALID;
    if (runtime_enter() == NRT_SUCCESS) {
        read = settings;
        runtime_leave();
    } else {
        rt_log_configure();
        if (!settings_read(&read))
            return NRT_INVALID;
    }
    if (total)
        *total = read.total;
    if (visible)
        *visible = read.row.count;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_total_nc_count(uint32_t *vnc_count)
{
    return counts(vnc_count, NULL);
}

NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
    return counts(vnc_count, NULL);
}

NRT_STATUS nrt_get_visible_nc_count(uint32_t *vnc_count)
{
    return counts(NULL, vnc_count);
}

NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
    return counts(NULL, vnc_count);
}
