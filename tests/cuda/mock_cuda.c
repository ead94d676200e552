/*
 * A stand-in for NVIDIA's driver, libcuda.so.1: the first cuInit loads the library that
 * CUDA_INJECTION64_PATH names and calls its InitializeInjection, as the driver does.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    static int is_done;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    (void)flags;
    if (is_done || !path)
        return 0;
    is_done = 1;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (!initialize) {
        fprintf(stderr, "mock: %s\n", dlerror());
        return 999;
    }
    return initialize() == 1 ? 0 : 999;
}
