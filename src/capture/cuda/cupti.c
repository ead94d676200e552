/*
 * Finds CUPTI: the one the program has loaded, or else the one beside the CUDA libraries it has
 * loaded (pip packages and toolkits), or that of the system.
 */
#include "capture/cuda/cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Newest first. */
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
/* From the folder of a CUDA library to that of CUPTI. */
static const char *const beside[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64",
                                     "/../../../extras/CUPTI/lib64"};

enum { SONAMES = sizeof sonames / sizeof *sonames, PLACES = sizeof beside / sizeof *beside };

static void *open_in(const char *directory)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < SONAMES; i++)
        if (snprintf(path, sizeof path, "%s/%s", directory, sonames[i]) < PATH_MAX &&
            access(path, R_OK) == 0)
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return NULL;
}

static bool is_of_cuda(const char *path)
{
    static const char *const names[] = {"/libcudart.so", "/libcublas.so", "/libnvrtc.so",
                                        "/libcupti.so",  "/libcudnn.so",  "/libcublasLt.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(path, names[i]))
            return true;
    return false;
}

static int look_beside(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    char directory[PATH_MAX];
    if (!info->dlpi_name || !is_of_cuda(info->dlpi_name))
        return 0;
    size_t length = (size_t)(strrchr(info->dlpi_name, '/') - info->dlpi_name);
    for (size_t i = 0; i < PLACES; i++)
        if (snprintf(directory, sizeof directory, "%.*s%s", (int)length, info->dlpi_name,
                     beside[i]) < PATH_MAX)
            snprintf((*(char (*)[PLACES][PATH_MAX])found)[i], PATH_MAX, "%s", directory);
    return 1;
}

/* The loader's lock is not held while a library is opened: places are noted first. */
static void *open_beside(void)
{
    void *library = NULL;
    char (*places)[PATH_MAX] = calloc(PLACES, sizeof *places);
    if (places && dl_iterate_phdr(look_beside, places))
        for (size_t i = 0; i < PLACES && !library; i++)
            library = open_in(places[i]);
    free(places);
    return library;
}

static void *open_library(void)
{
    const char *named = secure_getenv("KYMO_CUPTI");
    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; i < SONAMES && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library)
        library = open_beside();
    for (size_t i = 0; i < SONAMES && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_in("/usr/local/cuda/extras/CUPTI/lib64");
    return library;
}

bool cupti_load(struct cupti *cupti, char problem[static 256])
{
    void *library = open_library();
    if (!library) {
        const char *why = dlerror();
        snprintf(problem, 256, "libcupti not found: %s", why ? why : "set KYMO_CUPTI to its path");
        return false;
    }
    const char *missing = NULL;
#define OPTIONAL(name, parameters)                                                                 \
    cupti->name = (uint32_t(*) parameters)dlsym(library, "cupti" #name);
#define FUNCTION(name, parameters)                                                                 \
    OPTIONAL(name, parameters)                                                                     \
    missing = cupti->name ? missing : "cupti" #name;
    CUPTI_FUNCTIONS(FUNCTION, OPTIONAL)
#undef FUNCTION
#undef OPTIONAL
    if (missing)
        snprintf(problem, 256, "libcupti lacks %s", missing);
    return !missing;
}

const char *cupti_result(const struct cupti *cupti, uint32_t result)
{
    const char *text = NULL;
    cupti->GetResultString(result, &text);
    return text ? text : "unknown error";
}
