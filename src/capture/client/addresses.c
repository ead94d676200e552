/*
 * Reads addresses and makes the names of files of them.
 */
#include "capture/client/addresses.h"

#include "capture/client/remote.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>

enum { MAX_PORT = 65535, PORT_DIGITS = 5, MAX_NAME = 255 };

static bool is_ipv6(const char *host, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    const char *zone = memchr(host, '%', size);
    size_t length = zone ? (size_t)(zone - host) : size;
    if (length >= sizeof text)
        return false;
    memcpy(text, host, length);
    text[length] = '\0';
    for (const char *c = zone ? zone + 1 : host + size; c < host + size; c++)
        if (!isalnum((unsigned char)*c))
            return false;
    return inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_name(const char *host, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)host[i]) && !strchr("-._", host[i]))
            return false;
    return size > 0 && size < MAX_NAME;
}

/* "[" "%" of a zone are written as in a URL. */
static char *url_host(const char *host, size_t size, bool is_literal)
{
    const char *zone = memchr(host, '%', size);
    if (!is_literal)
        return mem_copy_text(host, size);
    if (!zone)
        return path_format("[%.*s]", (int)size, host);
    return path_format("[%.*s%%25%.*s]", (int)(zone - host), host, (int)(host + size - zone - 1),
                       zone + 1);
}

static char *file_name(const char *host, size_t size, unsigned port)
{
    char *name = path_format("%.*s_%u", (int)size, host, port);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
            *c = '_';
    return name;
}

static bool read_port(const char *text, size_t size, unsigned *port)
{
    *port = 0;
    for (size_t i = 0; i < size && i <= PORT_DIGITS; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        *port = *port * 10 + (unsigned)(text[i] - '0');
    }
    return size > 0 && size <= PORT_DIGITS && *port > 0 && *port <= MAX_PORT;
}

static bool read_address(struct remote_address *address, const char *text, size_t size,
                         struct error *err)
{
    bool is_literal = size > 0 && *text == '[';
    const char *host = text + is_literal, *end = text + size;
    const char *behind = is_literal ? memchr(text, ']', size) : memrchr(text, ':', size);
    const char *colon = behind ? behind + is_literal : NULL;
    unsigned port;
    if (!colon || colon >= end || *colon != ':' ||
        !read_port(colon + 1, (size_t)(end - colon - 1), &port))
        return error_set(err, "'%.*s' is not an address, such as host:9999 or [::1]:9999",
                         (int)size, text);
    size_t host_size = (size_t)(behind - host);
    if (!is_literal && memchr(host, ':', host_size))
        return error_set(err, "'%.*s': IPv6 addresses are written in brackets, as in [::1]:9999",
                         (int)size, text);
    if (!(is_literal ? is_ipv6(host, host_size) : is_name(host, host_size)))
        return error_set(err, "'%.*s' is not the name or address of a host", (int)host_size, host);
    *address = (struct remote_address){.given = mem_copy_text(text, size),
                                       .host = url_host(host, host_size, is_literal),
                                       .name = file_name(host, host_size, port),
                                       .port = port};
    return true;
}

static bool set_names(address_list *list, const char *names, struct error *err)
{
    struct remote_address *address;
    size_t count = 1;
    for (const char *c = names; *c; c++)
        count += *c == ',';
    if (count != list->count)
        return error_set(err, "override_hostnames has %zu name%s for %zu address%s", count,
                         count == 1 ? "" : "s", list->count, list->count == 1 ? "" : "es");
    array_each (address, list) {
        size_t size = strcspn(names, ",");
        if (size == 0 || size >= MAX_NAME || *names == '.')
            return error_set(err, "override_hostnames: '%.*s' is not a name", (int)size, names);
        mem_free(address->name);
        address->name = mem_copy_text(names, size);
        names += size + 1;
    }
    return true;
}

/* Two of one name would be one file. */
static bool check_names(const address_list *list, struct error *err)
{
    for (size_t i = 1; i < list->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(list->items[i].name, list->items[k].name) == 0)
                return error_set(err, "%s and %s have the same name, %s", list->items[k].given,
                                 list->items[i].given, list->items[i].name);
    return true;
}

bool addresses_read(address_list *list, const char *text, const char *names, struct error *err)
{
    *list = (address_list){0};
    bool ok = true;
    for (const char *at = text; ok;) {
        struct remote_address address;
        size_t size = strcspn(at, ",");
        ok = read_address(&address, at, size, err);
        if (ok)
            *array_push(list) = address;
        if (ok && list->count > REMOTE_MAX_HOSTS)
            ok = error_set(err, "more than %d addresses", REMOTE_MAX_HOSTS);
        if (!at[size])
            break;
        at += size + 1;
    }
    ok = ok && (!names || set_names(list, names, err)) && check_names(list, err);
    if (!ok)
        addresses_free(list);
    return ok;
}

void addresses_free(address_list *list)
{
    struct remote_address *address;
    array_each (address, list) {
        mem_free(address->given);
        mem_free(address->host);
        mem_free(address->name);
    }
    array_free(list);
}
