/*
 * Ids and favorites of profiles.
 */
#include "serve/runs/notes.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

/* Profile names contain no slash and do not start with a dot, so they are safe as folder names.
 * Those of ranks, which have slashes, are checked when they are resolved; nothing is written for
 * them. */
static char *notes_folder(const struct server *server, const char *name)
{
    return path_format("%s/notes/%s", server->data_path, name);
}

static bool read_id(const char *path, char id[static PROFILE_ID_SIZE])
{
    size_t size = 0;
    char *content = file_content(path, PROFILE_ID_SIZE, &size);
    bool ok = content && size == PROFILE_ID_SIZE - 1 &&
              strspn(content, "0123456789abcdef") == PROFILE_ID_SIZE - 1;
    if (ok)
        memcpy(id, content, PROFILE_ID_SIZE);
    mem_free(content);
    return ok;
}

bool notes_id(struct server *server, const char *name, char id[static PROFILE_ID_SIZE])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char *folder = notes_folder(server, name), *path = path_format("%s/id", folder);
    struct error ignored;
    uint64_t number;
    pthread_mutex_lock(&lock);
    bool ok = read_id(path, id);
    if (!ok && getrandom(&number, sizeof number, 0) == sizeof number) {
        snprintf(id, PROFILE_ID_SIZE, "%016llx", (unsigned long long)number);
        ok = make_directories(folder, &ignored) && file_replace(path, text_of(id), &ignored);
    }
    pthread_mutex_unlock(&lock);
    mem_free(path);
    mem_free(folder);
    return ok;
}

/* British spelling: existing workspaces have files of this name. */
#define FAVORITE_FILE "favourite"

static char *favorite_path(const struct server *server, const char *name)
{
    return path_format("%s/notes/%s/" FAVORITE_FILE, server->data_path, name);
}

bool notes_is_favorite(struct server *server, const char *name)
{
    char *path = favorite_path(server, name);
    bool is_there = access(path, F_OK) == 0;
    mem_free(path);
    return is_there;
}

bool notes_set_favorite(struct server *server, const char *name, bool is_favorite,
                        struct error *err)
{
    char *path = favorite_path(server, name), *folder = notes_folder(server, name);
    bool ok = true;
    if (is_favorite)
        ok = make_directories(folder, err) && file_replace(path, TEXT(""), err);
    else if (unlink(path) != 0 && errno != ENOENT)
        ok = error_in_file(err, path, "cannot remove: %s", strerror(errno));
    mem_free(path);
    mem_free(folder);
    return ok;
}

bool notes_rename(struct server *server, const char *name, const char *new_name, struct error *err)
{
    char *from = notes_folder(server, name), *to = notes_folder(server, new_name);
    folder_remove(to); /* left over from a deleted profile */
    bool ok = rename(from, to) == 0 || errno == ENOENT;
    if (!ok)
        error_in_file(err, from, "cannot rename: %s", strerror(errno));
    mem_free(from);
    mem_free(to);
    return ok;
}

void notes_remove(struct server *server, const char *name)
{
    char *folder = notes_folder(server, name);
    folder_remove(folder);
    mem_free(folder);
}
