/*
 * Lists, removes and renames the profiles of a workspace.
 */
#include "base/directory.h"
#include "store/tables/paths.h"
#include "store/tables/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

bool workspace_open(const char *data_path, char **directory, struct error *err)
{
    char *profiles = profiles_path(data_path, err);
    if (!profiles)
        return false;
    bool ok = make_directories(profiles, err);
    *directory = ok ? mem_copy_text(profiles, strlen(profiles) - strlen(WORKSPACE)) : NULL;
    mem_free(profiles);
    return ok;
}

bool profile_list(const char *data_path, profile_names *names, struct error *err)
{
    char *profiles = profiles_path(data_path, err);
    *names = (profile_names){0};
    if (!profiles)
        return false;
    DIR *stream = opendir(profiles);
    bool ok = stream || errno == ENOENT;
    if (!ok)
        error_in_file(err, profiles, "cannot read: %s", strerror(errno));
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        struct text name = profile_name(entry->d_name);
        if (name.size > 0)
            *array_push(names) = mem_copy_text(name.data, name.size);
    }
    if (stream)
        closedir(stream);
    mem_free(profiles);
    return ok;
}

void profile_names_free(profile_names *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

/* A profile locked for removing or renaming. */
struct locked_profile {
    char *target, *lock_path, *replaced;
    int lock;
};

static void unlock_profile(struct locked_profile *locked)
{
    if (locked->lock >= 0)
        drop_lock(locked->lock_path, locked->lock);
    mem_free(locked->target);
    mem_free(locked->lock_path);
    mem_free(locked->replaced);
}

static bool lock_profile(struct locked_profile *locked, const char *data_path, const char *name,
                         struct error *err)
{
    *locked = (struct locked_profile){.lock = -1};
    if (!profile_directory(data_path, name, &locked->target, err))
        return false;
    const char *entry = strrchr(locked->target, '/') + 1;
    int parent = (int)(entry - locked->target);
    locked->lock_path = path_format("%.*s.%s%s", parent, locked->target, entry, LOCK);
    locked->replaced = path_format("%.*s.%s%s", parent, locked->target, entry, REPLACED);
    if (!file_is_directory(locked->target))
        error_set(err, "no profile '%s'", name);
    else if ((locked->lock = take_lock(locked->lock_path)) >= 0)
        return true;
    else if (errno == EWOULDBLOCK)
        error_set(err, "the profile '%s' is being written by another process", name);
    else
        error_in_file(err, locked->lock_path, "cannot write: %s", strerror(errno));
    unlock_profile(locked);
    return false;
}

bool profile_remove(const char *data_path, const char *name, struct error *err)
{
    struct locked_profile locked;
    if (!lock_profile(&locked, data_path, name, err))
        return false;
    remove_profile(locked.replaced);
    bool ok =
        rename(locked.target, locked.replaced) == 0; /* atomic: readers never see a part of it */
    if (ok)
        remove_profile(locked.replaced);
    else
        error_in_file(err, locked.target, "cannot remove: %s", strerror(errno));
    unlock_profile(&locked);
    return ok;
}

bool profile_rename(const char *data_path, const char *name, const char *new_name,
                    struct error *err)
{
    struct locked_profile locked;
    char *target;
    if (!profile_directory(data_path, new_name, &target, err))
        return false;
    if (!lock_profile(&locked, data_path, name, err)) {
        mem_free(target);
        return false;
    }
    bool ok = renameat2(AT_FDCWD, locked.target, AT_FDCWD, target, RENAME_NOREPLACE) == 0;
    if (!ok && errno == EINVAL &&
        !file_is_directory(target)) /* flags unsupported by the filesystem */
        ok = rename(locked.target, target) == 0;
    if (!ok && errno == EEXIST)
        error_set(err, "a profile '%s' already exists", new_name);
    else if (!ok)
        error_in_file(err, locked.target, "cannot rename: %s", strerror(errno));
    unlock_profile(&locked);
    mem_free(target);
    return ok;
}
