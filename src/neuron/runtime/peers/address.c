/*
 * Sockets.
 */
#include "neuron/runtime/peers/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BACKLOG = 256, IDLE_S = 5, PROBE_S = 2, PROBES = 3, UNANSWERED_MS = 30000 };

static bool from_socket(const struct sockaddr_storage *from, struct peer_address *address)
{
    *address = (struct peer_address){0};
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)from;
        address->family = 4;
        address->port = ntohs(in->sin_port);
        memcpy(address->ip, &in->sin_addr, 4);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;
        address->family = 6;
        address->port = ntohs(in->sin6_port);
        memcpy(address->ip, &in->sin6_addr, 16);
    }
    return address->family != 0;
}

static socklen_t to_socket(const struct peer_address *address, struct sockaddr_storage *to)
{
    memset(to, 0, sizeof *to);
    if (address->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)to;
        in->sin_family = AF_INET;
        in->sin_port = htons(address->port);
        memcpy(&in->sin_addr, address->ip, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)to;
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(address->port);
    memcpy(&in->sin6_addr, address->ip, 16);
    return sizeof *in;
}

/* A name may have several addresses: all are returned, as only trying tells which one works. */
struct peer_address *addresses_of(const char *text, size_t *count, struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const char *colon = strrchr(text, ':'), *host = text;
    size_t size = colon ? (size_t)(colon - text) : 0;
    if (size > 1 && text[0] == '[' && text[size - 1] == ']') {
        host++;
        size -= 2;
    }
    char *end = NULL;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (size == 0 || port == 0 || port > UINT16_MAX || *end) {
        error_set(err, "%s is not an address with a port, such as 10.0.0.1:62182", text);
        return NULL;
    }
    char *name = mem_copy_text(host, size);
    int problem = getaddrinfo(name, colon + 1, &hints, &found);
    mem_free(name);
    if (problem != 0) {
        error_set(err, "%s: %s", text, gai_strerror(problem));
        return NULL;
    }
    ARRAY(struct peer_address) all = {0};
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        struct sockaddr_storage storage = {0};
        if (at->ai_addrlen > sizeof storage)
            continue;
        memcpy(&storage, at->ai_addr, at->ai_addrlen);
        if (!from_socket(&storage, array_push(&all)))
            all.count--;
    }
    freeaddrinfo(found);
    *count = all.count;
    if (all.count == 0)
        error_set(err, "%s: neither an IPv4 nor an IPv6 address", text);
    return all.items;
}

const char *address_text(const struct peer_address *address, char text[static ADDRESS_TEXT])
{
    char ip[INET6_ADDRSTRLEN];
    if (!inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->ip, ip, sizeof ip))
        strcpy(ip, "?");
    snprintf(text, ADDRESS_TEXT, address->family == 4 ? "%s:%u" : "[%s]:%u", ip, address->port);
    return text;
}

bool address_own(int file, struct peer_address *address)
{
    struct sockaddr_storage storage = {0};
    socklen_t size = sizeof storage;
    return getsockname(file, (struct sockaddr *)&storage, &size) == 0 &&
           from_socket(&storage, address);
}

bool address_other(int file, struct peer_address *address)
{
    struct sockaddr_storage storage = {0};
    socklen_t size = sizeof storage;
    return getpeername(file, (struct sockaddr *)&storage, &size) == 0 &&
           from_socket(&storage, address);
}

static int make_socket(const struct peer_address *address, struct sockaddr_storage *to,
                       socklen_t *size)
{
    *size = to_socket(address, to);
    return socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int address_listen(struct peer_address *address)
{
    struct sockaddr_storage to;
    socklen_t size;
    int file = make_socket(address, &to, &size);
    if (file < 0)
        return -1;
    if (setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
        bind(file, (struct sockaddr *)&to, size) == 0 && listen(file, BACKLOG) == 0 &&
        address_own(file, address))
        return file;
    int problem = errno;
    close(file);
    errno = problem;
    return -1;
}

int address_connect(const struct peer_address *address)
{
    struct sockaddr_storage to;
    socklen_t size;
    int file = make_socket(address, &to, &size);
    if (file < 0)
        return -1;
    if (connect(file, (struct sockaddr *)&to, size) == 0 || errno == EINPROGRESS)
        return file;
    int problem = errno;
    close(file);
    errno = problem;
    return -1;
}

/* Sending blocks, receiving does not. Keepalive notices a machine that vanishes silently. */
void connection_tune(int file, uint64_t timeout_s)
{
    const struct timeval limit = {.tv_sec = (time_t)timeout_s};
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(file, IPPROTO_TCP, TCP_KEEPIDLE, &(int){IDLE_S}, sizeof(int));
    setsockopt(file, IPPROTO_TCP, TCP_KEEPINTVL, &(int){PROBE_S}, sizeof(int));
    setsockopt(file, IPPROTO_TCP, TCP_KEEPCNT, &(int){PROBES}, sizeof(int));
    setsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){UNANSWERED_MS}, sizeof(int));
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}
