/*
 * Fetched events. Members of "data" and members of an event that have no meaning here become args;
 * lists and objects in them become texts.
 */
#include "capture/neuron/fetched.h"

#include "base/wire/wire.h"

#include <string.h>

/* Texts of one event, one behind the other. */
struct texts {
    char *at, *end;
};

/* A copy with a NUL, without escapes; a longer one is cut at a character. */
static const char *keep(struct texts *texts, const struct json_value *value)
{
    size_t room = (size_t)(texts->end - texts->at), size = value->text.size;
    if (room == 0)
        return "";
    size_t most = room - 1 < FETCHED_TEXT - 1 ? room - 1 : FETCHED_TEXT - 1;
    while (size > most && (value->text.data[most] & 0xC0) == 0x80)
        most--;
    struct text raw = {value->text.data, size < most ? size : most};
    char *copy = texts->at;
    if (value->has_escapes && raw.size == size)
        size = json_unescape(raw, copy);
    else
        memcpy(copy, raw.data, size = raw.size);
    copy[size] = '\0';
    texts->at += size + 1;
    return copy;
}

static bool is_key(const struct json_value *key, const char *name)
{
    size_t size = strlen(name);
    return key->text.size == size && memcmp(key->text.data, name, size) == 0;
}

/* An integer, as 64 bits and a sign. */
static bool whole_number(const struct json_value *value, uint64_t *bits, bool *is_negative)
{
    struct json_reader in = json_read(value->text);
    struct json_number number;
    if (value->kind != JSON_NUMBER || !json_read_number(&in, &number) || !number.is_whole ||
        number.is_rounded || number.is_nonfinite ||
        (number.is_negative && number.digits > (uint64_t)1 << 63))
        return false;
    *is_negative = number.is_negative && number.digits > 0;
    *bits = *is_negative ? 0 - number.digits : number.digits;
    return true;
}

static struct kymo_arg number_arg(const char *key, const struct json_value *value,
                                  struct texts *texts)
{
    enum { LONGEST = 64 }; /* of a number that is converted */
    uint64_t bits;
    bool is_negative;
    if (whole_number(value, &bits, &is_negative))
        return is_negative || bits <= INT64_MAX ? kymo_int(key, (int64_t)bits)
                                                : kymo_uint(key, bits);
    struct json_reader in = json_read(value->text);
    struct json_number number;
    if (value->text.size <= LONGEST && json_read_number(&in, &number))
        return kymo_double(key, json_number_double(&number));
    return kymo_text(key, keep(texts, value));
}

static void add_arg(struct fetched_event *event, struct texts *texts, const struct json_value *key,
                    const struct json_value *value)
{
    if (event->count == KYMO_MOST_ARGS || value->kind == JSON_NULL)
        return;
    const char *name = keep(texts, key);
    struct kymo_arg *arg = &event->args[event->count++];
    if (value->kind == JSON_NUMBER)
        *arg = number_arg(name, value, texts);
    else if (value->kind == JSON_TRUE || value->kind == JSON_FALSE)
        *arg = kymo_int(name, value->kind == JSON_TRUE);
    else
        *arg = kymo_text(name, keep(texts, value));
}

static void add_data(struct fetched_event *event, struct texts *texts,
                     const struct json_value *data)
{
    struct json_reader in = json_read(data->text);
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value))
            add_arg(event, texts, &key, &value);
}

static enum trace_phase phase_of(const struct json_value *value)
{
    return is_key(value, "start") ? TRACE_START : is_key(value, "stop") ? TRACE_STOP : TRACE_POINT;
}

/* Members with a meaning; false for the others. */
static bool take_known(struct fetched_event *event, struct texts *texts,
                       const struct json_value *key, const struct json_value *value)
{
    uint64_t bits;
    bool is_negative;
    bool is_whole = whole_number(value, &bits, &is_negative);
    if (is_key(key, "event_type") && value->kind == JSON_STRING) {
        event->type = keep(texts, value);
    } else if (is_key(key, "phase")) {
        event->phase = phase_of(value);
    } else if (is_key(key, "tracking_id") && is_whole) {
        event->tracking_id = bits;
    } else if (is_key(key, "nc_idx") && is_whole) {
        event->has_core = !is_negative && bits < KYMO_NO_CORE;
        event->core = event->has_core ? (uint32_t)bits : 0;
    } else if (is_key(key, "timestamp_ns") && is_whole && (is_negative || bits <= INT64_MAX)) {
        event->has_time = true;
        event->time_ns = (int64_t)bits;
    } else if (is_key(key, "data") && value->kind == JSON_OBJECT) {
        add_data(event, texts, value);
    } else {
        return false;
    }
    return true;
}

/* item was validated with all it contains. */
static bool read_event(const struct json_value *item, struct texts texts,
                       struct fetched_event *event)
{
    struct json_reader in = json_read(item->text);
    struct json_value key, value;
    *event = (struct fetched_event){.phase = TRACE_POINT};
    if (item->kind != JSON_OBJECT)
        return false;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value) &&
            !take_known(event, &texts, &key, &value))
            add_arg(event, &texts, &key, &value);
    return event->type && *event->type && event->has_time;
}

/* Where events go, and what was found so far. */
struct taker {
    char *texts;
    void (*take)(void *user, struct fetched_event *event);
    void *user;
    struct fetched *result;
};

static void read_list(struct json_reader *in, const struct taker *taker)
{
    struct json_value item;
    struct fetched_event event;
    for (bool more = json_enter(in, '['); more; more = json_more(in, ']')) {
        if (!json_read_value(in, &item))
            return;
        if (!read_event(&item, (struct texts){taker->texts, taker->texts + FETCHED_TEXTS},
                        &event)) {
            taker->result->non_events++;
            continue;
        }
        taker->result->events++;
        taker->take(taker->user, &event);
    }
}

static void read_member(struct json_reader *in, struct fetched *result)
{
    struct json_value key, value;
    uint64_t bits;
    bool is_negative;
    if (json_read_key(in, &key) && json_read_value(in, &value) && is_key(&key, "lost_events") &&
        whole_number(&value, &bits, &is_negative) && !is_negative)
        result->lost += bits;
}

/* One pass without allocation over JSON that is not trusted; events before a syntax error have been
 * handed over already. */
void fetched_read(const char *json, size_t size, char *texts,
                  void (*take)(void *user, struct fetched_event *event), void *user,
                  struct fetched *result)
{
    const struct taker taker = {texts, take, user, result};
    struct json_reader in = json_read((struct text){json, strnlen(json, size)});
    struct json_value key;
    bool has_events = false;
    *result = (struct fetched){0};
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        struct json_reader ahead = in;
        if (!json_read_key(&ahead, &key) || !is_key(&key, "events")) {
            read_member(&in, result);
            continue;
        }
        in = ahead;
        has_events = true;
        read_list(&in, &taker);
    }
    json_skip_space(&in);
    if (!in.problem && in.at < in.end)
        in.problem = "text after the object";
    result->problem = in.problem ? in.problem : has_events ? NULL : "no list of events";
    result->offset = (size_t)(in.at - json);
}
