/*
 * HTTP server: connections, routing, limits and common headers. One thread per connection, so
 * handlers may block; the number of connections and the time to receive a request are bounded.
 */
#include "serve/http/http.h"

#include "serve/http/access.h"
#include "serve/http/assets.h"
#include "serve/http/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>

struct http {
    struct server *server;
    bool has_ui;
    struct MHD_Daemon *daemon;
    struct clients *clients;
};

void http_tick(struct http *http)
{
    clients_tick(http->clients);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes [in, end) to *out, terminated, and advances *out. */
static bool decode(const char *in, const char *end, bool is_query, char **out)
{
    char *start = *out, *at = start;
    for (; in < end; in++) {
        char c = *in;
        if (c == '%') {
            int high = end - in > 2 ? hex_digit(in[1]) : -1;
            int low = high >= 0 ? hex_digit(in[2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            in += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        if (c == '\0')
            return false;
        *at++ = c;
    }
    *at++ = '\0';
    *out = at;
    return text_utf8_prefix(start, (size_t)(at - start - 1)) == (size_t)(at - start - 1);
}

static void split_path(struct request *request, const char *end, char **out)
{
    for (const char *at = request->uri; at < end;) {
        const char *start = ++at; /* after a slash */
        while (at < end && *at != '/')
            at++;
        if (at == start && at == end)
            return; /* a trailing slash is ignored */
        const char *segment = *out;
        if (request->segment_count == MAX_SEGMENTS) {
            request->problem = "the path is too deep";
            return;
        }
        if (!decode(start, at, false, out)) {
            request->problem = "the path is not percent-encoded UTF-8";
            return;
        }
        request->segments[request->segment_count++] = segment;
    }
}

static void split_query(struct request *request, const char *at, char **out)
{
    while (*at && !request->problem) {
        const char *end = at + strcspn(at, "&"), *equals = memchr(at, '=', (size_t)(end - at));
        const char *name = *out;
        bool ok = decode(at, equals ? equals : end, true, out);
        const char *value = *out;
        ok = ok && decode(equals ? equals + 1 : end, end, true, out);
        if (!ok)
            request->problem = "the query string is not percent-encoded UTF-8";
        else if (request->argument_count == MAX_ARGUMENTS)
            request->problem = "too many query string arguments";
        else if (end > at)
            request->arguments[request->argument_count++] = (struct argument){name, value};
        at = *end ? end + 1 : end;
    }
}

static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    struct http *http = context;
    struct request *request = mem_zeroed(1, sizeof *request);
    size_t size = strlen(uri);
    request->server = http->server;
    request->connection = connection;
    request->uri = mem_copy_text(uri, size);
    request->decoded = mem_alloc(2 * (size + MAX_SEGMENTS + MAX_ARGUMENTS + 1));
    output_memory(&request->body);
    char *out = request->decoded;
    const char *query = strchr(request->uri, '?');
    if (uri[0] != '/') {
        request->problem = "the path must start with a slash";
        return request;
    }
    split_path(request, query ? query : request->uri + size, &out);
    if (query)
        split_query(request, query + 1, &out);
    return request;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    (void)context, (void)code;
    struct request *request = *request_context;
    *request_context = NULL;
    if (!request)
        return;
    if (request->sink)
        request->sink->close(request->sink);
    output_discard(&request->body);
    mem_free(request->cookie);
    mem_free(request->frame_cookie);
    mem_free(request->uri);
    mem_free(request->decoded);
    mem_free(request);
    client_enter(connection, CLIENT_SENDS_HEADER, HEADER_MS + IDLE_S * 1000);
}

static bool is_safe_method(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Of every response: what protects its content, and when to come back to a server that is busy. */
static void add_headers(struct MHD_Response *response, const struct reply *reply)
{
    if (reply->type)
        MHD_add_response_header(response, "Content-Type", reply->type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    if (!assets_allowed_in_frames())
        MHD_add_response_header(response, "X-Frame-Options", "DENY");
    bool has_cache = false;
    for (size_t i = 0; i < reply->header_count; i++) {
        MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
        has_cache |= strcmp(reply->headers[i].name, "Cache-Control") == 0;
    }
    if (!has_cache)
        MHD_add_response_header(response, "Cache-Control", "no-store");
    if (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, "Retry-After", RETRY_AFTER_S);
}

/* Bytes of response bodies not sent yet, over all connections. */
static atomic_size_t unsent;

struct body {
    char *data;
    size_t size;
};

static void free_body(void *context)
{
    struct body *body = context;
    atomic_fetch_sub(&unsent, body->size);
    mem_free(body->data);
    mem_free(body);
}

/* Moves the body into an MHD response. Bounds unsent bytes: clients that do not read must not
 * exhaust memory. */
static struct MHD_Response *move_reply_body(struct reply *reply)
{
    if (atomic_load(&unsent) + reply->body.size > MAX_UNSENT)
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "too many unsent responses; try again");
    struct body *body = mem_alloc(sizeof *body);
    *body = (struct body){reply->body.data, reply->body.size};
    atomic_fetch_add(&unsent, body->size);
    output_memory(&reply->body);
    return MHD_create_response_from_buffer_with_free_callback_cls(body->size, body->data, free_body,
                                                                  body);
}

static enum MHD_Result send_reply(struct request *request, struct reply *reply)
{
    struct MHD_Response *response = reply->response;
    int64_t within_ms = 0; /* a stream has no deadline, but may not pause for STREAM_IDLE_S */
    if (!response) {
        within_ms = SEND_MS + (int64_t)reply->body.size / SEND_BYTES_MS;
        response = move_reply_body(reply);
    }
    if (!response)
        mem_exhausted();
    client_enter(request->connection, CLIENT_RECEIVES, within_ms);
    add_headers(response, reply);
    if (request->cookie)
        MHD_add_response_header(response, "Set-Cookie", request->cookie);
    if (request->frame_cookie)
        MHD_add_response_header(response, "Set-Cookie", request->frame_cookie);
    enum MHD_Result result = MHD_queue_response(request->connection, reply->status, response);
    MHD_destroy_response(response);
    output_discard(&reply->body);
    for (size_t i = 0; i < reply->header_count; i++)
        free(reply->headers[i].value);
    return result;
}

static struct reply reply_new(void)
{
    struct reply reply = {.status = MHD_HTTP_OK};
    output_memory(&reply.body);
    return reply;
}

/* Matches the path against a route's pattern and sets the wildcard parameters. */
static bool is_path(struct request *request, const char *pattern, const char *const *segments,
                    size_t count)
{
    size_t parameters = 0, at = 0;
    for (const char *start = pattern; *start; at++) {
        size_t size = strcspn(start, "/");
        struct text wanted = {start, size};
        if (text_equal(wanted, TEXT("**"))) {
            request->rest = segments + at;
            request->rest_count = count - at;
            return count > at;
        }
        if (at == count)
            return false;
        if (text_equal(wanted, TEXT("*")))
            request->parameters[parameters++] = segments[at];
        else if (!text_equal(wanted, text_of(segments[at])))
            return false;
        start += size + (start[size] == '/');
    }
    return at == count;
}

static bool is_api(const struct request *request)
{
    return request->segment_count >= 1 && strcmp(request->segments[0], "api") == 0;
}

/* The routes that a path may be one of, and how many of its segments come before those. */
struct routing {
    const struct route *routes;
    size_t count, skipped;
};

static struct routing routing_of(const struct request *request)
{
    static const char *const prefix[] = {"data", "plugin", "profile"};
    const struct router *router = request->server->router;
    size_t same = 0;
    while (same < request->segment_count && same < 3 &&
           strcmp(request->segments[same], prefix[same]) == 0)
        same++;
    if (same == 3)
        return (struct routing){router->xprof_routes, router->xprof_count, 3};
    if (request->server->options->is_xprof && request->segment_count == 1)
        for (size_t i = 0; i < router->xprof_count; i++)
            if (strcmp(request->segments[0], router->xprof_routes[i].pattern) == 0)
                return (struct routing){router->xprof_routes, router->xprof_count, 0};
    bool is_versioned =
        is_api(request) && request->segment_count > 1 && strcmp(request->segments[1], "v1") == 0;
    return (struct routing){router->routes, is_versioned ? router->count : 0, 2};
}

/* Whether the path is neither a page nor a file of the web UI. */
static bool is_data(const struct request *request)
{
    return is_api(request) || routing_of(request).count > 0;
}

/* Finds the route; otherwise replies to OPTIONS, or with 405 or 404. */
static bool find_route(struct request *request, const struct http *http, struct reply *reply)
{
    struct output allowed;
    bool is_head = strcmp(request->method, "HEAD") == 0;
    struct routing routing = routing_of(request);
    output_memory(&allowed);
    for (size_t i = 0; i < routing.count; i++) {
        const struct route *route = &routing.routes[i];
        if (!is_path(request, route->pattern, request->segments + routing.skipped,
                     request->segment_count - routing.skipped))
            continue;
        if (strcmp(request->method, route->method) == 0 ||
            (is_head && strcmp(route->method, "GET") == 0)) {
            request->route = route;
            output_discard(&allowed);
            return true;
        }
        output_format(&allowed, "%s%s%s", allowed.size ? ", " : "", route->method,
                      strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
    }
    if (!is_data(request) && http->has_ui)
        output_text(&allowed, "GET, HEAD");
    output_char(&allowed, '\0');
    if (strcmp(request->method, "OPTIONS") == 0 &&
        (allowed.size > 1 || strcmp(request->uri, "*") == 0)) {
        reply_header(reply, "Allow", "%s, OPTIONS", allowed.data);
        reply_no_content(reply);
    } else if (allowed.size > 1) {
        reply_header(reply, "Allow", "%s, OPTIONS", allowed.data);
        reply_error(reply, MHD_HTTP_METHOD_NOT_ALLOWED, "method not allowed; use %s", allowed.data);
    } else {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "not found%s",
                    is_api(request) ? "; see docs/api.md" : "");
    }
    output_discard(&allowed);
    return false;
}

/* Counts of the headers that determine message framing and host. */
struct framing {
    unsigned lengths, codings, hosts;
    bool is_bad_length;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct framing *framing = context;
    (void)kind;
    if (strcasecmp(name, "Content-Length") == 0) {
        framing->lengths++;
        framing->is_bad_length |= !value || !*value || value[strspn(value, "0123456789")];
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        framing->codings++;
    } else if (strcasecmp(name, "Host") == 0) {
        framing->hosts++;
    }
    return MHD_YES;
}

/* Request smuggling: with contradictory headers a proxy in front could see another end of the body,
 * and take what follows for another request. */
static bool check_framing(const struct request *request, struct reply *reply)
{
    struct framing framing = {0};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &framing);
    if (framing.lengths + framing.codings <= 1 && framing.hosts <= 1 && !framing.is_bad_length)
        return true;
    reply_header(reply, "Connection", "close");
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "a request needs one Host, and either one Content-Length or one Transfer-Encoding");
    return false;
}

/* Checks the request before its body is received; false if it was replied to. */
static bool accept_request(struct http *http, struct request *request, struct reply *reply)
{
    if (request->problem && strcmp(request->uri, "*") != 0) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "%s", request->problem);
        return false;
    }
    if (!check_framing(request, reply) ||
        !access_check(http->server->access, request, is_data(request), reply))
        return false;
    if (!is_data(request) && http->has_ui && is_safe_method(request->method))
        return true;
    if (!find_route(request, http, reply))
        return false;
    const char *length = request_header(request, "Content-Length");
    const struct route *route = request->route;
    if (route->begin) {
        route->begin(request, reply);
        return request->sink != NULL;
    }
    if (length && strtoull(length, NULL, 10) > route->body_limit) {
        reply_error(reply, MHD_HTTP_CONTENT_TOO_LARGE, "body too large; %zu bytes at most",
                    route->body_limit);
        return false;
    }
    return true;
}

static enum MHD_Result receive_body(struct request *request, const char *data, size_t *size)
{
    client_progress(request->connection);
    if (request->sink) {
        if (!request->sink->write(request->sink, data, *size))
            return MHD_NO;
    } else if (request->route && request->body.size + *size <= request->route->body_limit) {
        output_write(&request->body, data, *size);
    } else if (request->is_over_limit) {
        return MHD_NO; /* still sending after the limit */
    } else {
        request->is_over_limit = true;
    }
    *size = 0;
    return MHD_YES;
}

/* The handler finds its subject opened, and does not close it. */
static void answer(const struct router *router, struct request *request, struct reply *reply)
{
    if (router->resolve(request, reply))
        request->route->handle(request, reply);
    router->release(request);
}

static void dispatch(struct http *http, struct request *request, struct reply *reply)
{
    if (request->is_over_limit)
        reply_error(reply, MHD_HTTP_CONTENT_TOO_LARGE, "body too large");
    else if (atomic_load(&http->server->is_stopping))
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is shutting down");
    else if (request->route)
        answer(http->server->router, request, reply);
    else
        assets_reply(request, reply);
}

/* MHD calls this several times for a request, on the connection's thread: with the headers, with
 * each piece of the body, and with size 0 at its end, where the handler runs and may block. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request_context)
{
    (void)url, (void)version;
    struct http *http = context;
    struct request *request = *request_context;
    if (!request->is_begun) {
        struct reply reply = reply_new();
        request->is_begun = true;
        request->method = method;
        client_enter(connection, CLIENT_IS_SERVED, 0);
        if (!accept_request(http, request, &reply))
            return send_reply(request, &reply);
        output_discard(&reply.body);
        for (size_t i = 0; i < reply.header_count; i++)
            free(reply.headers[i].value);
        client_enter(connection, CLIENT_SENDS_BODY, request->sink ? 0 : BODY_MS);
        return MHD_YES;
    }
    if (*size > 0)
        return receive_body(request, data, size);
    client_enter(connection, CLIENT_IS_SERVED, 0);
    /* The idle timeout does not apply while the handler runs. */
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    struct reply reply = reply_new();
    dispatch(http, request, &reply);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              reply.response ? (unsigned)STREAM_IDLE_S : (unsigned)IDLE_S);
    return send_reply(request, &reply);
}

static void on_log(void *context, const char *format, va_list arguments)
{
    char line[512];
    (void)context;
    vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\n")] = '\0';
    log_debug("%s", line);
}

/* Of each of two listeners. Half of the files that may be open stay free for profiles. */
static unsigned connection_limit(void)
{
    struct rlimit files;
    bool is_known = getrlimit(RLIMIT_NOFILE, &files) == 0;
    return is_known && files.rlim_cur / 4 < MAX_CONNECTIONS ? (unsigned)files.rlim_cur / 4
                                                            : MAX_CONNECTIONS;
}

/* Takes over the socket if it succeeds. The limit has spare room above the one that clients.h
 * enforces, so that a new connection is accepted while the one it displaces is still closing. */
bool http_start(struct http **result, struct server *server, int socket, bool has_ui,
                struct error *err)
{
    struct http *http = mem_zeroed(1, sizeof *http);
    unsigned max = connection_limit();
    http->server = server;
    http->has_ui = has_ui;
    http->clients = clients_create(max);
    http->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request,
        http, /* the logger must come first to apply to the other options */
        MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, socket,
        MHD_OPTION_CONNECTION_LIMIT, max + max / 4 /* those being closed */,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_THREAD_STACK_SIZE, (size_t)CONNECTION_STACK,
        MHD_OPTION_NOTIFY_CONNECTION, clients_notify, http->clients, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_URI_LOG_CALLBACK, on_uri, http, MHD_OPTION_END);
    if (!http->daemon) {
        clients_destroy(http->clients);
        mem_free(http);
        return error_set(err, "cannot start the server: %s", strerror(errno));
    }
    *result = http;
    return true;
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon);
    clients_destroy(http->clients);
    mem_free(http);
}
