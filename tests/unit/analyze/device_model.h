/*
 * Shared by the tests of device profiles: the profile of a program built by hand, with
 * notifications made by hand or by the simulated core.
 */
#ifndef KYMO_UNIT_DEVICE_MODEL_H
#define KYMO_UNIT_DEVICE_MODEL_H

#include "analyze/device/device.h"

#include "../neuron/neuroncore_model.h"

struct device_files {
    uint8_t *neff; /* bytes: the open NEFF points to them */
    size_t neff_size;
    char ntff[300];
};

static inline void device_encode(struct device_files *files, const struct scratch *scratch,
                                 const struct core_program *program)
{
    struct error err;
    const struct neff_source source = {.name = "by hand",
                                       .programs = program,
                                       .program_count = 1,
                                       .worker_count = program->collective_count ? 2 : 1};
    if (!neff_encode(&source, &files->neff, &files->neff_size, &err))
        fail_msg("%s", err.text);
    snprintf(files->ntff, sizeof files->ntff, "%s/profile.ntff", scratch->path);
}

/* Begins a profile of the program: ntff_begin and so on are the caller's. */
static inline struct ntff_writer *device_write(const struct device_files *files, uint32_t version)
{
    struct error err;
    struct neff *neff = neff_parse(files->neff, files->neff_size, "by hand", &err);
    if (!neff)
        fail_msg("%s", err.text);
    struct ntff_header header = {.neff_name = "by hand",
                                 .instance_type = "trn2.48xlarge",
                                 .core_version = version,
                                 .rank_count = 1,
                                 .ticks_per_us = hardware_ticks_per_us(hardware_core(version)),
                                 .is_simulation = true,
                                 .dge_notifications = true};
    memcpy(header.neff_uuid, neff_info(neff)->header.uuid, sizeof header.neff_uuid);
    neff_close(neff);
    struct ntff_writer *writer = ntff_create(files->ntff, &header, &err);
    if (!writer)
        fail_msg("%s", err.text);
    return writer;
}

static inline void device_write_execution(struct ntff_writer *writer, uint32_t index,
                                          const struct notification *items, size_t count,
                                          uint64_t start_ticks, uint64_t end_ticks)
{
    ntff_begin(writer, index);
    ntff_push(writer, items, count);
    ntff_end(writer, &(struct ntff_execution){
                         .index = index, .start_ticks = start_ticks, .end_ticks = end_ticks});
}

static inline void device_write_end(struct ntff_writer *writer)
{
    struct error err;
    if (!ntff_finish(writer, &err))
        fail_msg("%s", err.text);
}

static inline struct device_profile *device_joined(const struct device_files *files)
{
    struct error err;
    struct neff *neff = neff_parse(files->neff, files->neff_size, "by hand", &err);
    assert_non_null(neff);
    struct ntff *ntff = ntff_open(files->ntff, &err);
    if (!ntff)
        fail_msg("%s", err.text);
    struct device_profile *profile = device_join(neff, ntff, &err);
    if (!profile)
        fail_msg("%s", err.text);
    return profile;
}

/* A profile of one execution of these notifications. Free with device_model_free. */
struct device_model {
    struct device_files files;
    struct device_profile *profile;
    struct device_execution execution;
};

static inline void device_model_read(struct device_model *model, uint32_t number)
{
    device_execution_free(&model->execution);
    device_read_execution(model->profile, number, NULL, &model->execution);
}

static inline void device_model_make(struct device_model *model, const struct scratch *scratch,
                                     const struct core_program *program,
                                     const struct notification *items, size_t count)
{
    *model = (struct device_model){0};
    device_encode(&model->files, scratch, program);
    struct ntff_writer *writer = device_write(&model->files, program->core_version);
    device_write_execution(writer, 0, items, count, 1000, 1000000);
    device_write_end(writer);
    model->profile = device_joined(&model->files);
    assert_int_equal(device_execution_count(model->profile), 1);
    device_model_read(model, 0);
}

static inline void device_model_free(struct device_model *model)
{
    device_execution_free(&model->execution);
    device_close(model->profile);
    mem_free(model->files.neff);
}

/* Of the second generation, in which 5,600 ticks are a microsecond; 28 ticks are 5 ns. */
static inline struct notification traced(enum engine engine, enum notification_phase phase,
                                         uint64_t time, uint32_t pc)
{
    return (struct notification){.type = NOTIFICATION_TRACE,
                                 .phase = (uint8_t)phase,
                                 .unit = (uint8_t)engine,
                                 .time = time,
                                 .id = pc};
}

#endif
