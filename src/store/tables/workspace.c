/*
 * The workspace: paths, locks, and the rename that publishes a profile atomically.
 */
#include "store/tables/workspace.h"

#include "base/directory.h"
#include "store/tables/paths.h"
#include "store/tables/schema.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_NAME = 200, LOCK_TRIES = 40, LOCK_PAUSE_US = 5000 };

static char *default_data_path(struct error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/')
        return path_format("%s/kymo", data);
    if (home && home[0])
        return path_format("%s/.local/share/kymo", home);
    error_set(err, "no home directory for the workspace; set one with --data-path");
    return NULL;
}

char *profiles_path(const char *data_path, struct error *err)
{
    if (data_path && !data_path[0]) {
        error_set(err, "--data-path must not be empty");
        return NULL;
    }
    char *data = data_path ? mem_copy_text(data_path, strlen(data_path)) : default_data_path(err);
    char *path = data ? path_format("%s" WORKSPACE, data) : NULL;
    mem_free(data);
    return path;
}

bool profile_directory(const char *data_path, const char *name, char **directory, struct error *err)
{
    if (!name[0] || name[0] == '.' || strchr(name, '/') || strchr(name, '@'))
        return error_set(
            err,
            "invalid profile name '%s': it must not be empty, start with a dot, or contain / or @",
            name);
    if (strlen(name) > MAX_NAME)
        return error_set(err, "the profile name is longer than %d bytes", MAX_NAME);
    char *profiles = profiles_path(data_path, err);
    if (!profiles)
        return false;
    *directory = path_format("%s/%s@latest", profiles, name);
    mem_free(profiles);
    return true;
}

static bool has_tables(const char *directory)
{
    DIR *stream = opendir(directory);
    bool found = false;
    struct dirent *entry;
    while (stream && !found && (entry = readdir(stream)))
        found = text_ends(text_of(entry->d_name), TEXT(".parquet"));
    if (stream)
        closedir(stream);
    return found;
}

struct text profile_name(const char *entry)
{
    struct text text = text_of(entry), suffix = TEXT("@latest");
    if (!text_ends(text, suffix) || entry[0] == '.')
        return TEXT("");
    return (struct text){entry, text.size - suffix.size};
}

/* Reports a missing profile, with a suggestion. */
static bool not_found(const char *data_path, const char *name, struct error *err)
{
    char *profiles = profiles_path(data_path, err);
    if (!profiles)
        return false;
    ARRAY(char *) names = {0};
    DIR *stream = opendir(profiles);
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        struct text known = profile_name(entry->d_name);
        if (known.size > 0)
            *array_push(&names) = mem_copy_text(known.data, known.size);
    }
    if (stream)
        closedir(stream);
    const char *nearest = text_nearest(name, (const char *const *)names.items, names.count);
    if (nearest)
        error_set(err, "no profile '%s' in %s; did you mean %s?", name, profiles, nearest);
    else
        error_set(err,
                  "no profile '%s' in %s, and no directory of that name with tables (*.parquet); "
                  "create one with `kymo view CAPTURE`",
                  name, profiles);
    char **known;
    array_each (known, &names)
        mem_free(*known);
    array_free(&names);
    mem_free(profiles);
    return false;
}

bool profile_find(const char *data_path, const char *name, char **directory, struct error *err)
{
    struct error ignored;
    if (profile_directory(data_path, name, directory, &ignored)) {
        if (file_is_directory(*directory))
            return true;
        mem_free(*directory);
    }
    *directory = NULL;
    if (!has_tables(name))
        return not_found(data_path, name, err);
    *directory = mem_copy_text(name, strlen(name));
    return true;
}

bool remove_profile_at(int parent, const char *name)
{
    /* Do not follow links: they may point outside the workspace. */
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!stream) {
        bool is_gone = errno == ENOENT;
        if (fd >= 0)
            close(fd);
        return is_gone;
    }
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(fd, entry->d_name, 0);
    closedir(stream);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

bool remove_profile(const char *path)
{
    return remove_profile_at(AT_FDCWD, path);
}

static bool sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

int take_lock(const char *path)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (fd < 0)
            return -1;
        struct stat held, named;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0) {
            if (lstat(path, &named) == 0 && held.st_ino == named.st_ino)
                return fd;
            close(fd); /* the previous holder removed the file */
            continue;
        }
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
}

void drop_lock(const char *path, int lock)
{
    unlink(path);
    close(lock);
}

/* Removes leftovers of a killed writer: ".name.partial", ".name.replaced" or only ".name.lock". The
 * lock is held to take them away from the name, not for as long as their files take to remove: a
 * writer of that name waits for it. */
static void remove_stale_entry(const char *parent, const char *entry, size_t name_size)
{
    char *lock_path = path_format("%s/%.*s%s", parent, (int)name_size, entry, LOCK);
    char *path = path_format("%s/%s", parent, entry);
    char *removed = path_format("%s/.%ld%s", parent, (long)getpid(), REMOVED);
    int lock = take_lock(lock_path);
    if (lock >= 0) {
        bool is_lock = strcmp(path, lock_path) == 0;
        bool moved = !is_lock && rename(path, removed) == 0;
        if (!is_lock && !moved)
            remove_profile(path);
        drop_lock(lock_path, lock);
        if (moved)
            remove_profile(removed);
    }
    mem_free(removed);
    mem_free(path);
    mem_free(lock_path);
}

/* What a killed process was about to remove has no lock: nobody writes there. */
static void remove_removed(const char *parent, const char *entry)
{
    char *path = path_format("%s/%s", parent, entry);
    remove_profile(path);
    mem_free(path);
}

static void remove_stale(const char *parent)
{
    static const char *const endings[] = {PARTIAL, REPLACED, LOCK};
    DIR *stream = opendir(parent);
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        struct text name = text_of(entry->d_name);
        for (size_t i = 0; i < 3 && name.data[0] == '.'; i++)
            if (text_ends(name, text_of(endings[i])))
                remove_stale_entry(parent, entry->d_name, name.size - strlen(endings[i]));
        if (name.data[0] == '.' && text_ends(name, TEXT(REMOVED)))
            remove_removed(parent, entry->d_name);
    }
    if (stream)
        closedir(stream);
}

/* Paths of the unfinished profile, for a signal handler; empty if there is none. */
static char partial_now[PATH_MAX], lock_now[PATH_MAX];

static void set_signal_paths(const struct staging *staging)
{
    size_t partial_size = strlen(staging->directory), lock_size = strlen(staging->lock_path);
    if (partial_size < PATH_MAX && lock_size < PATH_MAX) {
        /* First byte last: a signal handler sees an empty path until it is complete. */
        memcpy(lock_now + 1, staging->lock_path + 1, lock_size);
        memcpy(partial_now + 1, staging->directory + 1, partial_size);
        atomic_signal_fence(memory_order_seq_cst);
        lock_now[0] = staging->lock_path[0];
        partial_now[0] = staging->directory[0];
    }
}

struct directory_entry { /* as returned by getdents64 */
    uint64_t inode, offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* Async-signal-safe: readdir may allocate. Other threads may still be creating files. */
static void remove_files(int directory)
{
    _Alignas(struct directory_entry) static char entries[16 << 10];
    long size;
    lseek(directory, 0, SEEK_SET);
    while ((size = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0)
        for (long at = 0; at < size;) {
            const struct directory_entry *entry = (const void *)(entries + at);
            unlinkat(directory, entry->name, 0);
            at += entry->size;
        }
}

/* The same for a directory and its files, if there is one. */
static void remove_now(const char *path)
{
    int directory = path[0] ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    for (int tries = 0; directory >= 0 && tries < LOCK_TRIES; tries++) {
        remove_files(directory);
        if (rmdir(path) == 0 || errno == ENOENT)
            break;
    }
    if (directory >= 0)
        close(directory);
}

/* The temporary profile and the directory it is in, for a signal handler; NULL if there is none. */
static char *_Atomic temporary_now, *_Atomic temporary_parent_now;
static struct readers abandoning;

void staging_abandon_now(void)
{
    readers_enter(&abandoning);
    const char *temporary = atomic_load(&temporary_now);
    const char *parent = atomic_load(&temporary_parent_now);
    remove_now(partial_now);
    if (lock_now[0])
        unlink(lock_now);
    if (temporary)
        remove_now(temporary);
    if (parent)
        rmdir(parent);
    readers_leave(&abandoning);
}

char *temporary_profile_begin(const char *parent, struct error *err)
{
    char *directory = path_format("%s/kymo-XXXXXX", parent), *path = NULL;
    sigset_t all, before; /* a signal before the paths are set would leave the directory behind */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (mkdtemp(directory)) {
        path = path_format("%s/profile", directory);
        atomic_store(&temporary_parent_now, directory);
        atomic_store(&temporary_now, path);
    } else {
        error_in_file(err, directory, "cannot create directory: %s", strerror(errno));
        mem_free(directory);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return path;
}

void temporary_profile_end(char *path)
{
    char *directory = atomic_load(&temporary_parent_now);
    remove_profile(path);
    rmdir(directory);
    atomic_store(&temporary_now, NULL);
    atomic_store(&temporary_parent_now, NULL);
    readers_wait(&abandoning);
    mem_free(path);
    mem_free(directory);
}

/* Drops the lock, if it is held; a signal handler must not remove what the next holder writes. */
static void staging_free(struct staging *staging)
{
    partial_now[0] = lock_now[0] = '\0';
    if (staging->lock >= 0)
        drop_lock(staging->lock_path, staging->lock);
    mem_free(staging->target);
    mem_free(staging->directory);
    mem_free(staging->lock_path);
    *staging = (struct staging){.lock = -1};
}

/* Waits briefly for a process that holds the lock only to clean up after a killed writer. */
static bool lock_target(struct staging *staging, struct error *err)
{
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        staging->lock = take_lock(staging->lock_path);
        if (staging->lock >= 0)
            return true;
        if (errno != EWOULDBLOCK)
            break;
        usleep(LOCK_PAUSE_US);
    }
    if (errno == EWOULDBLOCK)
        return error_in_file(err, staging->target, "is being written by another process");
    return error_in_file(err, staging->lock_path, "cannot write: %s", strerror(errno));
}

/* Whether the name is that of a file this program writes: a table, the timeline, the summary,
 * modules. */
static bool is_profile_file(struct text name)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        struct text table = text_of(table_schemas[i].name);
        if (name.size == table.size + strlen(".parquet") && text_starts(name, table) &&
            text_ends(name, TEXT(".parquet")))
            return true;
    }
    return text_equal(name, TEXT(TIMELINE_FILE)) || text_equal(name, TEXT(SUMMARY_FILE)) ||
           text_equal(name, TEXT(MODULES_FILE));
}

/* Whether it contains only our files: only then may it be replaced. */
static bool is_profile(const char *directory)
{
    DIR *stream = opendir(directory);
    bool only_ours = stream != NULL;
    struct dirent *entry;
    while (only_ours && (entry = readdir(stream)))
        only_ours = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    is_profile_file(text_of(entry->d_name));
    if (stream)
        closedir(stream);
    return only_ours;
}

static bool check_target(const struct staging *staging, bool replace, struct error *err)
{
    struct stat status;
    if (lstat(staging->target, &status) != 0)
        return true;
    if (!S_ISDIR(status.st_mode) || !is_profile(staging->target))
        return error_in_file(err, staging->target, "already exists and is not a profile");
    if (!replace)
        return error_in_file(err, staging->target, "already exists; use --force to replace it");
    return true;
}

static char *replaced_path(const struct staging *staging)
{
    return path_format("%.*s%s", (int)(strlen(staging->lock_path) - strlen(LOCK)),
                       staging->lock_path, REPLACED);
}

/* Removes leftovers of a killed writer of this profile; requires its lock. */
static void remove_leftovers(const struct staging *staging)
{
    char *replaced = replaced_path(staging);
    remove_profile(staging->directory);
    remove_profile(replaced);
    mem_free(replaced);
}

/* The lock comes before leftovers are removed and the target is checked, so of two processes
 * one fails cleanly. On failure the lock is dropped and nothing needs freeing. */
bool staging_begin(struct staging *staging, const char *target, bool replace, struct error *err)
{
    size_t size = strlen(target);
    while (size > 1 && target[size - 1] == '/')
        size--;
    char *path = mem_copy_text(target, size), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *parent = slash ? mem_copy_text(path, slash > path ? (size_t)(slash - path) : 1)
                         : mem_copy_text(".", 1);
    *staging = (struct staging){.lock = -1};
    staging->target = path_format("%s/%s", parent, name);
    staging->directory = path_format("%s/.%s%s", parent, name, PARTIAL);
    staging->lock_path = path_format("%s/.%s%s", parent, name, LOCK);
    bool ok = make_directories(parent, err);
    if (ok) {
        /* Other directories may have hidden files of other programs. */
        if (text_ends(text_of(parent), TEXT(WORKSPACE)))
            remove_stale(parent);
        ok = lock_target(staging, err);
    }
    if (ok)
        remove_leftovers(staging);
    ok = ok && check_target(staging, replace, err);
    if (ok)
        set_signal_paths(staging); /* before mkdir: a signal may arrive at any time */
    if (ok && mkdir(staging->directory, 0777) != 0)
        ok = error_in_file(err, staging->directory, "cannot create directory: %s", strerror(errno));
    if (!ok)
        staging_free(staging);
    mem_free(parent);
    mem_free(path);
    return ok;
}

/* For filesystems without RENAME_EXCHANGE: not atomic. */
static bool replace_in_two_steps(const struct staging *staging)
{
    char *old = replaced_path(staging);
    bool ok = rename(staging->target, old) == 0;
    if (ok && rename(staging->directory, staging->target) != 0) {
        int reason = errno;
        rename(old, staging->target);
        errno = reason;
        ok = false;
    }
    if (ok)
        remove_profile(old);
    mem_free(old);
    return ok;
}

static bool publish(const struct staging *staging)
{
    if (renameat2(AT_FDCWD, staging->directory, AT_FDCWD, staging->target, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EEXIST)
        return rename(staging->directory, staging->target) == 0 ||
               ((errno == ENOTEMPTY || errno == EEXIST) && replace_in_two_steps(staging));
    if (renameat2(AT_FDCWD, staging->directory, AT_FDCWD, staging->target, RENAME_EXCHANGE) != 0)
        return replace_in_two_steps(staging);
    remove_profile(staging->directory); /* the old profile, after the exchange */
    return true;
}

bool staging_commit(struct staging *staging, struct error *err)
{
    bool ok = sync_directory(staging->directory) && publish(staging);
    if (!ok) {
        error_in_file(err, staging->target, "cannot write: %s", strerror(errno));
        remove_profile(staging->directory);
    }
    staging_free(staging);
    return ok;
}

void staging_abandon(struct staging *staging)
{
    if (staging->lock < 0)
        return;
    remove_profile(staging->directory);
    staging_free(staging);
}
