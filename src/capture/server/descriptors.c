/*
 * A list of open descriptors.
 */
#include "capture/server/descriptors.h"

#include "capture/server/limits.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int kept[SERVER_DESCRIPTORS];
static int count;

int descriptor_keep(int (*open)(void *context), void *context)
{
    pthread_mutex_lock(&lock);
    int fd = open(context);
    if (fd >= 0 && count == SERVER_DESCRIPTORS) {
        close(fd);
        fd = -1;
        errno = EMFILE;
    } else if (fd >= 0) {
        kept[count++] = fd;
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

void descriptor_close(int fd)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        if (kept[i] == fd) {
            kept[i] = kept[--count];
            close(fd);
            break;
        }
    pthread_mutex_unlock(&lock);
}

void descriptors_lock(void)
{
    pthread_mutex_lock(&lock);
}

void descriptors_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void descriptors_close_all(void)
{
    while (count > 0)
        close(kept[--count]);
}
