/*
 * Device profiles: of a model between nrt_profile_start and stop, of the executions a session asks
 * for, and of the last execution of each core, kept in memory until it is saved.
 */
#include "neuron/runtime/profile.h"

#include "base/base.h"
#include "capture/neuron/trace.h"
#include "neuron/runtime/api/device.h"
#include "neuron/runtime/profile_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recording {        /* an execution in memory */
    struct object *model; /* a reference */
    struct ntff_header header;
    ARRAY(struct notification) items;
    struct ntff_execution execution;
    bool is_complete;
};

struct sink {
    struct ntff_writer *writer; /* or else */
    struct recording *recording;
    bool is_single; /* the file ends with the execution */
    bool only_failed;
    struct writers *session; /* whose writer it is, or NULL */
    struct model *model;
    uint32_t core;
};

struct profiled { /* by nrt_profile_start */
    struct profiled *next;
    struct model *model; /* a reference */
    char *path;
    struct writers writers;
    bool is_stopped;
};
static struct profiled *profiled;
static struct writers session_writers[CORES_MAX];
static bool is_continuous;
static struct recording recordings[CORES_MAX][LOGICAL_MAX];

/* ---- Recordings in memory ------------------------------------------------------------------ */

static void recording_clear(struct recording *recording)
{
    array_free(&recording->items);
    object_put(recording->model);
    *recording = (struct recording){0};
}

static NRT_STATUS recording_save(const struct recording *recording, const char *path, uint32_t core)
{
    const struct model *model = (const struct model *)recording->model;
    struct ntff_writer *writer = profile_file_create(path, model, core);
    if (!writer)
        return NRT_FAILURE;
    ntff_begin(writer, recording->execution.index);
    ntff_push(writer, recording->items.items, recording->items.count);
    ntff_end(writer, &recording->execution);
    return profile_file_finish(writer);
}

/* With the lock held: the files of a logical core. */
static NRT_STATUS save_core(uint32_t vnc, const char *directory)
{
    char path[PATH_MAX + 64];
    const struct recording *first = &recordings[vnc][0];
    if (!first->is_complete)
        return NRT_FAILURE;
    if (!profile_make_directory(directory))
        return NRT_FAILURE;
    const struct model *model = (const struct model *)first->model;
    profile_choose_path(path, sizeof path, directory, model);
    profile_save_neff(directory, model, "");
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; i < LOGICAL_MAX && status == NRT_SUCCESS; i++)
        if (recordings[vnc][i].is_complete)
            status = recording_save(&recordings[vnc][i], path, i);
    return status;
}

static struct recording *recording_begin(struct model *model, uint32_t core)
{
    struct recording *recording = &recordings[model->vnc->index][core];
    recording->items.count = 0;
    recording->is_complete = false;
    object_reference(&model->object);
    object_put(recording->model);
    recording->model = &model->object;
    return recording;
}

/* ---- Sinks --------------------------------------------------------------------------------- */

/* With the lock held: a file of its own for the first execution of a model. */
static struct ntff_writer *open_single(const struct model *model, uint32_t core,
                                       const char *directory)
{
    char path[PATH_MAX + 64];
    profile_choose_path(path, sizeof path, directory, model);
    if (core == 0)
        profile_save_neff(directory, model, "");
    return profile_file_create(path, model, core);
}

static void use_neff(struct ntff_writer *writer, const struct model *model)
{
    struct ntff_neff neff = {0};
    memcpy(neff.uuid, model->info->header.uuid, sizeof neff.uuid);
    snprintf(neff.name, sizeof neff.name, "%s", model->info->header.name);
    ntff_use_neff(writer, &neff);
}

/* With the lock held: the file of the core's session; NULL when that is ending. */
static struct ntff_writer *open_session(struct writers *writers, const struct model *model,
                                        uint32_t core, const char *directory, uint32_t *execution)
{
    char path[PATH_MAX + 64], suffix[32];
    if (writers->is_over)
        return NULL;
    snprintf(suffix, sizeof suffix, "_vnc_%u", model->vnc->index);
    if (core == 0)
        profile_save_neff(directory, model, suffix);
    if (!writers->of[core]) {
        snprintf(path, sizeof path, "%s/profile_nc_%u_session_%d.ntff", directory,
                 model->vnc->index, inspect_session_id());
        writers->of[core] = profile_file_create(path, model, core);
    }
    if (core == 0)
        writers->executions++;
    *execution = writers->executions;
    if (writers->of[core])
        use_neff(writers->of[core], model);
    return writers->of[core];
}

/* With the lock held: the files of a session, from the beginning when it is another than before. */
static struct writers *writers_of(uint64_t capture, const struct vnc *vnc)
{
    struct writers *writers = &session_writers[vnc->index];
    if (writers->capture != capture) {
        profile_files_finish(writers);
        writers->capture = capture;
        writers->is_over = false;
    }
    return writers;
}

/* With the lock held: the execution that is the model's first in the session, on all its cores. */
static bool is_first(struct model *model, uint64_t capture, uint32_t execution)
{
    if (model->first.capture != capture) {
        model->first.capture = capture;
        model->first.execution = execution;
    }
    return model->first.execution == execution;
}

/* With the lock held. */
static bool choose(struct sink *sink, uint32_t *execution)
{
    char directory[PATH_MAX];
    uint64_t capture;
    struct model *model = sink->model;
    for (const struct profiled *item = profiled; item; item = item->next)
        if (item->model == model && !item->is_stopped) {
            sink->writer = item->writers.of[sink->core];
            return sink->writer;
        }
    enum kymo_devices wanted = kymo_wanted_devices(&capture, directory, sizeof directory);
    if (wanted == KYMO_DEVICES_MODEL && is_first(model, capture, *execution)) {
        sink->is_single = true;
        if (profile_make_directory(directory))
            sink->writer = open_single(model, sink->core, directory);
        return sink->writer;
    }
    if (wanted == KYMO_DEVICES_SESSION) {
        struct writers *writers = writers_of(capture, model->vnc);
        if (profile_make_directory(directory))
            sink->writer = open_session(writers, model, sink->core, directory, execution);
        sink->session = sink->writer ? writers : NULL;
        writers->open += sink->session != NULL;
        return sink->writer;
    }
    sink->only_failed = !is_continuous;
    if (!is_continuous && !inspect_on_fail())
        return false;
    sink->recording = recording_begin(model, sink->core);
    return true;
}

struct sink *sink_open(struct model *model, uint32_t core, uint32_t *execution)
{
    struct sink *sink = mem_zeroed(1, sizeof *sink);
    sink->model = model;
    sink->core = core;
    pthread_mutex_lock(&profiles_lock);
    bool is_wanted = choose(sink, execution);
    if (is_wanted && sink->writer)
        ntff_begin(sink->writer, *execution);
    pthread_mutex_unlock(&profiles_lock);
    if (!is_wanted) {
        mem_free(sink);
        return NULL;
    }
    return sink;
}

void sink_notify(void *context, const struct notification *items, size_t count)
{
    struct sink *sink = context;
    if (sink->writer) {
        ntff_push(sink->writer, items, count);
        return;
    }
    struct recording *recording = sink->recording;
    array_reserve(&recording->items, recording->items.count + count);
    memcpy(recording->items.items + recording->items.count, items, count * sizeof *items);
    recording->items.count += count;
}

void sink_close(struct sink *sink, const struct ntff_execution *execution)
{
    char directory[PATH_MAX];
    pthread_mutex_lock(&profiles_lock);
    if (sink->writer) {
        ntff_end(sink->writer, execution);
        if (sink->is_single)
            profile_file_finish(sink->writer);
        if (sink->session && --sink->session->open == 0 && sink->session->is_over)
            profile_files_finish(sink->session);
    } else {
        sink->recording->execution = *execution;
        sink->recording->is_complete = true;
        bool is_last = sink->core + 1 == sink->model->info->program_count;
        if (sink->only_failed && is_last && execution->status != NRT_SUCCESS &&
            profile_session_directory(directory))
            save_core(sink->model->vnc->index, directory);
    }
    pthread_mutex_unlock(&profiles_lock);
    mem_free(sink);
}

/* ---- nrt_profile.h ------------------------------------------------------------------------- */

/* With the lock held: finishes its files. */
static NRT_STATUS profiled_free(struct profiled *item)
{
    struct profiled **link = &profiled;
    while (*link && *link != item)
        link = &(*link)->next;
    if (*link)
        *link = item->next;
    NRT_STATUS status = profile_files_finish(&item->writers);
    object_put(&item->model->object);
    mem_free(item->path);
    mem_free(item);
    return status;
}

/* With the lock held. */
static NRT_STATUS profiled_add(struct model *model, const char *filename)
{
    for (const struct profiled *item = profiled; item; item = item->next)
        if (item->model == model) {
            rt_error(RT_NRT, "%s is already profiled, to %s", model->info->header.name, item->path);
            return NRT_FAILURE;
        }
    struct profiled *item = mem_zeroed(1, sizeof *item);
    object_reference(&model->object);
    item->model = model;
    item->path = mem_copy_text(filename, strlen(filename));
    bool ok = true;
    for (uint32_t i = 0; i < model->info->program_count && ok; i++) {
        item->writers.of[i] = profile_file_create(filename, model, i);
        ok = item->writers.of[i];
    }
    item->next = profiled;
    profiled = item;
    if (!ok)
        profiled_free(item);
    return ok ? NRT_SUCCESS : NRT_FAILURE;
}

static NRT_STATUS start_in_runtime(nrt_model_t *handle, const char *filename)
{
    struct model *model = model_get(handle);
    if (!model)
        return NRT_INVALID_HANDLE;
    NRT_STATUS status = NRT_INVALID;
    if (strlen(filename) < PATH_MAX) {
        pthread_mutex_lock(&profiles_lock);
        status = profiled_add(model, filename);
        pthread_mutex_unlock(&profiles_lock);
    }
    object_put(&model->object);
    return status;
}

static NRT_STATUS start(nrt_model_t *model, const char *filename)
{
    IN_RUNTIME(start_in_runtime(model, filename));
}

/* Executions that are under way end first: they write to the file. */
static NRT_STATUS stop_in_runtime(const char *filename)
{
    pthread_mutex_lock(&profiles_lock);
    struct profiled *item = profiled;
    while (item && (item->is_stopped || strcmp(item->path, filename) != 0))
        item = item->next;
    if (item)
        item->is_stopped = true;
    pthread_mutex_unlock(&profiles_lock);
    if (!item)
        return NRT_INVALID;
    queue_drain(&item->model->vnc->queues[QUEUE_COMPUTE]);
    pthread_mutex_lock(&profiles_lock);
    NRT_STATUS status = profiled_free(item);
    pthread_mutex_unlock(&profiles_lock);
    return status;
}

/* After nrt_close the file is finished. */
static NRT_STATUS stop(const char *filename)
{
    IN_RUNTIME(stop_in_runtime(filename));
}

static NRT_STATUS set_continuous(bool on)
{
    pthread_mutex_lock(&profiles_lock);
    is_continuous = on;
    pthread_mutex_unlock(&profiles_lock);
    return NRT_SUCCESS;
}

static NRT_STATUS continuous_start(void)
{
    IN_RUNTIME(set_continuous(true));
}

static NRT_STATUS continuous_stop(void)
{
    set_continuous(false);
    return NRT_SUCCESS;
}

static NRT_STATUS save_in_runtime(uint32_t vnc, const char *output_dir)
{
    if (!vnc_at(vnc))
        return NRT_INVALID;
    queue_drain(&vncs[vnc].queues[QUEUE_COMPUTE]);
    pthread_mutex_lock(&profiles_lock);
    NRT_STATUS status = save_core(vnc, output_dir);
    pthread_mutex_unlock(&profiles_lock);
    return status;
}

static NRT_STATUS continuous_save(uint32_t vnc, const char *output_dir)
{
    IN_RUNTIME(save_in_runtime(vnc, output_dir));
}

/* Files that an execution still writes are finished at its end: who ends a capture may hold a lock
 * that the execution's callback waits for, as Python's. */
static void finish_session(void)
{
    pthread_mutex_lock(&profiles_lock);
    for (uint32_t i = 0; i < CORES_MAX; i++) {
        session_writers[i].is_over = true;
        if (session_writers[i].open == 0)
            profile_files_finish(&session_writers[i]);
    }
    pthread_mutex_unlock(&profiles_lock);
}

static void session_end(void)
{
    if (runtime_enter() == NRT_SUCCESS) {
        for (uint32_t i = 0; i < settings.row.count; i++)
            queue_drain(&vncs[i].queues[QUEUE_COMPUTE]);
        runtime_leave();
    }
    finish_session();
}

static const struct device_profiler profiler = {.start = start,
                                                .stop = stop,
                                                .continuous_start = continuous_start,
                                                .continuous_save = continuous_save,
                                                .continuous_stop = continuous_stop,
                                                .session_end = session_end,
                                                .may_wait = runtime_may_wait,
                                                .before_fork = runtime_before_fork,
                                                .after_fork = runtime_after_fork};

__attribute__((constructor)) static void provide_profiler(void)
{
    device_profiler = &profiler;
    kymo_before_stop(finish_session);
}

/* A program that ends without nrt_close leaves whole files as well, unless a core still runs: that
 * file ends with its last block. */
__attribute__((destructor)) static void end_profiles(void)
{
    bool is_idle = !runtime_has_forked();
    for (uint32_t i = 0; is_idle && i < settings.row.count; i++)
        is_idle = queue_is_idle(&vncs[i].queues[QUEUE_COMPUTE]);
    if (is_idle)
        profiles_close();
}

void profiles_close(void)
{
    pthread_mutex_lock(&profiles_lock);
    while (profiled)
        profiled_free(profiled);
    for (uint32_t i = 0; i < CORES_MAX; i++) {
        profile_files_finish(&session_writers[i]);
        for (uint32_t core = 0; core < LOGICAL_MAX; core++)
            recording_clear(&recordings[i][core]);
    }
    pthread_mutex_unlock(&profiles_lock);
}
