/*
 * The server's thread: accepts connections, serves them, and ends with kymo_serve_stop or the
 * program.
 */
#include "kymo/server.h"
#include "base/clock.h"

#include "capture/server/connection.h"
#include "capture/server/descriptors.h"
#include "capture/server/recording.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PORT = 65535 };

static struct {
    pthread_mutex_t lock; /* for starting and stopping */
    bool is_running;
    pthread_t thread;
    int wake;
    int listeners[SERVER_LISTENERS];
    size_t listener_count;
    atomic_bool is_stopping, is_over;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = -1};

/* Of the server's thread. */
static struct connection *connections[CONNECTION_MAX];
static size_t connection_count;
static int64_t paused_until_ms;

static void wake_up(void)
{
    uint64_t one = 1;
    ssize_t ignored = write(server.wake, &one, sizeof one);
    (void)ignored;
}

/* ---- Sockets ------------------------------------------------------------------------------- */

static int open_socket(void *context)
{
    const struct addrinfo *address = context;
    return socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                  address->ai_protocol);
}

static int open_wake(void *context)
{
    (void)context;
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static int open_accepted(void *context)
{
    return accept4(*(const int *)context, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void close_listeners(void)
{
    while (server.listener_count > 0)
        descriptor_close(server.listeners[--server.listener_count]);
}

/* Returns the port, or a negative errno. */
static int listen_at(struct addrinfo *address, unsigned port)
{
    const int on = 1;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    in_port_t number = htons((uint16_t)port);
    if (address->ai_family == AF_INET)
        ((struct sockaddr_in *)address->ai_addr)->sin_port = number;
    else
        ((struct sockaddr_in6 *)address->ai_addr)->sin6_port = number;
    int fd = descriptor_keep(open_socket, address);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, SERVER_BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) != 0) {
        int problem = errno;
        descriptor_close(fd);
        return -problem;
    }
    server.listeners[server.listener_count++] = fd;
    return ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                            : ((struct sockaddr_in6 *)&bound)->sin6_port);
}

/* All addresses with one port. Those of a family that this system does not have are left out. */
static int listen_at_all(struct addrinfo *addresses, unsigned port)
{
    int result = -EADDRNOTAVAIL;
    for (struct addrinfo *at = addresses; at && server.listener_count < SERVER_LISTENERS;
         at = at->ai_next) {
        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        int one = listen_at(at, port);
        if (one == -EAFNOSUPPORT || one == -EADDRNOTAVAIL)
            continue;
        result = one;
        if (one < 0)
            break;
        port = (unsigned)one;
    }
    if (result < 0)
        close_listeners();
    return result;
}

static int listen_on(const char *host, unsigned port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses;
    /* Without a name and AI_PASSIVE, these are the loopback addresses. */
    int problem = getaddrinfo(host && *host ? host : NULL, "0", &hints, &addresses);
    if (problem != 0)
        return problem == EAI_SYSTEM ? -errno : -EADDRNOTAVAIL;
    int result = -EADDRINUSE;
    for (int i = 0; i < SERVER_PORT_ATTEMPTS && result == -EADDRINUSE; i++) {
        result = listen_at_all(addresses, port);
        if (port != 0)
            break;
    }
    freeaddrinfo(addresses);
    return result;
}

/* ---- Connections --------------------------------------------------------------------------- */

/* Those that are left stay in the order in which they came. */
static void drop_connection(size_t index)
{
    connection_close(connections[index]);
    connection_count--;
    memmove(connections + index, connections + index + 1,
            (connection_count - index) * sizeof *connections);
}

/* Of those that may give way, the one idle longest. */
static void drop_oldest(bool (*gives_way)(const struct connection *))
{
    size_t oldest = CONNECTION_MAX;
    for (size_t i = 0; i < connection_count; i++)
        if (gives_way(connections[i]) &&
            (oldest == CONNECTION_MAX ||
             connections[i]->served_ms < connections[oldest]->served_ms))
            oldest = i;
    if (oldest < CONNECTION_MAX)
        drop_connection(oldest);
}

/* Clients that stop halfway or do nothing keep nobody out: there is always one that gives way. */
static void make_room(void)
{
    static_assert(1 + CONNECTION_MONITORS < CONNECTION_MAX, "a capture and monitors leave room");
    if (connection_count == CONNECTION_MAX)
        drop_oldest(connection_is_waiting);
}

/* Profiles that clients do not take lie on the disk, and each has a descriptor. */
static void limit_profiles(void)
{
    static_assert(CONNECTION_MAX + CONNECTION_PROFILES + SERVER_LISTENERS + 4 < SERVER_DESCRIPTORS,
                  "profiles leave room for connections, the server's own and a capture's");
    size_t count = 0;
    for (size_t i = 0; i < connection_count; i++)
        count += connection_profiles(connections[i]);
    if (count > CONNECTION_PROFILES)
        drop_oldest(connection_has_profile);
}

/* Finds peers that vanish silently. */
static void set_keepalive(int fd)
{
    const int on = 1, idle = SERVER_KEEPALIVE_S, interval = SERVER_PROBE_S, count = SERVER_PROBES;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void accept_one(int listener, int64_t now_ms)
{
    int fd = descriptor_keep(open_accepted, &listener);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            paused_until_ms = now_ms + SERVER_PAUSE_MS;
        return;
    }
    make_room();
    set_keepalive(fd);
    struct connection *connection = connection_open(fd, now_ms, wake_up);
    if (connection)
        connections[connection_count++] = connection;
}

static void serve_connections(const struct pollfd *polled, size_t count, int64_t now_ms)
{
    for (size_t i = 0; i < count; i++) {
        struct connection *connection = connections[i];
        if (polled[i].revents & (POLLIN | POLLERR | POLLHUP | POLLNVAL))
            connection_read(connection, now_ms);
    }
}

/* After everything was read, so that the effects of one connection reach the others. */
static void finish_connections(int64_t now_ms)
{
    for (size_t i = connection_count; i-- > 0;) {
        struct connection *connection = connections[i];
        connection_tick(connection, now_ms);
        connection_write(connection, now_ms);
        if (connection->is_broken || connection_is_late(connection, now_ms))
            drop_connection(i);
    }
}

static int time_to_wait(int64_t now_ms)
{
    int64_t wait_ms = now_ms < paused_until_ms ? SERVER_PAUSE_MS : SERVER_TICK_MS;
    for (size_t i = 0; i < connection_count; i++)
        for (const struct stream *stream = connections[i]->streams; stream; stream = stream->next)
            if (stream->state == STREAM_MONITORS && stream->due_ms - now_ms < wait_ms)
                wait_ms = stream->due_ms > now_ms ? stream->due_ms - now_ms : 0;
    return (int)wait_ms;
}

static void take_recorded(int64_t now_ms)
{
    struct recorded_profile recorded;
    if (!recording_take(&recorded))
        return;
    connection_answer_recorded(&recorded, now_ms);
    limit_profiles();
}

/* One round. False when the server's descriptors have been closed under it. */
static bool serve_round(void)
{
    struct pollfd polled[1 + SERVER_LISTENERS + CONNECTION_MAX];
    uint64_t ignored;
    int64_t now_ms = clock_monotonic_ms();
    size_t listeners = now_ms < paused_until_ms ? 0 : server.listener_count, count = 0;
    polled[count++] = (struct pollfd){.fd = server.wake, .events = POLLIN};
    for (size_t i = 0; i < listeners; i++)
        polled[count++] = (struct pollfd){.fd = server.listeners[i], .events = POLLIN};
    size_t first = count, served = connection_count;
    for (size_t i = 0; i < served; i++) {
        short events = connection_wants_write(connections[i]) ? POLLIN | POLLOUT : POLLIN;
        polled[count++] = (struct pollfd){.fd = connections[i]->fd, .events = events};
    }
    if (poll(polled, count, time_to_wait(now_ms)) < 0 && errno != EINTR)
        return false;
    if (polled[0].revents & POLLNVAL || read(server.wake, &ignored, sizeof ignored) == 0)
        return false;
    now_ms = clock_monotonic_ms();
    take_recorded(now_ms);
    serve_connections(polled + first, served, now_ms);
    for (size_t i = 0; i < listeners; i++) {
        if (polled[1 + i].revents & POLLNVAL)
            return false;
        if (polled[1 + i].revents & POLLIN)
            accept_one(server.listeners[i], now_ms);
    }
    finish_connections(now_ms);
    return true;
}

static void *run(void *context)
{
    (void)context;
    pthread_setname_np(pthread_self(), "kymo-server");
    while (!atomic_load(&server.is_stopping) && serve_round())
        continue;
    while (connection_count > 0)
        drop_connection(connection_count - 1);
    recording_cancel();
    while (recording_is_active()) {
        take_recorded(clock_monotonic_ms());
        poll(&(struct pollfd){.fd = server.wake, .events = POLLIN}, 1, SERVER_PAUSE_MS);
    }
    atomic_store(&server.is_over, true);
    return NULL;
}

/* ---- Fork ---------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&server.lock);
    recording_lock();
    descriptors_lock();
}

static void after_fork(void)
{
    descriptors_unlock();
    recording_unlock();
    pthread_mutex_unlock(&server.lock);
}

/* The server's thread's own data is left where it is. */
static void after_fork_in_child(void)
{
    descriptors_close_all();
    recording_forked();
    connections_forked();
    connection_count = 0;
    server.listener_count = 0;
    server.is_running = false;
    after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- Control ------------------------------------------------------------------------------- */

/* The lock is held. */
static int start_thread(void)
{
    sigset_t all, before;
    atomic_store(&server.is_stopping, false);
    atomic_store(&server.is_over, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int problem = pthread_create(&server.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -problem;
}

int kymo_serve(const char *host, unsigned port)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (port > MAX_PORT)
        return -EINVAL;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&server.lock);
    int result = server.is_running ? -EALREADY : listen_on(host, port);
    if (result >= 0) {
        server.wake = descriptor_keep(open_wake, NULL);
        int problem = server.wake < 0 ? -errno : start_thread();
        if (problem != 0) {
            close_listeners();
            if (server.wake >= 0)
                descriptor_close(server.wake);
            result = problem;
        }
        server.is_running = problem == 0;
    }
    pthread_mutex_unlock(&server.lock);
    return result;
}

int kymo_serve_stop(void)
{
    pthread_mutex_lock(&server.lock);
    bool was_running = server.is_running;
    if (was_running) {
        atomic_store(&server.is_stopping, true);
        wake_up();
        pthread_join(server.thread, NULL);
        close_listeners();
        descriptor_close(server.wake);
        server.is_running = false;
    }
    pthread_mutex_unlock(&server.lock);
    return was_running ? 0 : -EALREADY;
}

void kymo_serve_hooks(void (*start)(const void *options, size_t size), void (*stop)(void))
{
    recording_set_hooks(start, stop);
}

void kymo_serve_merged(void (*begin)(const void *options, size_t size),
                       void (*end)(const char *path))
{
    recording_set_merged(begin, end);
}

/* At exit a capture's files are removed, if its thread is not held up by a hook. */
__attribute__((destructor)) static void stop_with_program(void)
{
    if (!server.is_running)
        return;
    recording_set_hooks(NULL, NULL); /* the library they are in may be gone already */
    recording_set_merged(NULL, NULL);
    atomic_store(&server.is_stopping, true);
    wake_up();
    for (int i = 0; i < SERVER_EXIT_MS && !atomic_load(&server.is_over); i++)
        usleep(1000);
    if (atomic_load(&server.is_over))
        pthread_join(server.thread, NULL);
}
