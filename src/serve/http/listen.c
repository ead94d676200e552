/*
 * Opens listening sockets.
 */
#include "serve/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool find_address(const char *host, union address *address, socklen_t *size,
                         struct error *err)
{
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    int result = getaddrinfo(host, NULL, &hints, &found);
    const struct addrinfo *chosen = found;
    *address = (union address){.v6 = {0}};
    *size = 0;
    for (const struct addrinfo *one = found; one; one = one->ai_next)
        if (one->ai_family == AF_INET && chosen->ai_family != AF_INET)
            chosen = one;
    bool ok = result == 0 && chosen && chosen->ai_addrlen <= sizeof *address;
    if (ok) {
        memcpy(address, chosen->ai_addr, chosen->ai_addrlen);
        *size = chosen->ai_addrlen;
    } else {
        error_set(err, "--host: cannot resolve '%s': %s", host,
                  result ? gai_strerror(result) : "no address found");
    }
    if (found)
        freeaddrinfo(found);
    return ok;
}

static in_port_t *port_of(union address *address)
{
    return address->any.sa_family == AF_INET6 ? &address->v6.sin6_port : &address->v4.sin_port;
}

bool is_loopback(const char *host)
{
    union address address;
    socklen_t size;
    struct error ignored;
    if (!find_address(host, &address, &size, &ignored))
        return false;
    if (address.any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
    return ntohl(address.v4.sin_addr.s_addr) >> 24 == 127;
}

/* Returns the socket, or -1 with errno set. */
static int try_port(union address *address, socklen_t size, uint16_t *port)
{
    int one = 1, fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    *port_of(address) = htons(*port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, &address->any, size) == 0 && listen(fd, LISTEN_BACKLOG) == 0 &&
        getsockname(fd, &address->any, &size) == 0) {
        *port = ntohs(*port_of(address));
        return fd;
    }
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

/* A default port may move to the next free one. A port the user named may not: links and tunnels
 * point to it, so the error suggests a free one instead. */
bool listen_on(const char *host, struct serve_port wanted, const char *option, uint16_t *port,
               int *fd, struct error *err)
{
    union address address;
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
         next <= UINT16_MAX && next <= wanted.number + (unsigned)LISTEN_MAX_PORTS; next++) {
        *port = (uint16_t)next;
        *fd = try_port(&address, size, port);
        if (*fd < 0)
            continue;
        if (!wanted.is_given) {
            log_info("port %u is in use; using %u instead", wanted.number, next);
            return true;
        }
        close(*fd);
        *fd = -1;
        return error_set(err, "port %u is in use; %u is free: --%s %u", wanted.number, next, option,
                         next);
    }
    return error_set(err, "port %u and the next ones are in use; choose another with --%s",
                     wanted.number, option);
}
