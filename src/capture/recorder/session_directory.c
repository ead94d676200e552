/*
 * Creates the directory of a capture.
 */
#include "capture/recorder/session_directory.h"

#include "base/directory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TRIES = 1000 };

/* The first line of a file; false when it has none. */
static bool first_line(const char *path, char *line, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, line, size - 1);
    close(fd);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, " \t\r\n")] = '\0';
    return line[0] != '\0';
}

/* It becomes part of a file's name. */
static void make_plain(char *instance)
{
    for (char *c = instance; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-.", *c))
            *c = '_';
    if (instance[0] == '.')
        instance[0] = '_';
}

void instance_id(char *instance, size_t size)
{
    const char *given = secure_getenv("KYMO_INSTANCE_ID");
    /* On EC2 the board is labeled with the instance; cloud-init, if it ran, has noted it too. */
    if (given && *given)
        snprintf(instance, size, "%s", given);
    else if (!(first_line("/sys/devices/virtual/dmi/id/board_asset_tag", instance, size) &&
               strncmp(instance, "i-", 2) == 0) &&
             !(first_line("/var/lib/cloud/data/instance-id", instance, size) &&
               strncmp(instance, "iid-", 4) != 0 && strcmp(instance, "nocloud") != 0) &&
             gethostname(instance, size) != 0)
        snprintf(instance, size, "host");
    instance[size - 1] = '\0';
    make_plain(instance);
}

/* In a directory that is writable for all, other users may have prepared a link or a directory of
 * their own. */
static bool is_own_directory(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/* rings/ is what two captures cannot both make. */
static bool claim(const char *directory)
{
    char path[PATH_MAX];
    struct stat status;
    if (mkdir(directory, 0777) != 0 && (errno != EEXIST || !is_own_directory(directory)))
        return false;
    snprintf(path, sizeof path, "%s/ntrace.pb", directory);
    if (lstat(path, &status) == 0) {
        errno = EEXIST;
        return false;
    }
    snprintf(path, sizeof path, "%s/rings", directory);
    return mkdir(path, 0777) == 0;
}

/* The name is taken by something that is not ours. */
static bool claim_beside(char directory[static SESSION_DIRECTORY_MAX])
{
    size_t size = strlen(directory);
    for (int i = 1; i <= MOST_TRIES; i++) {
        snprintf(directory + size, SESSION_DIRECTORY_MAX - size, "_%d", i);
        if (claim(directory))
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

static bool claim_inside(char directory[static SESSION_DIRECTORY_MAX])
{
    size_t size = strlen(directory);
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    char stamp[32];
    strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &utc);
    for (int i = 0; i < MOST_TRIES; i++) {
        if (i == 0)
            snprintf(directory + size, SESSION_DIRECTORY_MAX - size, "/%s", stamp);
        else
            snprintf(directory + size, SESSION_DIRECTORY_MAX - size, "/%s_%d", stamp, i);
        if (claim(directory))
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* Absolute, because the program may change its directory. Processes that want the same name at the
 * same time each get one of their own: mkdir decides. */
bool session_directory_make(char directory[static SESSION_DIRECTORY_MAX], const char *output,
                            const char *instance, struct error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", output) >= SESSION_DIRECTORY_MAX) {
        errno = ENAMETOOLONG;
        return error_in_file(err, output, "cannot be made: %s", strerror(errno));
    }
    int problem = directory_make_each(path, NULL);
    if (problem != 0) {
        errno = problem;
        return error_in_file(err, output, "cannot be made: %s", strerror(problem));
    }
    char real[PATH_MAX];
    if (!realpath(path, real)) /* the program may go elsewhere */
        return error_in_file(err, output, "cannot be found: %s", strerror(errno));
    if (snprintf(directory, SESSION_DIRECTORY_MAX, "%s/%s_pid_%d", real, instance, (int)getpid()) >=
        SESSION_DIRECTORY_MAX - 64) {
        errno = ENAMETOOLONG;
        return error_in_file(err, output, "cannot be used: %s", strerror(errno));
    }
    if (claim(directory))
        return true;
    if (errno == EEXIST &&
        (is_own_directory(directory) ? claim_inside(directory) : claim_beside(directory)))
        return true;
    return error_in_file(err, directory, "cannot be made: %s", strerror(errno));
}
