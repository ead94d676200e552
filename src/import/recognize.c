/*
 * Recognizes the format of a JSON file by the keys of its outermost object.
 */
#include "import/json_file.h"

static struct json_reader reader_of(const uint8_t *data, size_t size)
{
    struct text text = {(const char *)data, size};
    if (text_starts(text, TEXT("\xEF\xBB\xBF")))
        text = (struct text){text.data + 3, text.size - 3};
    struct json_reader in = json_read(text);
    json_skip_space(&in);
    return in;
}

static const struct {
    const char *key;
    enum json_format format;
} known_keys[] = {
    {"traceEvents", JSON_FORMAT_CHROME},
    {"displayTimeUnit", JSON_FORMAT_CHROME},
    {"deviceProperties", JSON_FORMAT_CHROME},
    {"distributedInfo", JSON_FORMAT_CHROME},
    {"traceName", JSON_FORMAT_CHROME},
    {"baseTimeNanoseconds", JSON_FORMAT_CHROME},
    {"data_version", JSON_FORMAT_SYSTEM_TRACE},
    {"trace_events", JSON_FORMAT_EXPLORER},
    {"trace_event", JSON_FORMAT_EXPLORER},
    {"cpu_util", JSON_FORMAT_EXPLORER},
    {"mem_usage", JSON_FORMAT_EXPLORER},
    {"device_mem_usage", JSON_FORMAT_EXPLORER},
    {"system_profile_metadata", JSON_FORMAT_EXPLORER},
    {"device_profile_list", JSON_FORMAT_EXPLORER},
    {"instruction", JSON_FORMAT_DEVICE_PROFILE},
    {"dma", JSON_FORMAT_DEVICE_PROFILE},
    {"neff_node", JSON_FORMAT_DEVICE_PROFILE},
    {"layer_summary", JSON_FORMAT_DEVICE_PROFILE},
    {"profile_info", JSON_FORMAT_DEVICE_PROFILE},
};

static enum json_format format_of_key(struct text key)
{
    for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++)
        if (text_equal(key, text_of(known_keys[i].key)))
            return known_keys[i].format;
    return JSON_FORMAT_NONE;
}

/* "events" alone is too generic; those of a system trace have a type and a phase. */
static bool begins_system_trace(struct json_reader in)
{
    struct json_value key, value;
    if (!json_enter(&in, '['))
        return false;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            return false;
        if (text_equal(key.text, TEXT("event_type")) || text_equal(key.text, TEXT("tracking_id")))
            return true;
    }
    return false;
}

static enum json_format recognize_object(struct json_reader *in)
{
    struct json_value key, value;
    bool is_own = false;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key))
            break;
        enum json_format format = format_of_key(key.text);
        if (format != JSON_FORMAT_NONE)
            return format;
        if (text_equal(key.text, TEXT("events")) && begins_system_trace(*in))
            return JSON_FORMAT_SYSTEM_TRACE;
        is_own |= text_equal(key.text, TEXT("first_event_ps"));
        if (!json_read_value(in, &value))
            break;
    }
    /* In Kymo's own documents, the events are far from the beginning. */
    return is_own && in->problem == JSON_CUT_OFF ? JSON_FORMAT_EXPLORER : JSON_FORMAT_UNKNOWN;
}

/* Chrome events have a phase; a list without any is something else. */
static enum json_format recognize_list(struct json_reader *in)
{
    if (!json_enter(in, '[') || in->at == in->end || *in->at == 'n')
        return JSON_FORMAT_UNKNOWN;
    if (*in->at != '{')
        return JSON_FORMAT_OTHER;
    if (memmem(in->at, (size_t)(in->end - in->at), "\"ph\"", 4))
        return JSON_FORMAT_CHROME;
    const char *last = in->end - 1;
    while (last > in->at && strchr(" \t\r\n", *last))
        last--;
    return *last == ']' ? JSON_FORMAT_OTHER : JSON_FORMAT_UNKNOWN;
}

enum json_format json_recognize(const uint8_t *data, size_t size)
{
    struct json_reader in = reader_of(data, size);
    if (in.at == in.end || (*in.at != '{' && *in.at != '['))
        return JSON_FORMAT_NONE;
    if (*in.at == '{')
        return recognize_object(&in);
    return recognize_list(&in);
}
