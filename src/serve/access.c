/*
 * The access at the door.
 */
#include "serve/access.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#define COOKIE "kymo_token"

struct access {
    char *host; /* the address the user gave */
    char *name; /* of this machine, when it listens on all of its addresses; or NULL */
    char *token;
    uint16_t ports[2];
    size_t port_count;
};

static bool is_wildcard(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

struct access *access_create(const char *host, const char *token, const uint16_t *ports,
                             size_t port_count)
{
    struct access *access = mem_zeroed(1, sizeof *access);
    char name[256];
    access->host = mem_copy_text(host, strlen(host));
    access->token = token ? mem_copy_text(token, strlen(token)) : NULL;
    if (is_wildcard(host) && gethostname(name, sizeof name) == 0) {
        name[sizeof name - 1] = '\0';
        access->name = mem_copy_text(name, strlen(name));
    }
    for (; access->port_count < port_count && access->port_count < 2; access->port_count++)
        access->ports[access->port_count] = ports[access->port_count];
    return access;
}

void access_destroy(struct access *access)
{
    if (!access)
        return;
    mem_free(access->host);
    mem_free(access->name);
    mem_free(access->token);
    mem_free(access);
}

bool token_make(char token[static TOKEN_SIZE], struct error *err)
{
    unsigned char bytes[(TOKEN_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(err, "the system has no random numbers for a token; give one with "
                              "--token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* "name:port" or "[address]:port" taken apart; false when it is neither. */
static bool split_host(const char *text, char *host, size_t size, long *port)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : text + strcspn(text, ":");
    if (!end)
        return false;
    end += *end == ']';
    if (end == text || (size_t)(end - text) >= size || (*end && *end != ':'))
        return false;
    snprintf(host, size, "%.*s", (int)(end - text), text);
    *port = 80;
    if (*end == ':') {
        char *stop;
        *port = isdigit((unsigned char)end[1]) ? strtol(end + 1, &stop, 10) : -1;
        if (*port < 0 || *stop)
            return false;
    }
    return true;
}

static bool is_address(const char *host)
{
    char bare[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    if (inet_pton(AF_INET, host, &parsed) == 1)
        return true;
    size_t size = strlen(host);
    if (host[0] != '[' || size < 3 || size - 2 >= sizeof bare)
        return false;
    snprintf(bare, sizeof bare, "%.*s", (int)(size - 2), host + 1);
    return inet_pton(AF_INET6, bare, &parsed) == 1;
}

/* A name can be made to point anywhere; an address cannot. */
static bool is_ours(const struct access *access, const char *host)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    char bracketed[256];
    for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++)
        if (strcasecmp(host, loopback[i]) == 0)
            return true;
    snprintf(bracketed, sizeof bracketed, "[%s]", access->host);
    if (strcasecmp(host, access->host) == 0 || strcasecmp(host, bracketed) == 0)
        return true;
    return access->name && (strcasecmp(host, access->name) == 0 || is_address(host));
}

static bool check_host(const struct access *access, const struct request *request,
                       struct reply *reply)
{
    char host[256];
    long port;
    const char *given = request_header(request, "Host");
    if (given && split_host(given, host, sizeof host, &port) && is_ours(access, host))
        return true;
    reply_error(reply, given ? MHD_HTTP_MISDIRECTED_REQUEST : MHD_HTTP_BAD_REQUEST,
                "this server does not answer for that host; ask localhost, or the address it was "
                "started with");
    return false;
}

static bool is_reading(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

/* A page's own server: one of our hosts, at one of our ports. */
static bool is_own_origin(const struct access *access, const char *origin)
{
    char host[256];
    long port;
    if (strncasecmp(origin, "http://", 7) != 0 ||
        !split_host(origin + 7, host, sizeof host, &port) || !is_ours(access, host))
        return false;
    for (size_t i = 0; i < access->port_count; i++)
        if (port == access->ports[i])
            return true;
    return false;
}

static bool check_origin(const struct access *access, const struct request *request,
                         struct reply *reply)
{
    const char *origin = request_header(request, "Origin");
    const char *site = request_header(request, "Sec-Fetch-Site");
    if (is_reading(request->method))
        return true;
    if ((!origin || is_own_origin(access, origin)) && (!site || strcmp(site, "cross-site") != 0))
        return true;
    reply_error(reply, MHD_HTTP_FORBIDDEN, "a page from elsewhere may not change anything here");
    return false;
}

/* Takes the same time wherever they differ. */
static bool is_token(const struct access *access, const char *given, size_t size)
{
    size_t wanted = strlen(access->token);
    unsigned char difference = size != wanted;
    for (size_t i = 0; i < size; i++)
        difference |=
            (unsigned char)given[i] ^ (unsigned char)access->token[wanted ? i % wanted : 0];
    return difference == 0;
}

static bool has_cookie(const struct access *access, const char *cookies)
{
    while (cookies && *cookies) {
        cookies += strspn(cookies, " ;");
        size_t size = strcspn(cookies, ";");
        if (strncmp(cookies, COOKIE "=", sizeof COOKIE) == 0 &&
            is_token(access, cookies + sizeof COOKIE, size - sizeof COOKIE))
            return true;
        cookies += size;
    }
    return false;
}

static bool is_health(const struct request *request)
{
    return request->segment_count == 3 && strcmp(request->segments[0], "api") == 0 &&
           strcmp(request->segments[2], "health") == 0;
}

static void put_html(struct output *out, const char *text)
{
    for (; *text; text++)
        if (strchr("&<>\"'", *text))
            output_format(out, "&#%d;", *text);
        else
            output_char(out, *text);
}

/*
 * The address without the token: it should not stay in the browser's history. A page that leads
 * there, and no redirect: a browser that was sent here by another site keeps a strict cookie to
 * itself until a page of this site asks.
 */
static void lead_on(const struct request *request, struct reply *reply)
{
    struct output url;
    output_memory(&url);
    const char *query = strchr(request->uri, '?');
    output_write(&url, request->uri, (size_t)(query - request->uri));
    char separator = '?';
    for (const char *at = query + 1; *at;) {
        size_t size = strcspn(at, "&");
        if (strncmp(at, "token=", 6) != 0 && size > 0) {
            output_char(&url, separator);
            output_write(&url, at, size);
            separator = '&';
        }
        at += size + (at[size] == '&');
    }
    output_char(&url, '\0');
    /* "//elsewhere" would lead to another server. */
    const char *path = url.data + strspn(url.data, "/");
    reply->status = MHD_HTTP_OK;
    reply->type = "text/html; charset=utf-8";
    output_text(&reply->body, "<!doctype html><meta charset=\"utf-8\"><title>Kymo</title>"
                              "<meta http-equiv=\"refresh\" content=\"0;url=/");
    put_html(&reply->body, path);
    output_text(&reply->body, "\"><a href=\"/");
    put_html(&reply->body, path);
    output_text(&reply->body, "\">Go on</a>\n");
    output_discard(&url);
}

static bool check_token(const struct access *access, struct request *request, struct reply *reply)
{
    if (!access->token || is_health(request))
        return true;
    const char *bearer = request_header(request, "Authorization");
    if (bearer && strncasecmp(bearer, "Bearer ", 7) == 0 &&
        is_token(access, bearer + 7, strlen(bearer + 7)))
        return true;
    if (has_cookie(access, request_header(request, "Cookie")))
        return true;
    const char *given = request_argument(request, "token");
    if (given && is_token(access, given, strlen(given))) {
        request->cookie = path_format(COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict", given);
        bool is_api = request->segment_count > 0 && strcmp(request->segments[0], "api") == 0;
        if (!is_api)
            lead_on(request, reply);
        return is_api;
    }
    reply_header(reply, "WWW-Authenticate", "Bearer");
    reply_error(reply, MHD_HTTP_UNAUTHORIZED,
                "this server needs its token: the address it printed at its start has it");
    return false;
}

bool access_check(const struct access *access, struct request *request, struct reply *reply)
{
    return check_host(access, request, reply) && check_origin(access, request, reply) &&
           check_token(access, request, reply);
}
