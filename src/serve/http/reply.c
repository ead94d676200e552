/*
 * Builds replies and reads requests: arguments, headers and fields of the JSON body.
 */
#include "serve/http/server.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *request_argument(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->argument_count; i++)
        if (strcmp(request->arguments[i].name, name) == 0)
            return request->arguments[i].value;
    return NULL;
}

static bool read_digits(struct text text, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value))
            return false;
    *number = value;
    return text.size > 0 && value <= max;
}

bool request_number(const struct request *request, struct reply *reply, const char *name,
                    uint64_t max, uint64_t *number)
{
    const char *value = request_argument(request, name);
    if (!value || read_digits(text_of(value), max, number))
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "%s must be a number from 0 to %llu", name,
                (unsigned long long)max);
    return false;
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

int request_socket(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

bool peer_has_closed(int socket)
{
    struct pollfd peer = {.fd = socket, .events = POLLRDHUP};
    return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

bool request_is_abandoned(const struct request *request)
{
    return atomic_load(&request->server->is_stopping) || peer_has_closed(request_socket(request));
}

void reply_error(struct reply *reply, unsigned status, const char *format, ...)
{
    char text[ERROR_LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reply->status = status;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "error", text_of(text));
    json_close(&json, '}');
}

void reply_failure(struct reply *reply, unsigned status, const struct error *err)
{
    char line[ERROR_LINE_SIZE];
    reply_error(reply, status, "%s", error_line(err, line));
}

void reply_header(struct reply *reply, const char *name, const char *format, ...)
{
    char *value;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&value, format, arguments);
    va_end(arguments);
    if (size < 0)
        mem_exhausted();
    if (reply->header_count == MAX_HEADERS) {
        free(value);
        return;
    }
    reply->headers[reply->header_count].name = name;
    reply->headers[reply->header_count++].value = value;
}

struct json reply_json(struct reply *reply)
{
    struct json json;
    reply->type = "application/json";
    reply->body.size = 0;
    json_begin(&json, &reply->body, false);
    return json;
}

void reply_no_content(struct reply *reply)
{
    reply->status = MHD_HTTP_NO_CONTENT;
    reply->body.size = 0;
}

static struct text body_of(const struct request *request)
{
    return (struct text){request->body.data, request->body.size};
}

bool body_check(const struct request *request, struct reply *reply)
{
    struct json_reader in = json_read(body_of(request));
    struct json_value value;
    bool is_whole = request->body.size > 0 && json_read_value(&in, &value);
    json_skip_space(&in);
    if (is_whole && in.at == in.end && value.kind == JSON_OBJECT)
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "the body must be a JSON object%s%s",
                in.problem ? ": " : "", in.problem ? in.problem : "");
    return false;
}

static bool find_field(const struct request *request, const char *wanted, struct json_value *value)
{
    struct json_reader in = json_read(body_of(request));
    struct json_value key;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, value))
            return false;
        if (text_equal(key.text, text_of(wanted)))
            return value->kind != JSON_NULL;
    }
    return false;
}

static bool wrong_type(struct reply *reply, const char *key, const char *wanted)
{
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"%s\" must be %s", key, wanted);
    return false;
}

bool body_text(const struct request *request, struct reply *reply, const char *key, char **value)
{
    struct json_value found;
    if (!find_field(request, key, &found))
        return true;
    if (found.kind != JSON_STRING)
        return wrong_type(reply, key, "a string");
    char *text = mem_alloc(found.text.size + 1);
    size_t size = json_unescape(found.text, text);
    text[size] = '\0';
    if (strlen(text) != size || text_utf8_prefix(text, size) != size) {
        mem_free(text);
        return wrong_type(reply, key, "a UTF-8 string without NUL");
    }
    *value = text;
    return true;
}

bool body_flag(const struct request *request, struct reply *reply, const char *key, bool *value,
               bool *is_there)
{
    struct json_value found;
    *is_there = find_field(request, key, &found);
    if (!*is_there)
        return true;
    if (found.kind != JSON_TRUE && found.kind != JSON_FALSE)
        return wrong_type(reply, key, "true or false");
    *value = found.kind == JSON_TRUE;
    return true;
}

bool body_number(const struct request *request, struct reply *reply, const char *key, uint64_t max,
                 uint64_t *value)
{
    struct json_value found;
    if (!find_field(request, key, &found) ||
        (found.kind == JSON_NUMBER && read_digits(found.text, max, value)))
        return true;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "a number from 0 to %llu", (unsigned long long)max);
    return wrong_type(reply, key, wanted);
}

bool body_time(const struct request *request, struct reply *reply, const char *key, int64_t *value,
               bool *is_there)
{
    struct json_value found;
    uint64_t digits;
    *is_there = find_field(request, key, &found);
    if (!*is_there)
        return true;
    bool is_negative = found.text.size > 0 && found.text.data[0] == '-';
    struct text text = {found.text.data + is_negative, found.text.size - is_negative};
    if ((found.kind != JSON_STRING && found.kind != JSON_NUMBER) ||
        !read_digits(text, INT64_MAX, &digits))
        return wrong_type(reply, key, "a time in picoseconds, as a string of digits");
    *value = is_negative ? -(int64_t)digits : (int64_t)digits;
    return true;
}

bool body_numbers(const struct request *request, struct reply *reply, const char *key,
                  number_list *list)
{
    struct json_value found, item;
    if (!find_field(request, key, &found))
        return true;
    if (found.kind != JSON_LIST)
        return wrong_type(reply, key, "a list of numbers");
    struct json_reader in = json_read(found.text);
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']')) {
        uint64_t number;
        if (!json_read_value(&in, &item) || item.kind != JSON_NUMBER ||
            !read_digits(item.text, UINT32_MAX, &number))
            return wrong_type(reply, key, "a list of numbers");
        *array_push(list) = (uint32_t)number;
    }
    return true;
}

bool has_controls(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

void put_sql_text(struct output *sql, struct text text)
{
    output_char(sql, '\'');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\'')
            output_char(sql, '\'');
        output_char(sql, text.data[i]);
    }
    output_char(sql, '\'');
}
