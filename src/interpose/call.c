/*
 * Resolves the runtime's functions, and handles fork.
 */
#include "interpose/call.h"

#include "interpose/objects.h"
#include "interpose/requests.h"
#include "record/lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <nrt/nrt_version.h>
#include <pthread.h>
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

static void *find_real(const char *name)
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
            (NRT_STATUS (*)(nrt_version_t *, size_t))find_real("nrt_get_version");
        bool is_own = get_version && get_version(&version, sizeof version) == NRT_SUCCESS &&
                      strncmp(version.rt_detail, own, sizeof own - 1) == 0;
        __atomic_store_n(&which, is_own ? OWN : OTHER, __ATOMIC_RELAXED);
        errno = problem;
    }
    return __atomic_load_n(&which, __ATOMIC_RELAXED) == OWN;
}

void *call_resolve(void **slot, const char *name)
{
    int problem = errno;
    void *real = find_real(name);
    if (real) {
        __atomic_store_n(slot, real, __ATOMIC_RELEASE);
    } else {
        char line[160];
        int size =
            snprintf(line, sizeof line, "kymo: %s: the runtime has no such function\n", name);
        ssize_t ignored = write(STDERR_FILENO, line, (size_t)size);
        (void)ignored;
    }
    errno = problem;
    return real;
}

/* Handlers of others run between these two: nothing may cancel the thread there. */
static struct undisturbed forking;

static void before_fork(void)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    objects_lock();
    requests_lock();
    forking = before;
}

static void after_fork(void)
{
    struct undisturbed before = forking;
    requests_unlock();
    objects_unlock();
    undisturbed_end(&before);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}
