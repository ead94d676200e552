/*
 * The least a profiler can do with CUPTI: a record of every kernel and copy, thrown away. Loaded by
 * CUDA_INJECTION64_PATH; what libkymo-cuda costs is compared with this.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_SIZE = 8 << 20, MEMCPY = 1, MEMSET = 2, KERNEL = 10 };

static void requested(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = aligned_alloc(64, BUFFER_SIZE);
    *size = *buffer ? BUFFER_SIZE : 0;
    *most_records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *path = getenv("KYMO_CUPTI");
    void *library = dlopen(path ? path : "libcupti.so", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "bare_cupti: %s\n", dlerror());
        return 1;
    }
    uint32_t (*callbacks)(void *, void *) =
        (uint32_t (*)(void *, void *))dlsym(library, "cuptiActivityRegisterCallbacks");
    uint32_t (*enable)(uint32_t) = (uint32_t (*)(uint32_t))dlsym(library, "cuptiActivityEnable");
    callbacks((void *)requested, (void *)completed);
    uint32_t failed = enable(KERNEL) | enable(MEMCPY) | enable(MEMSET);
    if (failed)
        fprintf(stderr, "bare_cupti: error %u\n", failed);
    return 1;
}
