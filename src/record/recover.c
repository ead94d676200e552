/*
 * Recovery: session files from the rings of a program that is dead.
 */
#include "record/record.h"

#include "record/lane.h"
#include "record/owner.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapping {
    void *data;
    size_t size;
};

static void unmap(struct mapping *mapping)
{
    if (mapping->data)
        munmap(mapping->data, mapping->size);
    *mapping = (struct mapping){0};
}

static bool map_open(struct mapping *mapping, int fd, const char *path, size_t least,
                     struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (size_t)status.st_size < least)
        return error_in_file(err, path, "is not a file of a capture: it is too short");
    mapping->size = (size_t)status.st_size;
    void *data = mmap(NULL, mapping->size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return error_in_file(err, path, "cannot be mapped: %s", strerror(errno));
    mapping->data = data;
    return true;
}

static int open_part(char path[static PATH_MAX], const char *directory, const char *name,
                     struct error *err)
{
    if (snprintf(path, PATH_MAX, "%s/rings/%s", directory, name) >= PATH_MAX) {
        error_in_file(err, directory, "has too long a name");
        return -1;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        error_in_file(err, path, "cannot be opened: %s", strerror(errno));
    return fd;
}

/* Two recoveries do not meet: each holds a lock for as long as it works. Where the file may only be
 * read, looking has to do. */
static bool is_being_recovered(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &lock) == 0)
        return false;
    if (errno != EBADF)
        return errno == EACCES || errno == EAGAIN;
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool check_session(int fd, const char *path, const struct ring_session *session,
                          struct error *err)
{
    if (session->magic != RING_SESSION_MAGIC)
        return error_at(err, path, 0, "is not a file of a capture");
    if (session->version != RING_VERSION)
        return error_in_file(err, path, "is of version %u; this program knows version %d",
                             session->version, RING_VERSION);
    enum owner_state owner = owner_state(session);
    if (owner == OWNER_ALIVE)
        return error_in_file(err, path, "belongs to process %u, which is still recording",
                             session->pid);
    if (owner == OWNER_UNKNOWN)
        return error_in_file(err, path,
                             "belongs to process %u, which cannot be seen from here and may still "
                             "be recording",
                             session->pid);
    if (is_being_recovered(fd))
        return error_in_file(err, path, "is being recovered by another process");
    return true;
}

/* *fd holds the lock until it is closed. */
static bool map_session(struct mapping *mapping, int *fd, const char *directory, struct error *err)
{
    char path[PATH_MAX];
    *fd = open_part(path, directory, "session", err);
    return *fd >= 0 && map_open(mapping, *fd, path, sizeof(struct ring_session), err) &&
           mapping->data && check_session(*fd, path, mapping->data, err);
}

static bool map_names(struct mapping *mapping, const char *directory, struct error *err)
{
    char path[PATH_MAX];
    int fd = open_part(path, directory, "names", err);
    if (fd < 0)
        return false;
    bool ok = map_open(mapping, fd, path, sizeof(struct ring_names), err);
    const struct ring_names *names = mapping->data;
    if (ok && names && names->magic != RING_NAMES_MAGIC)
        ok = error_at(err, path, 0, "is not a file of a capture");
    close(fd);
    return ok;
}

static bool find_lanes(struct session_input *input, const char *directory, struct error *err)
{
    char rings[PATH_MAX];
    snprintf(rings, sizeof rings, "%s/rings", directory);
    DIR *entries = opendir(rings);
    if (!entries)
        return error_in_file(err, rings, "cannot be opened: %s", strerror(errno));
    size_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        unsigned number;
        int length = 0;
        if (sscanf(entry->d_name, "lane_%u%n", &number, &length) != 1 || entry->d_name[length])
            continue;
        if (input->lane_count == capacity)
            input->lanes = array_grown(input->lanes, &capacity, capacity + 1, sizeof *input->lanes);
        input->lanes[input->lane_count++] = (struct session_lane){.number = number};
    }
    closedir(entries);
    return true;
}

bool record_is_left_over(const char *directory)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/rings/session", directory) < PATH_MAX &&
           access(path, F_OK) == 0;
}

bool record_recover(const char *directory, struct error *err)
{
    struct mapping session = {0}, names = {0};
    struct session_input input = {.directory = directory, .recovered = true};
    int lock = -1;
    bool ok = map_session(&session, &lock, directory, err) && map_names(&names, directory, err) &&
              find_lanes(&input, directory, err);
    if (ok) {
        input.session = session.data;
        input.names = names.data;
        input.names_size = names.size;
        ok = session_write(&input, err);
    }
    unmap(&session);
    unmap(&names);
    mem_free(input.lanes);
    if (ok)
        session_remove_rings(directory);
    if (lock >= 0)
        close(lock);
    return ok;
}
