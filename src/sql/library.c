/*
 * Finds and loads the DuckDB library. It is never unloaded: its threads may outlive a database.
 */
#include "sql/duckdb.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The first version that returns the columns of a prepared statement. */
enum { MIN_MAJOR = 1, MIN_MINOR = 4 };

#define INSTALLS "`make setup` installs it"

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define SYMBOL(name, result, arguments) {"duckdb_" #name, offsetof(struct duckdb, name)},
    DUCKDB_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static bool find_functions(struct duckdb *duckdb, void *library, const char *path,
                           struct error *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address)
            return error_in_file(err, path, "incompatible DuckDB library: %s is missing; %s",
                                 functions[i].name, INSTALLS);
        memcpy((char *)duckdb + functions[i].offset, &address, sizeof address);
    }
    return true;
}

/* Checked before resolving symbols: for an old library, the version explains missing ones. */
static bool check_version(void *library, const char *path, struct error *err)
{
    const char *(*version_of)(void) = NULL;
    void *address = dlsym(library, "duckdb_library_version");
    memcpy(&version_of, &address, sizeof address);
    Dl_info place;
    if (address && dladdr(address, &place) && place.dli_fname)
        path = place.dli_fname; /* where the system found it */
    const char *version = version_of ? version_of() : "";
    unsigned major, minor;
    if (sscanf(version, "v%u.%u", &major, &minor) != 2)
        return error_in_file(err, path, "not a DuckDB library; %s", INSTALLS);
    if (major < MIN_MAJOR || (major == MIN_MAJOR && minor < MIN_MINOR))
        return error_in_file(err, path, "DuckDB %s is too old, %u.%u is required; %s", version,
                             MIN_MAJOR, MIN_MINOR, INSTALLS);
    return true;
}

static bool load_from(struct duckdb *duckdb, const char *path, bool is_named, struct error *err)
{
    /* A query needs few of its functions: resolving them lazily saves 12 of 80 ms. */
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library && !strchr(path, '/'))
        return error_set(err, "DuckDB library %s not found; %s", path, INSTALLS);
    if (!library)
        return error_set(err, "cannot load the DuckDB library: %s; %s", dlerror(),
                         is_named ? "KYMO_DUCKDB points to it" : INSTALLS);
    if (check_version(library, path, err) && find_functions(duckdb, library, path, err))
        return true;
    dlclose(library);
    return false;
}

static bool load(struct duckdb *duckdb, struct error *err)
{
    const char *named = secure_getenv("KYMO_DUCKDB");
    if (named && *named)
        return load_from(duckdb, named, true, err);
    char *own = installed_library("libduckdb.so");
    bool ok = load_from(duckdb, own ? own : "libduckdb.so", false, err);
    mem_free(own);
    return ok;
}

bool duckdb_load(const struct duckdb **duckdb, struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct duckdb loaded;
    static bool is_loaded;
    pthread_mutex_lock(&lock);
    if (!is_loaded)
        is_loaded = load(&loaded, err);
    bool ok = is_loaded;
    pthread_mutex_unlock(&lock);
    *duckdb = &loaded;
    return ok;
}
