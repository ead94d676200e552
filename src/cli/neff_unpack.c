/*
 * kymo neff unpack: writes members of a NEFF to a directory. Names come from the file: nothing is
 * written outside the directory, and no link is followed or made.
 */
#include "cli/neff_options.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Relative, and every part of it a plain name. */
static bool is_safe(const char *name)
{
    for (const char *at = name;; at++) {
        size_t size = strcspn(at, "/");
        if (size == 0 || (size == 1 && at[0] == '.') || (size == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        at += size;
        if (*at == '\0')
            return true;
    }
}

static bool check_names(const struct neff_info *info, const char *path, struct error *err)
{
    for (size_t i = 0; i < info->member_count; i++)
        if (!is_safe(info->members[i].name))
            return error_in_file(err, path, "member %s would be written outside the directory",
                                 info->members[i].name);
    return true;
}

/* Opens the directory of a name, with those on the way made; *last is the name in it. */
static int open_parent(int root, const char *name, const char **last)
{
    int directory = dup(root);
    for (const char *slash; directory >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char *part = mem_copy_text(name, (size_t)(slash - name));
        int inner = -1;
        if (mkdirat(directory, part, 0777) == 0 || errno == EEXIST)
            inner = openat(directory, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int reason = errno;
        mem_free(part);
        close(directory);
        directory = inner;
        errno = reason;
    }
    *last = name;
    return directory;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return true;
}

static bool write_member(int root, const char *directory, const struct neff_member *member,
                         bool force, struct error *err)
{
    const char *last;
    int parent = open_parent(root, member->name, &last);
    int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (force ? O_TRUNC : O_EXCL);
    int fd = parent >= 0 ? openat(parent, last, flags, 0666) : -1;
    bool ok = fd >= 0 && write_all(fd, member->data, member->size);
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        reason = errno;
        ok = false;
    }
    if (parent >= 0)
        close(parent);
    if (ok)
        return true;
    return error_in_file(err, directory, "cannot write %s: %s%s", member->name, strerror(reason),
                         reason == EEXIST ? "; --force overwrites files" : "");
}

/* The file's name without its folder and without .neff. */
static char *default_directory(const char *file)
{
    const char *slash = strrchr(file, '/');
    struct text name = text_of(slash ? slash + 1 : file), ending = TEXT(".neff");
    if (text_ends(name, ending) && name.size > ending.size)
        return mem_copy_text(name.data, name.size - ending.size);
    return path_format("%s.unpacked", name.data);
}

static bool unpack(const struct neff *neff, const struct neff_options *options,
                   const char *directory, struct error *err)
{
    const struct neff_info *info = neff_info(neff);
    if (!check_names(info, options->file, err))
        return false;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return error_in_file(err, directory, "cannot create the directory: %s", strerror(errno));
    int root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return error_in_file(err, directory, "cannot open the directory: %s", strerror(errno));
    bool ok = true;
    for (size_t i = 0; ok && i < info->member_count; i++)
        ok = write_member(root, directory, &info->members[i], options->force, err);
    close(root);
    if (ok)
        log_info("%zu files written to %s", info->member_count, directory);
    return ok;
}

int neff_unpack(const struct neff_options *options)
{
    struct error err;
    struct neff *neff = neff_open(options->file, &err);
    bool ok = neff != NULL;
    if (ok) {
        char *directory = options->output ? mem_copy_text(options->output, strlen(options->output))
                                          : default_directory(options->file);
        ok = unpack(neff, options, directory, &err);
        mem_free(directory);
    }
    neff_close(neff);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
