/*
 * The lock file of cores.
 */
#include "neuron/runtime/cores/cores.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RESERVED_AT = 4096 }; /* in the file: after the bytes of cores in use */
enum { NAMES = 16 };         /* that the folder may have in /tmp */

bool cores_parse(const char *text, uint32_t total, struct cores_row *row)
{
    *row = (struct cores_row){0};
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        unsigned long from = strtoul(text, &end, 10), to = from;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return false;
            to = strtoul(end + 1, &end, 10);
        }
        if (to < from || to >= total || (row->count > 0 && from != row->first + row->count))
            return false;
        row->first = row->count == 0 ? (uint32_t)from : row->first;
        row->count += (uint32_t)(to - from + 1);
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

/* A folder of our own that nobody else can write to. */
static bool is_ours(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 022) == 0;
}

static bool make_ours(const char *path)
{
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && is_ours(path);
}

static void name_in(char path[static PATH_MAX], const char *temporary, int number)
{
    int used = snprintf(path, PATH_MAX, "%s/kymo-neuron-%u", temporary, (unsigned)geteuid());
    if (number > 0 && used < PATH_MAX)
        snprintf(path + used, (size_t)(PATH_MAX - used), "-%d", number);
}

/* A folder that is there comes before one that could be made: processes agree on it even when the
 * other user gives a name back. */
bool cores_folder(char path[static PATH_MAX], const char *runtime, const char *temporary,
                  struct error *err)
{
    struct stat status;
    if (runtime && *runtime == '/' && stat(runtime, &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == geteuid()) {
        snprintf(path, PATH_MAX, "%s/kymo-neuron", runtime);
        if (make_ours(path))
            return true;
    }
    for (int i = 0; i < 2 * NAMES; i++) {
        name_in(path, temporary, i % NAMES);
        if (i < NAMES ? is_ours(path) : make_ours(path))
            return true;
    }
    name_in(path, temporary, 0);
    return error_in_file(err, path,
                         "cannot be a directory of this user alone; set XDG_RUNTIME_DIR to one");
}

static int open_file(const struct cores_machine *machine, struct error *err)
{
    char folder[PATH_MAX], path[PATH_MAX + 128];
    if (!cores_folder(folder, secure_getenv("XDG_RUNTIME_DIR"), "/tmp", err))
        return -1;
    snprintf(path, sizeof path, "%s/%s%s%s.cores", folder, machine->instance,
             *machine->node ? "@" : "", machine->node);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        error_in_file(err, path, "cannot open it: %s", strerror(errno));
    return file;
}

/* Logical cores of any size are physical ones here. */
static bool set_lock(int file, short type, off_t from, uint32_t size, const struct cores_row *row)
{
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = from + (off_t)row->first * size,
                          .l_len = (off_t)row->count * size};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

static bool lock_row(int file, enum cores_claim claim, uint32_t size, const struct cores_row *row)
{
    bool reserves = claim != CORES_OF_RESERVED;
    if (reserves && !set_lock(file, F_WRLCK, RESERVED_AT, size, row))
        return false;
    if (set_lock(file, F_WRLCK, 0, size, row)) {
        if (claim == CORES_RESERVE) /* nobody uses them: that is enough */
            set_lock(file, F_UNLCK, 0, size, row);
        return true;
    }
    if (reserves)
        set_lock(file, F_UNLCK, RESERVED_AT, size, row);
    return false;
}

/* Locks decide, not a look at what is free: two processes that ask at once cannot both succeed.
 * *row is where the cores are. */
int cores_take(const struct cores_machine *machine, enum cores_claim claim, bool any,
               struct cores_row *row, struct error *err)
{
    if (row->count > machine->total) {
        error_set(err, "%u NeuronCores requested; %s has %u", row->count, machine->instance,
                  machine->total);
        return -1;
    }
    int file = open_file(machine, err);
    if (file < 0)
        return -1;
    uint32_t begin = any ? 0 : row->first;
    uint32_t end = any ? machine->total - row->count : row->first;
    for (uint32_t at = begin; at <= end; at++) {
        row->first = at;
        if (lock_row(file, claim, machine->logical_size, row))
            return file;
    }
    error_set(err,
              "NeuronCores are not available: %u requested from nc%u, of %u on %s; other processes "
              "use them",
              row->count, begin, machine->total, machine->instance);
    close(file);
    return -1;
}

void cores_give_back(int file)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(file, F_OFD_SETLK, &all);
    close(file);
}
