/*
 * Pairs starts and stops of the trace.
 */
#include "neuron/run/nccom/spans.h"

#include "base/wire/wire.h"

struct event {
    struct text type, phase, algorithm;
    uint64_t tracking_id, core, execution, collective, time_ns;
    bool has_time;
};

static uint64_t number(const struct json_value *value)
{
    uint64_t result = 0;
    for (size_t i = 0; i < value->text.size; i++) {
        char c = value->text.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(result, 10, &result) ||
            __builtin_add_overflow(result, (uint64_t)(c - '0'), &result))
            return 0;
    }
    return result;
}

static void take_data(struct text data, struct event *event)
{
    struct json_reader in = json_read(data);
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            return;
        if (text_equal(key.text, TEXT("exec_id"))) {
            event->execution = number(&value);
        } else if (text_equal(key.text, TEXT("collective"))) {
            event->collective = number(&value);
        } else if (text_equal(key.text, TEXT("nc_timestamp_ns"))) {
            event->time_ns = number(&value);
            event->has_time = true;
        } else if (text_equal(key.text, TEXT("algorithm"))) {
            event->algorithm = value.text;
        }
    }
}

static bool read_event(struct json_reader *in, struct event *event)
{
    struct json_value key, value;
    *event = (struct event){0};
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key) || !json_read_value(in, &value))
            return false;
        if (text_equal(key.text, TEXT("event_type")))
            event->type = value.text;
        else if (text_equal(key.text, TEXT("phase")))
            event->phase = value.text;
        else if (text_equal(key.text, TEXT("tracking_id")))
            event->tracking_id = number(&value);
        else if (text_equal(key.text, TEXT("nc_idx")))
            event->core = number(&value);
        else if (text_equal(key.text, TEXT("data")) && value.kind == JSON_OBJECT)
            take_data(value.text, event);
    }
    return !in->problem;
}

/* What is open: barriers and collectives that have begun. */
typedef ARRAY(struct event) open_list;

static struct event *find_open(open_list *open, const struct event *event)
{
    for (size_t i = open->count; i-- > 0;)
        if (open->items[i].tracking_id == event->tracking_id && open->items[i].core == event->core)
            return &open->items[i];
    return NULL;
}

static struct event *find_barrier(open_list *open, const struct event *event)
{
    for (size_t i = open->count; i-- > 0;)
        if (text_equal(open->items[i].type, TEXT("cc_exec_barrier")) &&
            open->items[i].core == event->core && open->items[i].execution == event->execution &&
            open->items[i].collective == event->collective)
            return &open->items[i];
    return NULL;
}

static void remove_open(open_list *open, struct event *event)
{
    *event = open->items[--open->count];
}

static void take_end(open_list *open, const struct event *end, span_list *spans)
{
    struct event *start = find_open(open, end);
    if (!start || !text_equal(start->type, TEXT("cc_running")))
        return; /* a barrier stays until its collective is complete */
    struct event running = *start;
    remove_open(open, start);
    struct event *barrier = find_barrier(open, &running);
    *array_push(spans) = (struct span){.core = running.core,
                                       .execution = running.execution,
                                       .collective = running.collective,
                                       .start_ns = barrier ? barrier->time_ns : running.time_ns,
                                       .end_ns = end->time_ns,
                                       .algorithm = running.algorithm};
    if (barrier)
        remove_open(open, barrier);
}

static void take_event(open_list *open, const struct event *event, span_list *spans)
{
    bool is_collective = text_equal(event->type, TEXT("cc_exec_barrier")) ||
                         text_equal(event->type, TEXT("cc_running"));
    if (!is_collective || !event->has_time)
        return;
    if (text_equal(event->phase, TEXT("start")))
        *array_push(open) = *event;
    else if (text_equal(event->phase, TEXT("stop")))
        take_end(open, event, spans);
}

bool spans_read(struct text trace, span_list *spans, struct error *err)
{
    struct json_reader in = json_read(trace);
    struct json_value key, value;
    struct event event;
    open_list open = {0};
    *spans = (span_list){0};
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key))
            break;
        if (!text_equal(key.text, TEXT("events"))) {
            json_read_value(&in, &value);
            continue;
        }
        for (bool next = json_enter(&in, '['); next; next = json_more(&in, ']'))
            if (read_event(&in, &event))
                take_event(&open, &event, spans);
    }
    array_free(&open);
    if (in.problem)
        array_free(spans);
    return !in.problem || error_set(err, "the runtime's trace cannot be read: %s", in.problem);
}
