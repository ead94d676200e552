/*
 * Which process has which cores. A lock file for each instance type, in a folder of the user; a
 * core is a byte of it. Locks belong to the open file, so they end with the process, however it
 * ends.
 */
#include "nrt/runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int lock_file = -1;

/* A folder of our own that nobody else can write to. */
static bool make_folder(char path[static PATH_MAX])
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    struct stat status;
    if (runtime && *runtime == '/' && stat(runtime, &status) == 0 && S_ISDIR(status.st_mode))
        snprintf(path, PATH_MAX, "%s/kymo-neuron", runtime);
    else
        snprintf(path, PATH_MAX, "/tmp/kymo-neuron-%u", (unsigned)getuid());
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        rt_error(RT_TDRV, "cannot create %s: %s", path, strerror(errno));
        return false;
    }
    if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid()) {
        rt_error(RT_TDRV, "%s is not a directory of this user", path);
        return false;
    }
    return true;
}

static bool open_file(const struct settings *from)
{
    char folder[PATH_MAX], path[PATH_MAX + 64];
    if (!make_folder(folder))
        return false;
    snprintf(path, sizeof path, "%s/%s.cores", folder, from->instance->name);
    lock_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_file < 0)
        rt_error(RT_TDRV, "cannot open %s: %s", path, strerror(errno));
    return lock_file >= 0;
}

/* Logical cores of any size are physical ones here. */
static bool set_lock(short type, uint32_t first, uint32_t count, uint32_t size)
{
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)first * size,
                          .l_len = (off_t)count * size};
    return fcntl(lock_file, F_OFD_SETLK, &range) == 0;
}

bool ownership_take(const struct settings *from, uint32_t *first)
{
    if (!open_file(from))
        return false;
    uint32_t begin = from->any ? 0 : from->first;
    uint32_t end = from->any ? from->total - from->count : from->first;
    for (uint32_t at = begin; at <= end; at++)
        if (set_lock(F_WRLCK, at, from->count, from->logical_size)) {
            *first = at;
            return true;
        }
    rt_error(RT_TDRV,
             "NeuronCores are not available: %u requested from nc%u, of %u on %s; other processes "
             "have them",
             from->count, begin, from->total, from->instance->name);
    ownership_release();
    return false;
}

void ownership_release(void)
{
    if (lock_file >= 0)
        close(lock_file);
    lock_file = -1;
}
