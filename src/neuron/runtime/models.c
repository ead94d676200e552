/*
 * Loading and unloading models.
 */
#include "base/base.h"
#include "capture/neuron/trace.h"
#include "neuron/runtime/model.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static atomic_uint next_id = 1;

struct model *model_get(const nrt_model_t *handle)
{
    return object_get(handle, OBJECT_MODEL);
}

static void model_destroy(struct object *object)
{
    struct model *model = (struct model *)object;
    for (uint32_t i = 0; i < LOGICAL_MAX; i++) {
        if (model->programs[i].memory) {
            stack_free(model->vnc->stack, model->programs[i].memory,
                       model->programs[i].memory_size);
            atomic_fetch_sub(&model->vnc->used, model->programs[i].memory_size);
        }
        mem_free((void *)model->programs[i].variables);
    }
    if (model->vnc)
        atomic_fetch_sub(&model->vnc->models, 1);
    mem_free(model->io);
    if (model->neff)
        neff_close(model->neff);
    free(model->bytes);
}

/* ---- Checks -------------------------------------------------------------------------------- */

/* A NEFF runs only on the generation and the logical size it was compiled for; each mismatch has a
 * status of its own and names what to change. */
static NRT_STATUS check_cores(const struct model *model)
{
    const struct neff_info *info = model->info;
    uint32_t version = settings.instance->core->version;
    uint32_t needed = (info->header.core_count + settings.logical_size - 1) / settings.logical_size;
    if (info->programs[0].core_version != version) {
        const struct core_hardware *other = hardware_core(info->programs[0].core_version);
        rt_error(RT_KMGR, "%s was compiled for %s; %s has %s (KYMO_NEURON_INSTANCE selects)",
                 info->header.name, other ? other->name : "other cores", settings.instance->name,
                 settings.instance->core->name);
        return NRT_UNSUPPORTED_NEFF_VERSION;
    }
    if (needed > settings.row.count) {
        rt_error(RT_KMGR, "%s needs %u logical cores; %u are visible", info->header.name, needed,
                 settings.row.count);
        return NRT_LOAD_NOT_ENOUGH_NC;
    }
    if (info->program_count != settings.logical_size) {
        rt_error(RT_KMGR,
                 "%s was compiled for logical cores of %u physical ones; here they have %u "
                 "(NEURON_LOGICAL_NC_CONFIG)",
                 info->header.name, info->program_count, settings.logical_size);
        return NRT_INVALID;
    }
    return NRT_SUCCESS;
}

/* The sizes of a collective between all ranks imply the number of ranks. */
static bool fits_ranks(const struct collective *item, uint64_t ranks)
{
    uint64_t whole;
    if (item->group_count > 0 || item->kind == COLLECTIVE_ALL_TO_ALL_V)
        return true; /* as the NEFF was checked */
    if (item->kind == COLLECTIVE_ALL_GATHER)
        return !__builtin_mul_overflow(item->input_bytes, ranks, &whole) &&
               whole == item->output_bytes;
    if (item->kind == COLLECTIVE_REDUCE_SCATTER)
        return !__builtin_mul_overflow(item->output_bytes, ranks, &whole) &&
               whole == item->input_bytes;
    return item->input_bytes == item->output_bytes &&
           (item->kind != COLLECTIVE_ALL_TO_ALL ||
            item->input_bytes / dtype_bytes((enum dtype)item->dtype) % ranks == 0);
}

static NRT_STATUS check_ranks(const struct model *model)
{
    for (uint32_t p = 0; p < model->info->program_count; p++)
        for (uint32_t i = 0; i < model->info->programs[p].collective_count; i++)
            if (model->rank_count > 1 &&
                !fits_ranks(&model->info->programs[p].collectives[i], model->rank_count)) {
                rt_error(RT_KMGR, "%s: collective %u is not one of %u ranks",
                         model->info->header.name, i, model->rank_count);
                return NRT_INVALID;
            }
    if (model->info->worker_count > model->rank_count) {
        rt_error(RT_KMGR, "%s has collectives of %u ranks; it was loaded for %u",
                 model->info->header.name, model->info->worker_count, model->rank_count);
        return NRT_INVALID;
    }
    return NRT_SUCCESS;
}

/* Copies the bytes: the caller may free them after nrt_load, and the parsed NEFF points into them.
 * On failure model_destroy frees what is there. */
static NRT_STATUS parse(struct model *model, const void *bytes, size_t size)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    model->bytes = malloc(size);
    if (!model->bytes)
        return NRT_RESOURCE;
    memcpy(model->bytes, bytes, size);
    model->size = size;
    if (!settings.validate_hash || neff_check_hash(model->bytes, size, "NEFF", &err))
        model->neff = neff_parse(model->bytes, size, "NEFF", &err);
    if (!model->neff) {
        rt_error(RT_KMGR, "%s", error_line(&err, line));
        return NRT_INVALID;
    }
    model->info = neff_info(model->neff);
    if (!neff_is_runnable(model->neff, &err)) {
        rt_error(RT_KMGR, "%s", error_line(&err, line));
        return NRT_UNSUPPORTED_NEFF_VERSION;
    }
    for (int i = 0; i < 8; i++)
        model->hash = model->hash << 8 | model->info->header.uuid[i];
    NRT_STATUS status = check_cores(model);
    return status == NRT_SUCCESS ? check_ranks(model) : status;
}

/* ---- Memory -------------------------------------------------------------------------------- */

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Weights, then the scratchpad. */
static NRT_STATUS place_program(struct model *model, uint32_t index)
{
    const struct core_program *program = &model->info->programs[index];
    size_t size = 0, offset = 0;
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (program->variables[i].kind == VARIABLE_WEIGHT)
            size += aligned(program->variables[i].size);
    size_t scratchpad = size;
    size += program->scratchpad_bytes;
    uint8_t **variables = mem_zeroed(program->variable_count + 1, sizeof *variables);
    model->programs[index].variables = variables;
    if (size == 0)
        return NRT_SUCCESS;
    uint8_t *memory = stack_allocate(model->vnc->stack, size);
    if (!memory) {
        rt_error(RT_KMGR, "%s needs %zu bytes of device memory: %zu of %zu are used",
                 model->info->header.name, size, (size_t)model->vnc->used,
                 stack_size(model->vnc->stack));
        return NRT_RESOURCE;
    }
    atomic_fetch_add(&model->vnc->used, size);
    model->programs[index].memory = memory;
    model->programs[index].memory_size = size;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        if (variable->kind == VARIABLE_WEIGHT) {
            variables[i] = memory + offset;
            if (settings.compute && variable->size > 0)
                memcpy(variables[i], variable->data, variable->size);
            offset += aligned(variable->size);
        } else if (variable->kind == VARIABLE_VIRTUAL) {
            variables[i] = memory + scratchpad + variable->backing_offset;
        }
    }
    return NRT_SUCCESS;
}

/* ---- Inputs and outputs -------------------------------------------------------------------- */

static struct model_io *find_io(struct model *model, const char *name, bool is_output)
{
    for (uint32_t i = 0; i < model->io_count; i++)
        if (model->io[i].is_output == is_output && strcmp(model->io[i].variable->name, name) == 0)
            return &model->io[i];
    return NULL;
}

static void list_io(struct model *model, bool is_output)
{
    for (uint32_t p = 0; p < model->info->program_count; p++) {
        const struct core_program *program = &model->info->programs[p];
        for (uint32_t i = 0; i < program->variable_count; i++) {
            const struct variable *variable = &program->variables[i];
            if (variable->kind != (is_output ? VARIABLE_OUTPUT : VARIABLE_INPUT))
                continue;
            struct model_io *io = find_io(model, variable->name, is_output);
            if (!io) {
                model->io = mem_resize(model->io, model->io_count + 1, sizeof *model->io);
                io = &model->io[model->io_count++];
                *io = (struct model_io){
                    .variable = variable, .is_output = is_output, .index = {NO_INDEX, NO_INDEX}};
            }
            io->index[p] = i;
        }
    }
}

/* ---- Load ---------------------------------------------------------------------------------- */

/* A core without a model, or the one with fewest. */
static struct vnc *choose_vnc(int32_t index)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    struct vnc *chosen = vnc_at(index);
    if (index == -1) {
        chosen = &vncs[0];
        for (uint32_t i = 1; i < settings.row.count; i++)
            if (vncs[i].models < chosen->models)
                chosen = &vncs[i];
    }
    if (chosen)
        atomic_fetch_add(&chosen->models, 1);
    pthread_mutex_unlock(&lock);
    return chosen;
}

struct load {
    const void *bytes;
    size_t size;
    int32_t vnc, vnc_count;
    uint32_t rank, rank_count;
    bool collectives;
};

static NRT_STATUS load(const struct load *load, struct model *model)
{
    model->rank = load->rank;
    model->rank_count = load->rank_count;
    NRT_STATUS status = parse(model, load->bytes, load->size);
    if (status != NRT_SUCCESS)
        return status;
    model->vnc = choose_vnc(load->vnc);
    if (!model->vnc)
        return NRT_INVALID;
    list_io(model, false);
    model->input_count = model->io_count;
    list_io(model, true);
    for (uint32_t i = 0; status == NRT_SUCCESS && i < model->info->program_count; i++)
        status = place_program(model, i);
    return status == NRT_SUCCESS ? rank_join(load->rank, load->rank_count) : status;
}

/* Any thread. The start and stop events also enclose a load that fails; the handle is published
 * last, so that nobody sees half a model. */
static NRT_STATUS load_call(const struct load *call, nrt_model_t **result)
{
    enum runtime_event type = call->collectives ? EVENT_nrt_load_collectives : EVENT_nrt_load;
    if (!call->bytes || call->size == 0 || !result || call->rank >= call->rank_count)
        return NRT_INVALID;
    if ((call->vnc != -1 && !vnc_at(call->vnc)) || call->vnc_count < -1 || call->vnc_count > 1)
        return NRT_INVALID;
    uint32_t core = call->vnc == -1 ? TRACE_NO_CORE : (uint32_t)call->vnc;
    uint64_t id = trace_next_id();
    trace_event(type, core, TRACE_START, id, kymo_uint("size", call->size),
                kymo_int("vnc", call->vnc), kymo_uint("rank_id", call->rank));
    struct model *model = object_new(OBJECT_MODEL, sizeof *model, model_destroy);
    model->id = atomic_fetch_add(&next_id, 1);
    NRT_STATUS status = load(call, model);
    trace_event(type, core, TRACE_STOP, id, kymo_uint("model_id", model->id),
                kymo_text("model_name", model->info ? model->info->header.name : ""));
    if (status == NRT_SUCCESS) {
        rt_info(RT_KMGR, "%s is model %u on core %u", model->info->header.name, model->id,
                model->vnc->index);
        *result = object_publish(&model->object);
    } else {
        object_put(&model->object);
    }
    return status;
}

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model)
{
    const struct load call = {
        .bytes = neff_bytes, .size = size, .vnc = vnc, .vnc_count = vnc_count, .rank_count = 1};
    IN_RUNTIME(load_call(&call, model));
}

NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                                uint32_t ctx_device_id, uint32_t ctx_device_count,
                                nrt_model_t **model)
{
    const struct load call = {.bytes = neff_bytes,
                              .size = size,
                              .vnc = vnc,
                              .vnc_count = vnc_count,
                              .rank = ctx_device_id,
                              .rank_count = ctx_device_count,
                              .collectives = true};
    IN_RUNTIME(load_call(&call, model));
}

static NRT_STATUS unload(nrt_model_t *handle)
{
    struct model *model = object_retire(handle, OBJECT_MODEL);
    if (!model)
        return NRT_INVALID_HANDLE;
    uint32_t core = model->vnc->index;
    uint64_t id = trace_next_id();
    trace_event(EVENT_nrt_unload, core, TRACE_START, id, kymo_uint("model_id", model->id));
    queue_drain(&model->vnc->queues[QUEUE_COMPUTE]);
    object_put(&model->object);
    trace_event(EVENT_nrt_unload, core, TRACE_STOP, id);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
    WAIT_IN_RUNTIME(unload(model));
}
