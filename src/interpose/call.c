/*
 * Resolves the runtime's functions, and handles fork.
 */
#include "interpose/call.h"

#include "interpose/objects.h"
#include "interpose/requests.h"
#include "record/lock.h"

#include <dlfcn.h>
#include <errno.h>
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

void *call_resolve(void **slot, const char *name)
{
    int problem = errno;
    void *real = dlsym(RTLD_NEXT, name);
    if (!real)
        real = find_in_library(name);
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
