/*
 * Appends to the files of a session.
 */
#include "capture/recorder/append.h"

#include "capture/recorder/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool append_to_file(const char *rings, const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", rings, name) >= PATH_MAX)
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size;
    if (!ok) {
        struct error err;
        error_in_file(&err, path, "cannot be written: %s; nothing more is added to it",
                      strerror(errno));
        capture_complain(&err);
    }
    if (fd >= 0)
        close(fd);
    return ok;
}
