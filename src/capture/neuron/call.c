/*
 * Resolves the runtime's functions.
 */
#include "capture/neuron/call.h"

#include <dlfcn.h>
#include <errno.h>
#include <nrt/nrt_version.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A runtime loaded with RTLD_LOCAL is not found by RTLD_NEXT; look it up by its name. */
static void *find_in_library(const char *name)
{
    void *library = dlopen("libnrt.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library); /* still loaded by its user */
    return found;
}

void *call_look_up(const char *name)
{
    void *real = dlsym(RTLD_NEXT, name);
    return real ? real : find_in_library(name);
}

bool call_is_to_own_runtime(void)
{
    static const char own[] = "Kymo ";
    static enum { UNKNOWN, OTHER, OWN } which;
    if (__builtin_expect(__atomic_load_n(&which, __ATOMIC_RELAXED) == UNKNOWN, 0)) {
        int problem = errno;
        nrt_version_t version = {0};
        NRT_STATUS (*get_version)(nrt_version_t *, size_t) =
            (NRT_STATUS (*)(nrt_version_t *, size_t))call_look_up("nrt_get_version");
        bool is_own = get_version && get_version(&version, sizeof version) == NRT_SUCCESS &&
                      strncmp(version.rt_detail, own, sizeof own - 1) == 0;
        __atomic_store_n(&which, is_own ? OWN : OTHER, __ATOMIC_RELAXED);
        errno = problem;
    }
    return __atomic_load_n(&which, __ATOMIC_RELAXED) == OWN;
}

void call_warn(const char *format, ...)
{
    char line[256] = "kymo: ";
    const int start = (int)strlen(line), most = (int)sizeof line - 2;
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line + start, (size_t)(most - start), format, args);
    va_end(args);
    size = size < 0 ? start : start + size < most ? start + size : most - 1;
    line[size] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)size + 1);
    (void)ignored;
}

void *call_resolve(void **slot, const char *name)
{
    int problem = errno;
    void *real = call_look_up(name);
    if (real)
        __atomic_store_n(slot, real, __ATOMIC_RELEASE);
    else
        call_warn("%s: the runtime has no such function", name);
    errno = problem;
    return real;
}
