/*
 * Access control: checks of Host, Origin and the access token.
 */
#include "serve/http/access.h"

#include "serve/http/assets.h"
#include "serve/http/guesses.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#define COOKIE          "kymo_token"
#define FRAME_COOKIE    "kymo_frame_token"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

struct access {
    char *host; /* as given with --host */
    char *name; /* host name, when listening on a wildcard address; otherwise NULL */
    char *token;
    struct guesses *guesses; /* wrong tokens */
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
    access->token = mem_copy_string(token);
    access->guesses = guesses_create();
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
    guesses_destroy(access->guesses);
    mem_free(access);
}

bool token_make(char token[static TOKEN_SIZE], struct error *err)
{
    unsigned char bytes[(TOKEN_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(err, "cannot generate a random token; set one with --token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Splits "name:port" or "[address]:port"; false if malformed. */
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

/* An IPv4 address becomes an IPv4-mapped one, an IPv6 address stands in brackets. */
static bool parse_address(const char *host, struct in6_addr *parsed)
{
    char bare[INET6_ADDRSTRLEN];
    size_t size = strlen(host);
    *parsed = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    if (inet_pton(AF_INET, host, parsed->s6_addr + 12) == 1)
        return true;
    if (host[0] != '[' || size < 3 || size - 2 >= sizeof bare)
        return false;
    snprintf(bare, sizeof bare, "%.*s", (int)(size - 2), host + 1);
    return inet_pton(AF_INET6, bare, parsed) == 1;
}

/* By name or number, without resolving it: nobody can register a name that ends in localhost. */
static bool is_loopback_host(const char *host)
{
    static const char suffix[] = ".localhost";
    size_t size = strlen(host), end = sizeof suffix - 1;
    struct in6_addr address;
    if (strcasecmp(host, suffix + 1) == 0)
        return true;
    if (size > end && strcasecmp(host + size - end, suffix) == 0)
        return strspn(host, NAME_CHARACTERS) == size;
    return parse_address(host, &address) &&
           (IN6_IS_ADDR_LOOPBACK(&address) ||
            (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127));
}

/* DNS rebinding: an attacker can point a name at this server, but not an address. */
static bool is_own_host(const struct access *access, const char *host)
{
    char bracketed[256];
    struct in6_addr ignored;
    if (is_loopback_host(host) || strcasecmp(host, access->host) == 0)
        return true;
    snprintf(bracketed, sizeof bracketed, "[%s]", access->host);
    if (strcasecmp(host, bracketed) == 0)
        return true;
    return access->name && (strcasecmp(host, access->name) == 0 || parse_address(host, &ignored));
}

static bool check_host(const struct access *access, const struct request *request,
                       struct reply *reply)
{
    char host[256];
    long port;
    const char *given = request_header(request, "Host");
    if (given && split_host(given, host, sizeof host, &port) && is_own_host(access, host))
        return true;
    reply_error(
        reply, given ? MHD_HTTP_MISDIRECTED_REQUEST : MHD_HTTP_BAD_REQUEST,
        "host not allowed; use localhost or the address given with --host; if a proxy is in "
        "between, see docs/remote.md");
    return false;
}

static bool is_safe_method(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

/* One of our hosts, at one of our ports or at the one the browser connected to: that of a tunnel or
 * a container is not ours, but it is in Host as well, which check_host has looked at. */
static bool is_own_origin(const struct access *access, const struct request *request,
                          const char *origin)
{
    char host[256], named[256];
    long port, named_port;
    if (strncasecmp(origin, "http://", 7) != 0 ||
        !split_host(origin + 7, host, sizeof host, &port) || !is_own_host(access, host))
        return false;
    for (size_t i = 0; i < access->port_count; i++)
        if (port == access->ports[i])
            return true;
    return split_host(request_header(request, "Host"), named, sizeof named, &named_port) &&
           strcasecmp(host, named) == 0 && port == named_port;
}

/*
 * Sec-Fetch-Site is the browser's word, which pages cannot set. It holds behind a proxy that
 * changes Host, too; browsers send it over HTTPS and to loopback. Other sites may link to the UI,
 * but may not even read data, since a GET can start an analysis.
 */
static bool is_from_own_page(const struct access *access, const struct request *request,
                             bool is_data)
{
    const char *origin = request_header(request, "Origin");
    const char *site = request_header(request, "Sec-Fetch-Site");
    bool is_safe = is_safe_method(request->method);
    if (site && strcmp(site, "cross-site") == 0)
        return is_safe && !is_data;
    if (is_safe || !origin || (site && strcmp(site, "same-origin") == 0))
        return true;
    return is_own_origin(access, request, origin);
}

static bool check_origin(const struct access *access, const struct request *request, bool is_data,
                         struct reply *reply)
{
    if (is_from_own_page(access, request, is_data))
        return true;
    reply_error(reply, MHD_HTTP_FORBIDDEN,
                "cross-origin request rejected; if a proxy is in between, see docs/remote.md");
    return false;
}

/* Constant-time comparison. */
static bool matches_token(const struct access *access, struct text given)
{
    size_t wanted = strlen(access->token);
    unsigned char difference = given.size != wanted;
    for (size_t i = 0; i < given.size; i++)
        difference |=
            (unsigned char)given.data[i] ^ (unsigned char)access->token[wanted ? i % wanted : 0];
    return given.data && difference == 0;
}

/* The first one only: several in one header would be several guesses per request. */
static struct text find_cookie(const char *cookies, const char *name)
{
    size_t name_size = strlen(name);
    while (cookies && *cookies) {
        cookies += strspn(cookies, " ;");
        size_t size = strcspn(cookies, ";");
        if (size > name_size && memcmp(cookies, name, name_size) == 0 && cookies[name_size] == '=')
            return (struct text){cookies + name_size + 1, size - name_size - 1};
        cookies += size;
    }
    return (struct text){NULL, 0};
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

static void put_encoded(struct output *out, const char *text)
{
    for (; *text; text++)
        if (strchr(NAME_CHARACTERS "~", *text))
            output_char(out, *text);
        else
            output_format(out, "%%%02X", (unsigned char)*text);
}

/* The request URL without the token, rebuilt from its parts: the original may lead to another
 * server, as "//host", "/\\host" and "/<tab>/host" do in a browser. */
static void put_redirect_url(struct output *url, const struct request *request)
{
    for (size_t i = 0; i < request->segment_count; i++)
        if (request->segments[i][0]) {
            output_char(url, '/');
            put_encoded(url, request->segments[i]);
        }
    if (url->size == 0)
        output_char(url, '/');
    char separator = '?';
    for (size_t i = 0; i < request->argument_count; i++)
        if (strcmp(request->arguments[i].name, "token") != 0) {
            output_char(url, separator);
            put_encoded(url, request->arguments[i].name);
            output_char(url, '=');
            put_encoded(url, request->arguments[i].value);
            separator = '&';
        }
    output_char(url, '\0');
}

/*
 * Removes the token from the browser's history. A page with a refresh instead of a 3xx redirect:
 * after a navigation from another site, browsers withhold a SameSite=Strict cookie until a page of
 * this site makes the request.
 */
static void reply_redirect_page(const struct request *request, struct reply *reply)
{
    struct output url;
    output_memory(&url);
    put_redirect_url(&url, request);
    reply->status = MHD_HTTP_OK;
    reply->type = "text/html; charset=utf-8";
    output_text(&reply->body, "<!doctype html><meta charset=\"utf-8\"><title>Kymo</title>"
                              "<meta http-equiv=\"refresh\" content=\"0;url=");
    put_html(&reply->body, url.data);
    output_text(&reply->body, "\"><a href=\"");
    put_html(&reply->body, url.data);
    output_text(&reply->body, "\">Continue</a>\n");
    output_discard(&url);
}

/* Where a request may carry a token; each may be absent. */
enum token_source { IN_HEADER, IN_COOKIE, IN_FRAME_COOKIE, IN_URL, TOKEN_SOURCES };

static void find_tokens(const struct request *request, struct text tokens[TOKEN_SOURCES])
{
    const char *bearer = request_header(request, "Authorization");
    const char *argument = request_argument(request, "token");
    bool is_bearer = bearer && strncasecmp(bearer, "Bearer ", 7) == 0;
    tokens[IN_HEADER] = is_bearer ? text_of(bearer + 7) : (struct text){NULL, 0};
    tokens[IN_COOKIE] = find_cookie(request_header(request, "Cookie"), COOKIE);
    tokens[IN_FRAME_COOKIE] = find_cookie(request_header(request, "Cookie"), FRAME_COOKIE);
    tokens[IN_URL] = argument ? text_of(argument) : (struct text){NULL, 0};
}

static bool refuse_token(struct reply *reply, enum guess_state state)
{
    if (state == GUESS_REFUSED) {
        reply_header(reply, "Retry-After", "1");
        reply_error(reply, MHD_HTTP_TOO_MANY_REQUESTS,
                    "too many wrong tokens from this address; try again in a minute");
        return false;
    }
    reply_header(reply, "WWW-Authenticate", "Bearer");
    reply_error(reply, MHD_HTTP_UNAUTHORIZED,
                "access token required; the URL printed at startup contains it");
    return false;
}

/*
 * Browsers send the first cookie in frames only where the page around has the same host name as
 * this one. A notebook on 127.0.0.1 is another site than localhost: there the second one is sent,
 * which is kept for that site alone. Not all browsers take it without TLS.
 */
static void set_cookies(const struct access *access, struct request *request)
{
    request->cookie = path_format(COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict", access->token);
    if (assets_allowed_in_frames())
        request->frame_cookie =
            path_format(FRAME_COOKIE "=%s; Path=/; HttpOnly; SameSite=None; Secure; Partitioned",
                        access->token);
}

/* A request is one guess however many tokens it carries: their hashes are chained, so that several
 * cookies do not get around the rate limit. May block for the delay that guesses.h imposes. */
static bool check_token(const struct access *access, struct request *request, bool is_data,
                        struct reply *reply)
{
    if (!access->token || is_health(request))
        return true;
    struct text tokens[TOKEN_SOURCES];
    find_tokens(request, tokens);
    uint64_t hash = 0;
    bool is_given = false;
    for (size_t i = 0; i < TOKEN_SOURCES; i++)
        if (tokens[i].data) {
            is_given = true;
            hash = guesses_hash(access->guesses, tokens[i], hash + i + 1);
        }
    if (!is_given)
        return refuse_token(reply, GUESS_CHECK);
    enum guess_state state = guesses_admit(access->guesses, request, hash);
    if (state != GUESS_CHECK)
        return refuse_token(reply, state);
    if (matches_token(access, tokens[IN_HEADER]) || matches_token(access, tokens[IN_COOKIE]) ||
        matches_token(access, tokens[IN_FRAME_COOKIE]))
        return true;
    if (!matches_token(access, tokens[IN_URL])) {
        guesses_add(access->guesses, request, hash);
        return refuse_token(reply, state);
    }
    set_cookies(access, request);
    if (!is_data)
        reply_redirect_page(request, reply);
    return is_data;
}

bool access_check(const struct access *access, struct request *request, bool is_data,
                  struct reply *reply)
{
    return check_host(access, request, reply) && check_origin(access, request, is_data, reply) &&
           check_token(access, request, is_data, reply);
}
