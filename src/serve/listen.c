/*
 * Listening sockets.
 */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024, MOST_TRIES = 100 };

static bool find_address(const char *host, struct sockaddr_storage *address, socklen_t *size,
                         struct error *err)
{
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0)
        return error_set(err, "--host: '%s' is no address of this machine: %s", host,
                         gai_strerror(result));
    const struct addrinfo *chosen = found;
    for (const struct addrinfo *one = found; one; one = one->ai_next)
        if (one->ai_family == AF_INET && chosen->ai_family != AF_INET)
            chosen = one;
    memcpy(address, chosen->ai_addr, chosen->ai_addrlen);
    *size = chosen->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static in_port_t *port_of(struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return &((struct sockaddr_in6 *)(void *)address)->sin6_port;
    return &((struct sockaddr_in *)(void *)address)->sin_port;
}

bool is_loopback(const char *host)
{
    struct sockaddr_storage address;
    socklen_t size;
    struct error ignored;
    if (!find_address(host, &address, &size, &ignored))
        return false;
    if (address.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)(void *)&address)->sin6_addr);
    return ntohl(((struct sockaddr_in *)(void *)&address)->sin_addr.s_addr) >> 24 == 127;
}

/* The socket; -1 with errno set. */
static int try_port(struct sockaddr_storage *address, socklen_t size, uint16_t *port)
{
    int one = 1, fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    *port_of(address) = htons(*port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)address, size) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)address, &size) == 0) {
        *port = ntohs(*port_of(address));
        return fd;
    }
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

bool listen_on(const char *host, struct serve_port wanted, const char *option, uint16_t *port,
               int *fd, struct error *err)
{
    struct sockaddr_storage address;
    socklen_t size;
    if (!find_address(host, &address, &size, err))
        return false;
    *port = wanted.number;
    *fd = try_port(&address, size, port);
    if (*fd >= 0)
        return true;
    if (errno != EADDRINUSE)
        return error_set(err, "cannot listen on port %u of %s: %s", wanted.number, host,
                         strerror(errno));
    for (unsigned next = wanted.number + 1u;
         next <= UINT16_MAX && next <= wanted.number + (unsigned)MOST_TRIES; next++) {
        *port = (uint16_t)next;
        *fd = try_port(&address, size, port);
        if (*fd < 0)
            continue;
        if (!wanted.is_given) {
            log_info("port %u is in use; %u is taken in its place", wanted.number, next);
            return true;
        }
        close(*fd);
        *fd = -1;
        return error_set(err, "port %u is in use; %u is free: --%s %u", wanted.number, next, option,
                         next);
    }
    return error_set(err, "port %u is in use, and so are the next ones; --%s names another",
                     wanted.number, option);
}
