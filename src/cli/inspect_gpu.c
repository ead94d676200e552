/*
 * The driver loads libkymo-cuda into the command, which finds its options in variables. All of them
 * are checked before the command runs.
 */
#include "cli/inspect_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CUDA_VARIABLE "CUDA_INJECTION64_PATH"
#define NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define PREFIX        "KYMO_GPU_"

static const char *const devices[] = {"auto", "cuda", "none", NULL};

/* The first two are options of the command alone; the others mirror gpu_keys, which libkymo-cuda
 * reads from the environment. */
void inspect_gpu_options(struct inspect_gpu *gpu, struct option options[INSPECT_GPU_OPTIONS])
{
    gpu->device = devices[0];
    options[0] = (struct option){"device",
                                 0,
                                 OPTION_CHOICE,
                                 &gpu->device,
                                 "KIND",
                                 "record GPUs: auto (if there is a driver), always (cuda) or "
                                 "never (none) (default: auto)",
                                 devices};
    options[1] = (struct option){"torch-ops",
                                 0,
                                 OPTION_FLAG,
                                 &gpu->torch_operators,
                                 NULL,
                                 "record PyTorch's operators with their input sizes, and assign "
                                 "kernels to them",
                                 NULL};
    for (size_t i = 0; i < GPU_KEYS; i++) {
        const struct gpu_option_key *key = &gpu_keys[i];
        bool is_switch = strcmp(key->argument, "BOOL") == 0;
        options[i + 2] = (struct option){key->flag,
                                         0,
                                         is_switch ? OPTION_CHOICE : OPTION_TEXT,
                                         &gpu->values[i],
                                         key->argument,
                                         key->help,
                                         is_switch ? key->words : NULL};
    }
}

/* ---- Checks -------------------------------------------------------------------------------- */

static size_t count_words(const char *const *words)
{
    size_t count = 0;
    while (words && words[count])
        count++;
    return count;
}

static int wrong(const char *prefix, const char *name, const char *problem)
{
    fprintf(stderr, "%s: %s%s: %s\n", title_of_command("inspect"), prefix, name, problem);
    return EXIT_USAGE;
}

/* A flag, or a variable where the flag is not given. */
static int check_value(struct gpu_options *options, size_t key, const char *flag)
{
    struct error err;
    const char *variable = getenv(gpu_keys[key].variable);
    const char *value = flag ? flag : variable;
    if (!value || (!flag && !*value) || gpu_option_set(options, key, value, &err))
        return EXIT_DONE;
    int result = flag ? wrong("--", gpu_keys[key].flag, err.text)
                      : wrong("", gpu_keys[key].variable, err.text);
    suggest(value, gpu_keys[key].words, count_words(gpu_keys[key].words), "");
    return result;
}

static bool is_variable(const char *entry)
{
    for (size_t i = 0; i < GPU_KEYS; i++) {
        size_t size = strlen(gpu_keys[i].variable);
        if (strncmp(entry, gpu_keys[i].variable, size) == 0 && entry[size] == '=')
            return true;
    }
    return false;
}

/* A misspelled variable would be ignored. */
static int check_variables(void)
{
    for (char **entry = environ; *entry; entry++) {
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 || is_variable(*entry))
            continue;
        char name[128];
        const char *known[GPU_KEYS];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        for (size_t i = 0; i < GPU_KEYS; i++)
            known[i] = gpu_keys[i].variable;
        wrong("", name, "unknown variable");
        suggest(name, known, GPU_KEYS, "");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int inspect_gpu_check(const struct inspect_gpu *gpu)
{
    struct gpu_options options = GPU_OPTIONS;
    struct error err;
    int result = check_variables();
    for (size_t i = 0; result == EXIT_DONE && i < GPU_KEYS; i++) {
        result = check_value(&options, i, gpu->values[i]);
        if (result == EXIT_DONE && gpu->values[i] && strcmp(gpu->device, "none") == 0)
            result = wrong("--", gpu_keys[i].flag, "GPUs are not recorded with --device none");
    }
    if (result == EXIT_DONE && gpu->torch_operators && strcmp(gpu->device, "none") == 0)
        result = wrong("--", "torch-ops", "GPUs are not recorded with --device none");
    if (result == EXIT_DONE && gpu->torch_operators && !options.nvtx)
        result = wrong("--", "torch-ops", "operators are NVTX ranges, which are not recorded");
    if (result == EXIT_DONE && !gpu_options_check(&options, &err)) {
        fprintf(stderr, "%s: %s\n", title_of_command("inspect"), err.text);
        result = EXIT_USAGE;
    }
    return result;
}

/* ---- The environment ----------------------------------------------------------------------- */

static bool has_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        dlclose(library);
    return library != NULL;
}

/* Sets a variable, unless the user has set it to something else. */
static bool inject(const char *variable, const char *path, const char *what, struct error *err)
{
    const char *own = getenv(variable);
    if (own && *own && strcmp(own, path) != 0)
        return error_set(err, "%s is set to %s, which is kept: %s", variable, own, what);
    setenv(variable, path, 1);
    return true;
}

static bool has_flags(const struct inspect_gpu *gpu)
{
    for (size_t i = 0; i < GPU_KEYS; i++)
        if (gpu->values[i])
            return true;
    return gpu->torch_operators;
}

static bool wants_nvtx(const struct inspect_gpu *gpu)
{
    struct gpu_options options = GPU_OPTIONS;
    struct error ignored;
    for (size_t i = 0; i < GPU_KEYS; i++) {
        const char *value = getenv(gpu_keys[i].variable);
        value = gpu->values[i] ? gpu->values[i] : value;
        if (value && *value)
            gpu_option_set(&options, i, value, &ignored);
    }
    return options.nvtx;
}

static bool find_all(const struct inspect_gpu *gpu, const char *library, struct error *err)
{
    if (!has_driver())
        return error_set(err, "GPUs are not recorded: no NVIDIA driver (libcuda.so.1) found");
    if (!library)
        return error_set(err, "GPUs are not recorded: libkymo-cuda.so not found");
    return inject(CUDA_VARIABLE, library, "GPUs are not recorded", err) &&
           (!wants_nvtx(gpu) || inject(NVTX_VARIABLE, library, "NVTX is not recorded", err));
}

/* Python runs the first sitecustomize it finds; ours then runs the user's own. */
static bool inject_into_python(const char *folder, struct error *err)
{
    if (!folder || strchr(folder, ':'))
        return error_set(err, "PyTorch's operators are not recorded: %s",
                         folder ? "the path of kymo/python-start/sitecustomize.py has a colon"
                                : "kymo/python-start/sitecustomize.py not found");
    const char *own = getenv("PYTHONPATH");
    char *path = path_format("%s%s%s", folder, own && *own ? ":" : "", own ? own : "");
    setenv("PYTHONPATH", path, 1);
    setenv("KYMO_TORCH_OPS", "1", 1);
    mem_free(path);
    return true;
}

static bool inject_all(const struct inspect_gpu *gpu, const char *library, const char *python,
                       struct error *err)
{
    return find_all(gpu, library, err) &&
           (!gpu->torch_operators || inject_into_python(python, err));
}

bool inspect_gpu_prepare(const struct inspect_gpu *gpu, const char *library, const char *python,
                         struct error *err)
{
    bool is_needed = strcmp(gpu->device, "cuda") == 0;
    if (strcmp(gpu->device, "none") == 0)
        return true;
    if (!is_needed && !has_flags(gpu) && !has_driver())
        return true;
    if (!inject_all(gpu, library, python, err)) {
        if (is_needed)
            return false;
        log_warn("%s", err->text);
    }
    for (size_t i = 0; i < GPU_KEYS; i++)
        if (gpu->values[i])
            setenv(gpu_keys[i].variable, gpu->values[i], 1);
    return true;
}
