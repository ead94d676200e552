/*
 * Loading a runtime library.
 */
#include "neuron/run/runner/library.h"

#include <dlfcn.h>

static bool find(void *handle, const char *name, bool is_needed, void *slot, const char *path,
                 struct error *err)
{
    void *found = dlsym(handle, name);
    memcpy(slot, &found, sizeof found); /* a pointer to a function */
    return found || !is_needed || error_in_file(err, path, "the library has no %s", name);
}

static bool find_all(struct library *library, void *handle, struct error *err)
{
    const char *path = library->path;
#define FIND_NEEDED(name)   find(handle, #name, true, &library->name, path, err) &&
#define FIND_OPTIONAL(name) find(handle, #name, false, &library->name, path, err) &&
    return RUNTIME_FUNCTIONS(FIND_NEEDED, FIND_OPTIONAL) true;
#undef FIND_NEEDED
#undef FIND_OPTIONAL
}

bool library_open(struct library *library, const char *path, struct error *err)
{
    static const char name[] = "libnrt.so.1";
    *library = (struct library){0};
    library->path = path ? mem_copy_text(path, strlen(path)) : installed_library(name);
    if (!library->path)
        return error_set(err, "runtime library not found: %s", name);
    void *handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    bool ok = handle ? find_all(library, handle, err)
                     : error_set(err, "cannot load the runtime: %s", dlerror());
    if (!ok)
        library_close(library);
    return ok;
}

void library_close(struct library *library)
{
    mem_free(library->path);
    library->path = NULL;
}

bool library_check(const struct library *library, NRT_STATUS status, const char *what,
                   struct error *err)
{
    return status == NRT_SUCCESS || error_set(err, "%s: %s (status %d)", what,
                                              library->nrt_get_status_as_str(status), (int)status);
}
