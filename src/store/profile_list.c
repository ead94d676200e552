/*
 * Lists, removes and renames the profiles of a workspace.
 */
#include "store/paths.h"
#include "store/workspace.h"

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
struct held {
    char *place, *lock_path, *replaced;
    int lock;
};

static void let_go(struct held *held)
{
    if (held->lock >= 0)
        drop_lock(held->lock_path, held->lock);
    mem_free(held->place);
    mem_free(held->lock_path);
    mem_free(held->replaced);
}

static bool hold(struct held *held, const char *data_path, const char *name, struct error *err)
{
    *held = (struct held){.lock = -1};
    if (!profile_directory(data_path, name, &held->place, err))
        return false;
    const char *entry = strrchr(held->place, '/') + 1;
    int parent = (int)(entry - held->place);
    held->lock_path = path_format("%.*s.%s%s", parent, held->place, entry, LOCK);
    held->replaced = path_format("%.*s.%s%s", parent, held->place, entry, REPLACED);
    if (!file_is_directory(held->place))
        error_set(err, "no profile '%s'", name);
    else if ((held->lock = take_lock(held->lock_path)) >= 0)
        return true;
    else if (errno == EWOULDBLOCK)
        error_set(err, "the profile '%s' is being written by another process", name);
    else
        error_in_file(err, held->lock_path, "cannot write: %s", strerror(errno));
    let_go(held);
    return false;
}

bool profile_remove(const char *data_path, const char *name, struct error *err)
{
    struct held held;
    if (!hold(&held, data_path, name, err))
        return false;
    remove_profile(held.replaced);
    bool ok = rename(held.place, held.replaced) == 0; /* atomic: readers never see a part of it */
    if (ok)
        remove_profile(held.replaced);
    else
        error_in_file(err, held.place, "cannot remove: %s", strerror(errno));
    let_go(&held);
    return ok;
}

bool profile_rename(const char *data_path, const char *name, const char *new_name,
                    struct error *err)
{
    struct held held;
    char *place;
    if (!profile_directory(data_path, new_name, &place, err))
        return false;
    if (!hold(&held, data_path, name, err)) {
        mem_free(place);
        return false;
    }
    bool ok = renameat2(AT_FDCWD, held.place, AT_FDCWD, place, RENAME_NOREPLACE) == 0;
    if (!ok && errno == EINVAL &&
        !file_is_directory(place)) /* flags unsupported by the filesystem */
        ok = rename(held.place, place) == 0;
    if (!ok && errno == EEXIST)
        error_set(err, "a profile '%s' already exists", new_name);
    else if (!ok)
        error_in_file(err, held.place, "cannot rename: %s", strerror(errno));
    let_go(&held);
    mem_free(place);
    return ok;
}
