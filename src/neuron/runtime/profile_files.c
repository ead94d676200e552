/*
 * Names, headers and directories of device profiles. What failed has been logged when a function
 * returns.
 */
#include "neuron/runtime/profile_files.h"

#include "base/base.h"
#include "base/directory.h"
#include "capture/neuron/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void instance_id(char id[static 64])
{
    const char *given = secure_getenv("KYMO_INSTANCE_ID");
    if (given && *given)
        snprintf(id, 64, "%s", given);
    else if (gethostname(id, 64) != 0)
        id[0] = '\0';
    id[63] = '\0';
}

static void fill_header(struct ntff_header *header, const struct model *model, uint32_t core)
{
    const struct vnc *vnc = model->vnc;
    *header = (struct ntff_header){.core_version = settings.instance->core->version,
                                   .device_index = vnc->chip,
                                   .core_index = vnc->core_in_chip + core,
                                   .logical_core = vnc->index,
                                   .core_in_logical = core,
                                   .rank = model->rank,
                                   .rank_count = model->rank_count,
                                   .ticks_per_us = hardware_ticks_per_us(settings.instance->core),
                                   .process_id = (uint32_t)getpid(),
                                   .is_simulation = true,
                                   .computed = settings.compute,
                                   .dge_notifications = settings.dge_notifications};
    memcpy(header->neff_uuid, model->info->header.uuid, sizeof header->neff_uuid);
    snprintf(header->neff_name, sizeof header->neff_name, "%s", model->info->header.name);
    snprintf(header->instance_type, sizeof header->instance_type, "%s", settings.instance->name);
    instance_id(header->instance_id);
}

/* "profile.ntff"; of the second physical core "profile_core_1.ntff". */
static void path_of_core(char *to, size_t size, const char *path, uint32_t core)
{
    size_t stem = strlen(path);
    const char *end = strrchr(path, '.');
    if (end && !strchr(end, '/'))
        stem = (size_t)(end - path);
    if (core == 0)
        snprintf(to, size, "%s", path);
    else
        snprintf(to, size, "%.*s_core_%u%s", (int)stem, path, core, path + stem);
}

struct ntff_writer *profile_file_create(const char *path, const struct model *model, uint32_t core)
{
    struct ntff_header header;
    struct error err;
    char own[PATH_MAX + 16], line[ERROR_LINE_SIZE];
    fill_header(&header, model, core);
    path_of_core(own, sizeof own, path, core);
    struct ntff_writer *writer = ntff_create(own, &header, &err);
    if (!writer)
        rt_error(RT_NRT, "%s", error_line(&err, line));
    return writer;
}

NRT_STATUS profile_file_finish(struct ntff_writer *writer)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    if (!writer || ntff_finish(writer, &err))
        return NRT_SUCCESS;
    rt_error(RT_NRT, "%s", error_line(&err, line));
    return NRT_FAILURE;
}

NRT_STATUS profile_files_finish(struct writers *writers)
{
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; i < LOGICAL_MAX; i++) {
        NRT_STATUS result = profile_file_finish(writers->of[i]);
        status = status == NRT_SUCCESS ? result : status;
        writers->of[i] = NULL;
    }
    writers->executions = 0;
    return status;
}

void profile_save_neff(const char *directory, const struct model *model, const char *suffix)
{
    char path[PATH_MAX + 64];
    uint64_t id = trace_next_id();
    trace_event(EVENT_nrt_profile_add_node_info, model->vnc->index, TRACE_START, id,
                kymo_uint("model_id", model->id));
    snprintf(path, sizeof path, "%s/neff_%llu%s.neff", directory, (unsigned long long)model->hash,
             suffix);
    FILE *file = fopen(path, "wbxe");
    if (!file) {
        if (errno != EEXIST)
            rt_error(RT_NRT, "cannot write %s: %s", path, strerror(errno));
    } else {
        bool ok = fwrite(model->bytes, 1, model->size, file) == model->size;
        if (fclose(file) != 0 || !ok)
            rt_error(RT_NRT, "cannot write %s: %s", path, strerror(errno));
    }
    trace_event(EVENT_nrt_profile_add_node_info, model->vnc->index, TRACE_STOP, id);
}

void profile_choose_path(char *path, size_t size, const char *directory, const struct model *model)
{
    for (unsigned i = 0; i < 100000; i++) {
        snprintf(path, size, "%s/%llu_instid_%u_vnc_%u.ntff", directory,
                 (unsigned long long)model->hash, i, model->vnc->index);
        if (access(path, F_OK) != 0)
            return;
    }
}

bool profile_make_directory(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int problem = directory_make_each(copy, NULL);
    if (problem != 0)
        rt_error(RT_NRT, "cannot create %s: %s", path, strerror(problem));
    return problem == 0;
}

bool profile_session_directory(char path[static PATH_MAX])
{
    size_t length = kymo_session_dir(path, PATH_MAX);
    if (length > 0)
        return length < PATH_MAX;
    const char *output = secure_getenv("NEURON_RT_INSPECT_OUTPUT_DIR");
    char instance[64];
    instance_id(instance);
    output = output && *output ? output : "./output";
    int written = snprintf(path, PATH_MAX, "%s/%s_pid_%d", output, instance, (int)getpid());
    return written < PATH_MAX && profile_make_directory(path);
}
