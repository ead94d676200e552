/*
 * kymo neff build: compiles a graph or an HLO module.
 */
#include "cli/neff_options.h"

#include "neuron/compiler/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The runtime's cores, by default or from its variable. */
static const char *default_core(void)
{
    const char *instance = getenv("KYMO_NEURON_INSTANCE");
    return instance && instance[0] ? instance : "v2";
}

/* "v3", or an instance type with such cores. */
static const struct core_hardware *find_core(const char *name)
{
    if (name[0] == 'v' && name[1] >= '1' && name[1] <= '9' && name[2] == '\0')
        return hardware_core((uint32_t)(name[1] - '0'));
    const struct instance_hardware *instance = hardware_instance(name);
    return instance ? instance->core : NULL;
}

static void list_cores(const char *given)
{
    fprintf(stderr, "%s neff build: unknown core version '%s'; expected v2, v3, v4", program_name(),
            given);
    const struct instance_hardware *instance;
    for (uint32_t i = 0; (instance = hardware_instance_at(i)); i++)
        fprintf(stderr, "%s %s", hardware_instance_at(i + 1) ? "," : " or", instance->name);
    fputc('\n', stderr);
}

/* The model's path with .neff instead of its ending. */
static char *default_output(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strchr(name + (name[0] == '.'), '.');
    size_t size = dot ? (size_t)(dot - path) : strlen(path);
    return path_format("%.*s.neff", (int)size, path);
}

/* Of all programs. */
static void count_program(const struct compiled *compiled, uint64_t *instructions,
                          uint64_t *transfers)
{
    *instructions = *transfers = 0;
    for (uint32_t k = 0; k < compiled->program_count; k++) {
        *transfers += compiled->programs[k].block_count;
        for (int i = 0; i < ENGINE_COUNT; i++)
            *instructions += compiled->programs[k].code_count[i];
    }
}

/* The file appears when it is complete: output_commit renames it. */
static bool write_neff(const struct compiled *compiled, const char *name, const struct file *model,
                       const char *path, struct error *err)
{
    /* The model goes into the file, so that a profile can show it. */
    const struct neff_member source_member = {compiled->is_hlo ? "model.hlo.pb" : "graph.json",
                                              model->data, model->size};
    const struct neff_source source = {
        .name = compiled->name[0] ? compiled->name : name,
        .programs = compiled->programs,
        .program_count = compiled->program_count,
        .worker_count = compiled->rank_count,
        .compress = true,
        .extra = &source_member,
        .extra_count = 1,
    };
    uint8_t *bytes;
    size_t size;
    struct output out;
    if (!neff_encode(&source, &bytes, &size, err))
        return false;
    bool ok = output_open(&out, path, err);
    if (ok) {
        output_write(&out, (const char *)bytes, size);
        ok = output_commit(&out, err);
    }
    mem_free(bytes);
    uint64_t instructions, transfers;
    count_program(compiled, &instructions, &transfers);
    if (ok)
        log_info("%s: %" PRIu64 " instructions, %" PRIu64 " transfers, %.1f MiB", path,
                 instructions, transfers, (double)size / (1 << 20));
    return ok;
}

/* An existing file is checked for before compiling, which may take long. */
static bool build(const struct neff_options *options, const struct core_hardware *core,
                  const char *path, struct error *err)
{
    struct file model;
    struct compiled compiled;
    if (!options->force && access(path, F_OK) == 0)
        return error_in_file(err, path, "exists; --force overwrites it");
    if (!file_open(&model, options->file, err))
        return false;
    const struct compile_request request = {
        .path = options->file,
        .bytes = model.data,
        .size = model.size,
        .hardware = core,
        .logical_cores = (uint32_t)options->logical_cores,
    };
    bool ok = compile_graph(&compiled, &request, err);
    if (ok) {
        const char *slash = strrchr(options->file, '/');
        ok = write_neff(&compiled, slash ? slash + 1 : options->file, &model, path, err);
        compiled_free(&compiled);
    }
    file_close(&model);
    return ok;
}

int neff_build(const struct neff_options *options)
{
    const char *name = options->core ? options->core : default_core();
    const struct core_hardware *core = find_core(name);
    if (!core) {
        list_cores(name);
        return EXIT_USAGE;
    }
    if (options->logical_cores > COMPILE_MOST_CORES) {
        fprintf(stderr, "%s neff build: --logical-nc-config must be 1 or %d\n", program_name(),
                COMPILE_MOST_CORES);
        return EXIT_USAGE;
    }
    char *path = options->output ? mem_copy_text(options->output, strlen(options->output))
                                 : default_output(options->file);
    struct error err;
    bool ok = build(options, core, path, &err);
    if (!ok)
        print_error(&err);
    mem_free(path);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
