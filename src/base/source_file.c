/*
 * Finds source files below a directory.
 */
#include "base/source_file.h"

#include "base/array.h"
#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* A directory of more is not one of sources, as the root of a system by mistake. */
enum { MAX_FILES = 200000, MAX_DEPTH = 32 };

struct source_root {
    char *path; /* real */
    bool is_listed;
    ARRAY(char *) files; /* below the path; at most MAX_FILES */
};

struct source_root *source_root_open(const char *directory)
{
    char *real = directory ? realpath(directory, NULL) : NULL;
    if (!real)
        return NULL;
    struct source_root *root = mem_zeroed(1, sizeof *root);
    root->path = mem_copy_text(real, strlen(real));
    free(real);
    return root;
}

void source_root_close(struct source_root *root)
{
    if (!root)
        return;
    char **file;
    array_each (file, &root->files)
        mem_free(*file);
    array_free(&root->files);
    mem_free(root->path);
    mem_free(root);
}

static bool is_below(const char *path, const char *root)
{
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '/' || root[size - 1] == '/');
}

/* A file of the directory, whatever links lead to it; NULL if there is none. */
static char *real_file(const struct source_root *root, const char *name)
{
    char *path = path_format("%s/%s", root->path, name), *real = realpath(path, NULL),
         *found = NULL;
    if (real && is_below(real, root->path) && !file_is_directory(real))
        found = mem_copy_text(real, strlen(real));
    free(real);
    mem_free(path);
    return found;
}

struct folder {
    char *name; /* below the root; "" is the root */
    unsigned depth;
};

/* Links to directories are not followed: they may lead in circles. */
static void list_files(struct source_root *root)
{
    ARRAY(struct folder) folders = {0};
    *array_push(&folders) = (struct folder){mem_copy_text("", 0), 0};
    root->is_listed = true;
    while (folders.count > 0) {
        struct folder folder = folders.items[--folders.count];
        char *path = path_format("%s/%s", root->path, folder.name);
        DIR *directory = opendir(path);
        const struct dirent *entry;
        while (directory && root->files.count < MAX_FILES && (entry = readdir(directory))) {
            if (entry->d_name[0] == '.')
                continue;
            char *name = folder.name[0] ? path_format("%s/%s", folder.name, entry->d_name)
                                        : mem_copy_text(entry->d_name, strlen(entry->d_name));
            if (entry->d_type == DT_REG)
                *array_push(&root->files) = name;
            else if (entry->d_type == DT_DIR && folder.depth < MAX_DEPTH)
                *array_push(&folders) = (struct folder){name, folder.depth + 1};
            else
                mem_free(name);
        }
        if (directory)
            closedir(directory);
        mem_free(path);
        mem_free(folder.name);
    }
    array_free(&folders);
}

/* How many of their last parts two paths share. */
static unsigned common_parts(const char *a, const char *b)
{
    size_t i = strlen(a), k = strlen(b);
    unsigned parts = 0;
    for (; i > 0 && k > 0 && a[i - 1] == b[k - 1]; i--, k--)
        parts += a[i - 1] == '/';
    return parts + ((i == 0 || a[i - 1] == '/') && (k == 0 || b[k - 1] == '/'));
}

/* Files such as __init__.py are in every folder: of them a name says nothing. */
static unsigned parts_needed(const char *name)
{
    const char *last = strrchr(name, '/');
    return strncmp(last ? last + 1 : name, "__", 2) == 0 ? 2 : 1;
}

static char *find_listed(struct source_root *root, const char *name)
{
    const char *best = NULL;
    unsigned most = parts_needed(name) - 1;
    if (!root->is_listed)
        list_files(root);
    char **file;
    array_each (file, &root->files) {
        unsigned parts = common_parts(*file, name);
        if (parts > most)
            best = *file;
        else if (parts == most)
            best = NULL; /* several are as good */
        most = parts > most ? parts : most;
    }
    return best ? real_file(root, best) : NULL;
}

char *source_file_find(struct source_root *root, const char *name)
{
    char *found = NULL;
    for (const char *at = name; root && at && !found; at = strchr(at, '/')) {
        at += strspn(at, "/");
        found = *at ? real_file(root, at) : NULL;
    }
    return found || !root ? found : find_listed(root, name);
}
