/*
 * HTTP client over libcurl's easy interface, loaded at run time.
 */
#include "base/http/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#define CONNECT_SECONDS 10L

#define CURL_FUNCTIONS(X)                                                                          \
    X(global_init)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_perform)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_strerror)                                                                               \
    X(easy_cleanup)                                                                                \
    X(slist_append)                                                                                \
    X(slist_free_all)

/* libcurl's headers define these as type-checking macros. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct curl {
#define MEMBER(name) __typeof__(curl_##name) *(name);
    CURL_FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define SYMBOL(name) {"curl_" #name, offsetof(struct curl, name)},
    CURL_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static bool load(struct curl *curl, struct error *err)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, "libcurl not found; install the package libcurl4");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address) {
            dlclose(library);
            return error_set(err, "libcurl is too old or broken: %s is missing", functions[i].name);
        }
        memcpy((char *)curl + functions[i].offset, &address, sizeof address);
    }
    if (curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        mem_exhausted();
    return true;
}

/* Loads libcurl once; never unloaded. */
static bool find_curl(const struct curl **curl, struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct curl loaded;
    static bool is_loaded;
    pthread_mutex_lock(&lock);
    if (!is_loaded)
        is_loaded = load(&loaded, err);
    bool ok = is_loaded;
    pthread_mutex_unlock(&lock);
    *curl = &loaded;
    return ok;
}

struct http {
    const struct curl *curl;
    CURL *handle;
    char problem[CURL_ERROR_SIZE];
    char body[HTTP_MAX_BODY];
    size_t body_size;
};

static size_t store_body(char *data, size_t size, size_t count, void *context)
{
    struct http *http = context;
    size_t room = sizeof http->body - http->body_size;
    size_t kept = count < room ? count : room;
    if (kept > 0)
        memcpy(http->body + http->body_size, data, kept);
    http->body_size += kept;
    return size * count;
}

bool http_create(struct http **created, struct error *err)
{
    const struct curl *curl;
    if (!find_curl(&curl, err))
        return false;
    struct http *http = mem_zeroed(1, sizeof *http);
    http->curl = curl;
    http->handle = curl->easy_init();
    if (!http->handle)
        mem_exhausted();
    curl->easy_setopt(http->handle, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(http->handle, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(http->handle, CURLOPT_ERRORBUFFER, http->problem);
    curl->easy_setopt(http->handle, CURLOPT_WRITEFUNCTION, store_body);
    curl->easy_setopt(http->handle, CURLOPT_WRITEDATA, http);
    *created = http;
    return true;
}

void http_destroy(struct http *http)
{
    if (!http)
        return;
    http->curl->easy_cleanup(http->handle);
    mem_free(http);
}

static struct curl_slist *make_headers(const struct curl *curl, const struct http_request *request)
{
    /* No "Expect: 100-continue": bodies are small. */
    struct curl_slist *list = curl->slist_append(NULL, "Expect:");
    for (size_t i = 0; list && i < HTTP_MAX_HEADERS && request->headers[i]; i++)
        list = curl->slist_append(list, request->headers[i]);
    if (!list)
        mem_exhausted();
    return list;
}

static enum http_outcome outcome_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return HTTP_COMPLETED;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
        return HTTP_UNREACHABLE;
    default:
        return HTTP_LOST;
    }
}

static void read_response(struct http *http, CURLcode code, struct http_response *response)
{
    const struct curl *curl = http->curl;
    curl_off_t wait = 0;
    *response = (struct http_response){.outcome = outcome_of(code)};
    if (response->outcome != HTTP_COMPLETED) {
        snprintf(response->reason, sizeof response->reason, "%s",
                 http->problem[0] ? http->problem : curl->easy_strerror(code));
        return;
    }
    curl->easy_getinfo(http->handle, CURLINFO_RESPONSE_CODE, &response->status);
    curl->easy_getinfo(http->handle, CURLINFO_RETRY_AFTER, &wait);
    response->retry_after_s = wait < 0 ? 0 : wait > INT32_MAX ? INT32_MAX : (unsigned)wait;
    response->body = (struct text){http->body, http->body_size};
}

/* Writing to a closed connection must not kill the process: blocks SIGPIPE in this thread and
 * consumes a pending one. */
static CURLcode perform_quietly(struct http *http)
{
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    CURLcode code = http->curl->easy_perform(http->handle);
    if (!sigismember(&before, SIGPIPE) && sigpending(&pending) == 0 &&
        sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

void http_post(struct http *http, const struct http_request *request,
               struct http_response *response)
{
    const struct curl *curl = http->curl;
    struct curl_slist *headers = make_headers(curl, request);
    http->body_size = 0;
    http->problem[0] = '\0';
    curl->easy_setopt(http->handle, CURLOPT_URL, request->url);
    curl->easy_setopt(http->handle, CURLOPT_POST, 1L);
    curl->easy_setopt(http->handle, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    curl->easy_setopt(http->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    curl->easy_setopt(http->handle, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(http->handle, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl->easy_setopt(http->handle, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    read_response(http, perform_quietly(http), response);
    curl->easy_setopt(http->handle, CURLOPT_HTTPHEADER, NULL);
    curl->slist_free_all(headers);
}

/* ---- HTTP/2 -------------------------------------------------------------------------------- */

static size_t pass_header(char *line, size_t size, size_t count, void *context)
{
    const struct http_sink *sink = context;
    const char *colon = memchr(line, ':', count), *end = line + count;
    if (!colon || colon == line)
        return size * count;
    const char *value = colon + 1;
    while (value < end && *value == ' ')
        value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    sink->header(sink->context, (struct text){line, (size_t)(colon - line)},
                 (struct text){value, (size_t)(end - value)});
    return size * count;
}

static size_t pass_data(char *data, size_t size, size_t count, void *context)
{
    const struct http_sink *sink = context;
    bool ok = sink->data(sink->context, (const uint8_t *)data, count);
    return ok ? size * count : count == 0;
}

static int ask_whether_over(void *context, curl_off_t total, curl_off_t done, curl_off_t to_send,
                            curl_off_t sent)
{
    const struct http_sink *sink = context;
    (void)total, (void)done, (void)to_send, (void)sent;
    return sink->is_over(sink->context);
}

void http2_post(struct http *http, const struct http_request *request, const struct http_sink *sink,
                struct http_response *response)
{
    const struct curl *curl = http->curl;
    curl->easy_setopt(http->handle, CURLOPT_HTTP_VERSION,
                      (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    curl->easy_setopt(http->handle, CURLOPT_NOPROXY, "*");
    curl->easy_setopt(http->handle, CURLOPT_HEADERFUNCTION, pass_header);
    curl->easy_setopt(http->handle, CURLOPT_HEADERDATA, sink);
    curl->easy_setopt(http->handle, CURLOPT_WRITEFUNCTION, pass_data);
    curl->easy_setopt(http->handle, CURLOPT_WRITEDATA, sink);
    curl->easy_setopt(http->handle, CURLOPT_XFERINFOFUNCTION, ask_whether_over);
    curl->easy_setopt(http->handle, CURLOPT_XFERINFODATA, sink);
    curl->easy_setopt(http->handle, CURLOPT_NOPROGRESS, 0L);
    http_post(http, request, response);
}

void url_put(struct output *out, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool is_plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= 'a' && *c <= 'z') || strchr("-._~", *c);
        if (is_plain) {
            output_char(out, (char)*c);
        } else {
            char escaped[3] = {'%', hex[*c >> 4], hex[*c & 15]};
            output_write(out, escaped, sizeof escaped);
        }
    }
}
