/*
 * gRPC by HTTP/2: the message is a body with a prefix, the status comes in trailers.
 */
#include "capture/client/call.h"

#include "base/http/http.h"

#include <stdio.h>
#include <stdlib.h>

enum { URL_SIZE = 1024, HEADER_SIZE = 64, SLACK_MS = 2000, HTTP_OK = 200 };

struct reply {
    struct answer *answer;
    const struct remote_call *call;
    struct call_status status;
    bool has_status;
};

static unsigned hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                  : 16;
}

/* Percent-encoded; what would disturb a terminal becomes a space. */
static void take_message(struct call_status *status, struct text value)
{
    size_t size = 0;
    for (size_t i = 0; i < value.size && size + 1 < sizeof status->message; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (c == '%' && i + 2 < value.size && hex_digit(value.data[i + 1]) < 16 &&
            hex_digit(value.data[i + 2]) < 16) {
            c = (unsigned char)(hex_digit(value.data[i + 1]) << 4 | hex_digit(value.data[i + 2]));
            i += 2;
        }
        status->message[size++] = c < ' ' || c == 0x7F ? ' ' : (char)c;
    }
    status->message[text_utf8_prefix(status->message, size)] = '\0';
}

static void take_header(void *context, struct text name, struct text value)
{
    struct reply *reply = context;
    char number[16];
    if (text_equal(name, TEXT("grpc-status")) && value.size < sizeof number) {
        memcpy(number, value.data, value.size);
        number[value.size] = '\0';
        reply->status.code = (unsigned)strtoul(number, NULL, 10);
        reply->has_status = true;
    } else if (text_equal(name, TEXT("grpc-message"))) {
        take_message(&reply->status, value);
    }
}

static bool take_data(void *context, const uint8_t *data, size_t size)
{
    struct reply *reply = context;
    return !reply->answer || answer_take(reply->answer, data, size);
}

static bool is_over(void *context)
{
    struct reply *reply = context;
    return reply->call->is_over && reply->call->is_over(reply->call->context);
}

/* Without a status of gRPC, what HTTP says. */
static void judge(struct reply *reply, const struct http_response *response)
{
    struct call_status *status = &reply->status;
    if (reply->has_status && (status->code != GRPC_OK || response->outcome == HTTP_COMPLETED))
        return;
    status->code = response->outcome == HTTP_UNREACHABLE ? GRPC_UNAVAILABLE : GRPC_UNKNOWN;
    if (reply->answer && reply->answer->problem.text[0])
        snprintf(status->message, sizeof status->message, "%s", reply->answer->problem.text);
    else if (response->outcome != HTTP_COMPLETED)
        snprintf(status->message, sizeof status->message, "%s", response->reason);
    else if (response->status != HTTP_OK)
        snprintf(status->message, sizeof status->message,
                 "HTTP status %ld: not a profiler's server", response->status);
    else
        snprintf(status->message, sizeof status->message, "the answer ends without a status");
}

/* True means that there is a status, network failures included. Each call has its own connection.
 */
bool call_run(const struct remote_call *call, struct call_status *status, struct error *err)
{
    struct http *http;
    struct http_response response;
    struct reply reply = {.answer = call->answer, .call = call};
    char url[URL_SIZE], timeout[HEADER_SIZE];
    if (!http_create(&http, err))
        return false;
    snprintf(url, sizeof url, "http://%s:%u/tensorflow.ProfilerService/%s", call->host, call->port,
             call->method);
    /* At most eight digits. */
    snprintf(timeout, sizeof timeout, "grpc-timeout: %uS", call->timeout_ms / 1000 + 1);
    struct http_request request = {
        .url = url,
        .headers = {"content-type: application/grpc", "te: trailers", timeout, "user-agent: kymo"},
        .body = call->message->data,
        .body_size = call->message->size,
        .timeout_ms = call->timeout_ms + SLACK_MS,
    };
    struct http_sink sink = {take_header, take_data, is_over, &reply};
    http2_post(http, &request, &sink, &response);
    http_destroy(http);
    judge(&reply, &response);
    *status = reply.status;
    return true;
}

const char *grpc_status_name(unsigned code)
{
    static const char *const names[] = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};
    return code < sizeof names / sizeof *names ? names[code] : "unknown status";
}
