/*
 * The directories of links that ranks are opened as. Each server has a folder of its own for these,
 * locked, so that the next one removes what a killed one left.
 */
#include "serve/runs/rank_links.h"

#include "report/fleet/fleet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_FOLDER ".ranks"

struct rank_links {
    struct server *server;
    pthread_mutex_t lock;
    char *folder; /* NULL before the first rank is opened */
    int folder_lock;
};

struct rank_links *rank_links_create(struct server *server)
{
    struct rank_links *links = mem_zeroed(1, sizeof *links);
    links->server = server;
    pthread_mutex_init(&links->lock, NULL);
    return links;
}

void rank_links_destroy(struct rank_links *links)
{
    if (!links)
        return;
    if (links->folder) {
        folder_remove(links->folder);
        close(links->folder_lock);
    }
    pthread_mutex_destroy(&links->lock);
    mem_free(links->folder);
    mem_free(links);
}

char *rank_profile_name(const char *dataset, const char *run, int64_t rank)
{
    char *name = rank_name(run, rank);
    char *path = path_format("%s/%s", dataset, name);
    mem_free(name);
    return path;
}

static int lock_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat held, named;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
        lstat(path, &named) == 0 && held.st_ino == named.st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Removes the folders of servers that are gone. */
static void remove_stale(const char *parent)
{
    DIR *stream = opendir(parent);
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = path_format("%s/%s", parent, entry->d_name);
        int lock = lock_folder(path);
        if (lock >= 0) {
            folder_remove(path);
            close(lock);
        }
        mem_free(path);
    }
    if (stream)
        closedir(stream);
}

/* Makes it again if somebody removed it. Call with the lock held. */
static bool make_folder(struct rank_links *links, struct error *err)
{
    enum { TRIES = 10 }; /* another server may take it for a stale one before it is locked */
    if (links->folder && file_is_directory(links->folder))
        return true;
    if (links->folder)
        close(links->folder_lock);
    mem_free(links->folder);
    links->folder = NULL;
    char *parent = path_format("%s/" LINKS_FOLDER, links->server->data_path);
    bool ok = make_directories(parent, err);
    if (ok)
        remove_stale(parent);
    for (int i = 0; i < TRIES && ok && !links->folder; i++) {
        char *folder = path_format("%s/XXXXXX", parent);
        ok = mkdtemp(folder) ||
             error_in_file(err, parent, "cannot create a directory in it: %s", strerror(errno));
        links->folder_lock = ok ? lock_folder(folder) : -1;
        if (links->folder_lock >= 0)
            links->folder = folder;
        else
            mem_free(folder);
    }
    if (ok && !links->folder)
        ok = error_in_file(err, parent, "cannot lock a directory in it");
    mem_free(parent);
    return ok;
}

/* In a directory of its own, as exports are named after the last part of the path. */
static char *make_directory(const struct rank_links *links, const char *place, struct error *err)
{
    char *parent = path_format("%s/XXXXXX", links->folder);
    bool ok =
        mkdtemp(parent) ||
        error_in_file(err, links->folder, "cannot create a directory in it: %s", strerror(errno));
    char *directory = path_format("%s%s", parent, strrchr(place, '/')); /* …/rank=3 */
    if (ok && !make_directories(directory, err)) {
        ok = false;
        folder_remove(parent);
    }
    mem_free(parent);
    if (ok)
        return directory;
    mem_free(directory);
    return NULL;
}

char *rank_links_make(struct rank_links *links, const char *dataset, const char *place,
                      struct error *err)
{
    pthread_mutex_lock(&links->lock);
    char *directory = make_folder(links, err) ? make_directory(links, place, err) : NULL;
    pthread_mutex_unlock(&links->lock);
    if (!directory || rank_link(dataset, place, directory, err))
        return directory;
    rank_links_remove(directory);
    return NULL;
}

void rank_links_remove(char *directory)
{
    *strrchr(directory, '/') = '\0';
    folder_remove(directory);
    mem_free(directory);
}

uint64_t rank_links_size(const char *directory)
{
    uint64_t size = 0;
    DIR *stream = opendir(directory);
    struct dirent *entry;
    struct stat status;
    while (stream && (entry = readdir(stream))) {
        char *path = path_format("%s/%s", directory, entry->d_name);
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            size += (uint64_t)status.st_size;
        mem_free(path);
    }
    if (stream)
        closedir(stream);
    return size;
}
