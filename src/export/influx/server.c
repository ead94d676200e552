/*
 * Client of an InfluxDB server: detects the API version, checks access, and retries requests while
 * the server is busy or the connection fails. Retries are safe: writing a point twice stores it
 * once.
 *
 * An empty write to the version 2 API comes first: the server checks token, organization and bucket
 * before it rejects the empty body, so wrong settings are found before the work begins. If that
 * endpoint does not exist, the version 1 API is tried the same way, and a database named after the
 * bucket is created if missing.
 */
#include "base/clock.h"
#include "export/influx/influx.h"

#include <stdio.h>
#include <time.h>

enum {
    FIRST_WAIT_MS = 250,
    MAX_WAIT_MS = 16000,
    MIN_NOTICE_MS = 1000,
    MAX_MESSAGE = 240,
    TICK_MS = 20,
};

/* The reason in an error response: {"message": ...} or {"error": ...}, otherwise its first line. */
static void server_message(const struct http_response *answer, char message[static MAX_MESSAGE])
{
    struct text reason = answer->body;
    struct json_reader in = json_read(answer->body);
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value) && value.kind == JSON_STRING &&
            (text_equal(key.text, TEXT("message")) || text_equal(key.text, TEXT("error"))))
            reason = value.text;
    size_t size = 0;
    for (size_t i = 0; i < reason.size && size < MAX_MESSAGE - 1; i++) {
        if (reason.data[i] == '\n' || reason.data[i] == '\r')
            break;
        if (reason.data[i] == '\\' && i + 1 < reason.size)
            i++; /* escaped quotes */
        message[size++] = (unsigned char)reason.data[i] < 0x20 ? ' ' : reason.data[i];
    }
    message[size] = '\0';
    if (size == 0)
        snprintf(message, MAX_MESSAGE, "no reason given");
}

static bool has_member(struct text body, struct text name)
{
    struct json_reader in = json_read(body);
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value) && text_equal(key.text, name))
            return true;
    return false;
}

static bool unreachable(const char *reason, struct error *err)
{
    return error_set(err,
                     "influxdb not setup correctly: %s; try executing \"systemctl start "
                     "influxdb\", or set another server with --db-endpoint",
                     reason);
}

static bool refused(const struct influx *influx, const struct http_response *answer,
                    struct error *err)
{
    char message[MAX_MESSAGE];
    server_message(answer, message);
    if (answer->status == 401 || answer->status == 403)
        return error_set(
            err, "influxdb token not setup correctly: %s (HTTP %ld); %s", message, answer->status,
            influx->authorization ? "\"influx auth list\" shows valid values of INFLUX_TOKEN"
                                  : "INFLUX_TOKEN is not set; try executing \"influx "
                                    "setup\" and \"influx auth list\"");
    if (answer->status == 404)
        return error_set(err,
                         "influxdb has no bucket \"%s\" in organization \"%s\": %s (HTTP 404); "
                         "check --db-bucket and --db-org",
                         influx->options.bucket, influx->options.org, message);
    return error_set(err, "influxdb rejected the write: %s (HTTP %ld)", message, answer->status);
}

static bool is_transient(const struct http_response *answer)
{
    return answer->outcome != HTTP_COMPLETED || answer->status == 429 || answer->status >= 500;
}

static void describe(const struct http_response *answer, char text[static HTTP_MAX_REASON])
{
    char message[MAX_MESSAGE];
    if (answer->outcome != HTTP_COMPLETED) {
        snprintf(text, HTTP_MAX_REASON, "%s", answer->reason);
        return;
    }
    server_message(answer, message);
    snprintf(text, HTTP_MAX_REASON, "%.200s (HTTP %ld)", message, answer->status);
}

/* Exponential backoff with jitter, unless the server sent Retry-After. */
static int64_t wait_ms(const struct http_response *answer, unsigned attempt)
{
    if (answer->outcome == HTTP_COMPLETED && answer->retry_after_s > 0)
        return (int64_t)answer->retry_after_s * 1000;
    int64_t wait = attempt < 6 ? FIRST_WAIT_MS << attempt : MAX_WAIT_MS;
    return wait / 2 + clock_monotonic_ns() / 1000 % (wait / 2 + 1);
}

static void sleep_until(const struct influx *influx, int64_t until_ms)
{
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    while (clock_monotonic_ms() < until_ms && !atomic_load(&influx->is_aborted))
        nanosleep(&tick, NULL);
}

static void notify_wait(const struct influx *influx, const char *reason, int64_t wait)
{
    char text[HTTP_MAX_REASON + 64];
    if (wait < MIN_NOTICE_MS || !influx->options.notice)
        return;
    snprintf(text, sizeof text, "influxdb: %s; retrying in %.0f s", reason, (double)wait / 1000);
    influx->options.notice(text);
}

/* Posts until the response is final, i.e. not a transient failure. */
static bool post_with_retries(struct influx *influx, struct http *http,
                              struct http_request *request, bool is_first,
                              struct http_response *answer, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + (int64_t)influx->options.timeout_s * 1000;
    for (unsigned attempt = 0;; attempt++) {
        char reason[HTTP_MAX_REASON];
        int64_t left = end_ms - clock_monotonic_ms();
        request->timeout_ms = left > 1 ? (unsigned)left : 1;
        http_post(http, request, answer);
        if (!is_transient(answer))
            return true;
        describe(answer, reason);
        if (is_first && answer->outcome == HTTP_UNREACHABLE)
            return unreachable(reason, err);
        int64_t wait = wait_ms(answer, attempt);
        if (clock_monotonic_ms() + wait >= end_ms)
            return error_set(
                err, "influxdb accepted no data for %lu s: %s; --db-timeout sets how long to retry",
                influx->options.timeout_s, reason);
        notify_wait(influx, reason, wait);
        sleep_until(influx, clock_monotonic_ms() + wait);
        if (atomic_load(&influx->is_aborted))
            return error_set(err, "%s", "");
    }
}

static bool is_success(const struct http_response *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

/* endpoint, path, and query parameters as name, value, ..., NULL. */
static char *make_url(const struct influx *influx, const char *path, const char *const *parameters)
{
    struct output out;
    size_t size = strlen(influx->options.endpoint);
    while (size > 0 && influx->options.endpoint[size - 1] == '/')
        size--;
    output_memory(&out);
    output_write(&out, influx->options.endpoint, size);
    output_text(&out, path);
    for (size_t i = 0; parameters[i]; i += 2) {
        output_char(&out, i ? '&' : '?');
        output_text(&out, parameters[i]);
        output_char(&out, '=');
        url_put(&out, parameters[i + 1]);
    }
    char *url = mem_copy_text(out.data, out.size);
    output_discard(&out);
    return url;
}

static char *write_url(const struct influx *influx)
{
    const struct influx_options *options = &influx->options;
    if (influx->is_v1)
        return make_url(influx, "/write",
                        (const char *const[]){"db", options->bucket, "precision", "ns", NULL});
    return make_url(influx, "/api/v2/write",
                    (const char *const[]){"org", options->org, "bucket", options->bucket,
                                          "precision", "ns", NULL});
}

static bool post(struct influx *influx, const char *url, const char *type, const char *body,
                 bool is_first, struct http_response *answer, struct error *err)
{
    struct http_request request = {.url = url, .body = body, .body_size = body ? strlen(body) : 0};
    request.headers[0] = type;
    request.headers[1] = influx->authorization;
    return post_with_retries(influx, influx->http, &request, is_first, answer, err);
}

static const char TEXT_TYPE[] = "Content-Type: text/plain; charset=utf-8";

/* Runs an InfluxQL statement; the server returns 200 even for one that failed. */
static bool run_statement(struct influx *influx, const char *statement, struct error *err)
{
    struct http_response answer;
    char *url = make_url(influx, "/query",
                         (const char *const[]){"db", influx->options.bucket, "q", statement, NULL});
    bool ok = post(influx, url, TEXT_TYPE, NULL, false, &answer, err);
    mem_free(url);
    if (!ok)
        return false;
    if (is_success(&answer) && !memmem(answer.body.data, answer.body.size, "\"error\"", 7))
        return true;
    return refused(influx, &answer, err);
}

/* A quoted string for statements and predicates. */
static void put_quoted(struct output *out, const char *text, char quote)
{
    output_char(out, quote);
    for (; *text; text++) {
        if (*text == quote || *text == '\\')
            output_char(out, '\\');
        output_char(out, *text);
    }
    output_char(out, quote);
}

static bool create_database(struct influx *influx, struct error *err)
{
    struct output out;
    output_memory(&out);
    output_text(&out, "CREATE DATABASE ");
    put_quoted(&out, influx->options.bucket, '"');
    output_char(&out, '\0');
    bool ok = run_statement(influx, out.data, err);
    output_discard(&out);
    return ok;
}

static bool detect_v1(struct influx *influx, struct error *err)
{
    struct http_response answer;
    influx->is_v1 = true;
    mem_free(influx->write_url);
    influx->write_url = write_url(influx);
    if (!post(influx, influx->write_url, TEXT_TYPE, NULL, true, &answer, err))
        return false;
    if (is_success(&answer))
        return true;
    if (answer.status != 404)
        return refused(influx, &answer, err);
    if (!has_member(answer.body, TEXT("error")))
        return unreachable("the server is not InfluxDB", err);
    return create_database(influx, err);
}

static bool detect_api(struct influx *influx, struct error *err)
{
    struct http_response answer;
    influx->write_url = write_url(influx);
    if (!post(influx, influx->write_url, TEXT_TYPE, NULL, true, &answer, err))
        return false;
    bool is_v2 = is_success(&answer) || has_member(answer.body, TEXT("code"));
    if (!is_v2 && (answer.status == 404 || answer.status == 405))
        return detect_v1(influx, err);
    if (is_success(&answer) || answer.status == 400) /* 400: the body was empty */
        return true;
    return refused(influx, &answer, err);
}

static bool check_token(const char *token, struct error *err)
{
    for (const char *c = token; *c; c++)
        if ((unsigned char)*c < 0x20)
            return error_set(err, "influxdb token not setup correctly: INFLUX_TOKEN contains a "
                                  "line break or another control character");
    return true;
}

bool influx_open(struct influx **opened, const struct influx_options *options, struct error *err)
{
    *opened = NULL;
    struct influx *influx = mem_zeroed(1, sizeof *influx);
    influx->options = *options;
    bool ok = true;
    if (options->token && options->token[0]) {
        struct output header;
        ok = check_token(options->token, err);
        output_memory(&header);
        output_format(&header, "Authorization: Token %s", options->token);
        influx->authorization = mem_copy_text(header.data, header.size);
        output_discard(&header);
    }
    if (ok && http_create(&influx->http, err) && detect_api(influx, err)) {
        *opened = influx;
        return true;
    }
    influx_close(influx);
    return false;
}

void influx_close(struct influx *influx)
{
    if (!influx)
        return;
    http_destroy(influx->http);
    mem_free(influx->write_url);
    mem_free(influx->authorization);
    mem_free(influx);
}

bool influx_write(struct influx *influx, struct http *http, const char *packed, size_t size,
                  struct error *err)
{
    struct http_response answer;
    struct http_request request = {.url = influx->write_url, .body = packed, .body_size = size};
    request.headers[0] = TEXT_TYPE;
    request.headers[1] = "Content-Encoding: gzip";
    request.headers[2] = influx->authorization;
    if (!post_with_retries(influx, http, &request, false, &answer, err))
        return false;
    return is_success(&answer) || refused(influx, &answer, err);
}

static bool remove_v1(struct influx *influx, const char *profile, struct error *err)
{
    struct output out;
    output_memory(&out);
    output_text(&out, "DROP SERIES WHERE \"profile\" = ");
    put_quoted(&out, profile, '\'');
    output_char(&out, '\0');
    bool ok = run_statement(influx, out.data, err);
    output_discard(&out);
    return ok;
}

/* Deletes by predicate over the whole range of times, as events of an earlier upload may lie
 * anywhere. Version 1 servers have a statement for it instead. */
bool influx_remove(struct influx *influx, const char *profile, struct error *err)
{
    if (influx->is_v1)
        return remove_v1(influx, profile, err);
    struct output predicate, body;
    struct json json;
    struct http_response answer;
    output_memory(&predicate);
    output_text(&predicate, "profile=");
    put_quoted(&predicate, profile, '"');
    output_memory(&body);
    json_begin(&json, &body, false);
    json_open(&json, '{');
    json_put_text(&json, "start", TEXT("1677-09-21T00:12:44Z")); /* the whole time range */
    json_put_text(&json, "stop", TEXT("2262-04-11T23:47:16Z"));
    json_put_text(&json, "predicate", (struct text){predicate.data, predicate.size});
    json_close(&json, '}');
    output_char(&body, '\0');
    char *url = make_url(
        influx, "/api/v2/delete",
        (const char *const[]){"org", influx->options.org, "bucket", influx->options.bucket, NULL});
    bool ok = post(influx, url, "Content-Type: application/json", body.data, false, &answer, err);
    mem_free(url);
    output_discard(&predicate);
    output_discard(&body);
    return ok && (is_success(&answer) || refused(influx, &answer, err));
}
