/*
 * ndebug_stream.h. Programs of these cores print nothing, so a stream has no events.
 */
#include "neuron/runtime/runtime.h"

#include <nrt/ndebug_stream.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

_Static_assert(sizeof(ndebug_stream_event_header_t) == 64, "as published");

pthread_mutex_t debug_lock = PTHREAD_MUTEX_INITIALIZER;
static int clients[CORES_MAX]; /* descriptor + 1; 0: none */

static NRT_STATUS connect_client(int core, int *fd)
{
    if (!vnc_at(core) || !fd)
        return NRT_INVALID;
    pthread_mutex_lock(&debug_lock);
    NRT_STATUS status = NRT_RESOURCE;
    if (clients[core] == 0) {
        int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (made >= 0) {
            clients[core] = made + 1;
            *fd = made;
            status = NRT_SUCCESS;
        }
    }
    pthread_mutex_unlock(&debug_lock);
    return status;
}

NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd)
{
    IN_RUNTIME(connect_client(logical_nc_idx, stream_fd));
}

/* With the lock held: the core of a stream, or -1. */
static int find(int fd)
{
    for (int i = 0; fd >= 0 && i < CORES_MAX; i++)
        if (clients[i] == fd + 1)
            return i;
    return -1;
}

/* Also after nrt_close. */
void nrt_debug_client_connect_close(int stream_fd)
{
    pthread_mutex_lock(&debug_lock);
    int core = find(stream_fd);
    if (core >= 0) {
        close(stream_fd);
        clients[core] = 0;
    }
    pthread_mutex_unlock(&debug_lock);
}

static NRT_STATUS read_event(int fd, const ndebug_stream_event_header_t *header,
                             void *const *payload)
{
    if (!header || !payload)
        return NRT_INVALID;
    pthread_mutex_lock(&debug_lock);
    NRT_STATUS status = find(fd) >= 0 ? NRT_QUEUE_EMPTY : NRT_INVALID_HANDLE;
    pthread_mutex_unlock(&debug_lock);
    return status;
}

NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
                                           void **payload)
{
    IN_RUNTIME(read_event(stream_fd, header, payload));
}
