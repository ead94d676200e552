/*
 * Tables of functions and their handing to a tool.
 */
#include "nvtx_client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 17 };
static const unsigned counts[NVTX_MODULES] = {
    [NVTX_CORE] = 16, [NVTX_CUDA] = 9, [NVTX_CUDART] = 7, [NVTX_CORE2] = 16};

static void (*functions[NVTX_MODULES][MOST])(void);
static void (**slots[NVTX_MODULES][MOST])(void);

static int get_functions(uint32_t module, void (****table)(void), unsigned *count)
{
    if (module >= NVTX_MODULES || counts[module] == 0)
        return 0;
    for (unsigned i = 1; i < counts[module]; i++)
        slots[module][i] = &functions[module][i];
    *table = slots[module];
    *count = counts[module];
    return 1;
}

static const void *get_exports(uint32_t id)
{
    static const struct {
        size_t size;
        int (*get)(uint32_t, void (****)(void), unsigned *);
    } callbacks = {sizeof callbacks, get_functions};
    return id == 1 ? &callbacks : NULL;
}

static void load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t)) =
        library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2")
                : NULL;
    if (path && !initialize)
        fprintf(stderr, "nvtx: %s\n", dlerror());
    if (initialize && initialize(get_exports) != 1)
        fprintf(stderr, "nvtx: refused\n");
}

void (*nvtx_function(enum nvtx_module module, unsigned id))(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return functions[module][id];
}

static intptr_t payload_slots[63];

static void load_payload(void)
{
    static struct {
        size_t id, count;
        intptr_t *slots;
    } segment = {0, 63, payload_slots};
    static struct {
        uint16_t version, size, id, compatible;
        size_t segment_count;
        void *segments, *exports;
        const void *information;
    } module = {3, sizeof module, 2, 0x0104, 1, &segment, NULL, NULL};
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(void *) =
        library ? (int (*)(void *))dlsym(library, "InitializeInjectionNvtxExtension") : NULL;
    if (!initialize || initialize(&module) != 1)
        fprintf(stderr, "nvtx: no payloads\n");
}

intptr_t nvtx_payload_function(unsigned id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    nvtx_function(NVTX_CORE, 1);
    pthread_once(&once, load_payload);
    return payload_slots[id];
}
