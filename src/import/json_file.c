/*
 * JSON files: opening, time alignment of several files, and conversion of values for the catalog.
 */
#include "import/json_file.h"

#include <stdarg.h>
#include <stdio.h>

enum { PS_PER_NS = 1000 };

bool json_file_open(struct json_file *file, struct catalog *catalog, struct error *err)
{
    const uint8_t *data = (const uint8_t *)file->data;
    enum stream_kind kind = stream_kind_of(data, file->size);
    *array_push(&catalog->hosts) =
        (struct host){.name = catalog_string(catalog, text_of(file->label)),
                      .file = catalog_string(catalog, text_of(file->path)),
                      .size_bytes = file->size,
                      .compression = catalog_string(catalog, text_of(stream_kind_name(kind))),
                      .start_epoch_ns = TIME_UNSET,
                      .stop_epoch_ns = TIME_UNSET};
    catalog_give(catalog, file->size, kind != STREAM_PLAIN);
    if (kind != STREAM_PLAIN &&
        !stream_unpack(file->path, data, file->size, &file->unpacked, &file->size, err))
        return false;
    if (file->unpacked)
        file->data = (const char *)file->unpacked;
    return file->size > 0 || error_in_file(err, file->path, "the file is empty");
}

void json_files_free(json_file_list *files)
{
    struct json_file *file;
    array_each (file, files) {
        mem_free(file->unpacked);
        file_close(&file->map);
    }
    array_free(files);
}

bool json_files_each(const struct capture *capture, json_file_add *add, void *context,
                     struct error *err)
{
    const struct capture_file *input;
    array_each (input, &capture->files) {
        struct json_file file = {.path = input->path, .label = input->label};
        if (!file_open(&file.map, input->path, err))
            return false;
        file.data = (const char *)file.map.data;
        file.size = file.map.size;
        if (!add(context, &file, err))
            return false;
    }
    return true;
}

/* The earliest known start is time 0. A file whose start is unknown or too far away begins there
 * too, which a message says; nothing is refused. */
void json_files_align(struct catalog *catalog, json_file_list *files)
{
    const struct host *host;
    array_each (host, &catalog->hosts) {
        if (host->start_epoch_ns == TIME_UNSET)
            continue;
        if (catalog->start_epoch_ns == TIME_UNSET || host->start_epoch_ns < catalog->start_epoch_ns)
            catalog->start_epoch_ns = host->start_epoch_ns;
        if (host->stop_epoch_ns > catalog->stop_epoch_ns)
            catalog->stop_epoch_ns = host->stop_epoch_ns;
    }
    for (uint32_t i = 0; i < files->count; i++) {
        struct json_file *file = &files->items[i];
        struct host *own = &catalog->hosts.items[i];
        int64_t shift_ns;
        bool is_known = own->start_epoch_ns != TIME_UNSET;
        if (!is_known ||
            __builtin_sub_overflow(own->start_epoch_ns, catalog->start_epoch_ns, &shift_ns) ||
            __builtin_mul_overflow(shift_ns, (int64_t)PS_PER_NS, &own->shift_ps))
            own->shift_ps = 0;
        if (files->count > 1 &&
            (!is_known || (own->shift_ps == 0 && own->start_epoch_ns != catalog->start_epoch_ns)))
            import_message(
                catalog, i, false,
                is_known ? "its clock differs by more than 106 days from the others; shown as if "
                           "it started with them"
                         : "its absolute time is unknown; shown as if it started with the others");
        file->base_ps = add_saturated(file->base_ps, own->shift_ps);
        file->start_ps = own->shift_ps;
    }
}

bool json_damaged(const struct json_file *file, const struct json_reader *in, struct error *err)
{
    const char *advice = file->unpacked ? " (offset after decompression)" : "";
    return error_at(err, file->path, (uint64_t)(in->at - file->data), "the JSON is damaged%s: %s",
                    advice, in->problem);
}

void import_message(struct catalog *catalog, uint32_t file, bool is_error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *array_push(&catalog->messages) = (struct message){
        .host = file, .is_error = is_error, .text = catalog_string(catalog, text_of(text))};
}

uint32_t value_string(struct catalog *catalog, const struct json_value *value)
{
    if (!value->has_escapes)
        return catalog_string(catalog, value->text);
    char *resolved = mem_alloc(value->text.size);
    size_t size = json_unescape(value->text, resolved);
    uint32_t string = catalog_string(catalog, (struct text){resolved, size});
    mem_free(resolved);
    return string;
}

struct arg number_arg(uint32_t key, const struct json_number *number)
{
    struct arg arg;
    uint64_t largest = (uint64_t)INT64_MAX + number->is_negative;
    if (!number->is_whole) {
        double value = json_number_double(number);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        arg_put(&arg, key, ARG_DOUBLE, 0, bits);
        return arg;
    }
    bool fits = number->is_negative ? number->digits <= largest : true;
    if (number->is_rounded || !fits) /* integers of any size stay exact */
        arg_put(&arg, key, ARG_JSON, (uint32_t)number->text.size,
                (uint64_t)(uintptr_t)number->text.data);
    else
        arg_put(&arg, key, number->digits > largest ? ARG_UINT : ARG_INT, 0,
                number->is_negative ? 0 - number->digits : number->digits);
    return arg;
}

struct arg value_arg(struct catalog *catalog, uint32_t key, const struct json_value *value)
{
    struct arg arg;
    if (value->kind == JSON_STRING) {
        arg_put(&arg, key, ARG_STRING, 0, value_string(catalog, value));
    } else if (value->kind == JSON_NULL) {
        arg_put(&arg, key, ARG_NONE, 0, 0);
    } else if (value->kind == JSON_NUMBER) {
        struct json_reader in = json_read(value->text);
        struct json_number number;
        json_read_number(&in, &number);
        arg = number_arg(key, &number);
    } else {
        arg_put(&arg, key, ARG_JSON, (uint32_t)value->text.size,
                (uint64_t)(uintptr_t)value->text.data);
    }
    return arg;
}

bool value_member(const struct json_value *object, struct text name, struct json_value *value)
{
    if (object->kind != JSON_OBJECT)
        return false;
    struct json_reader in = json_read(object->text);
    struct json_value key, candidate;
    bool found = false;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &candidate))
            break;
        if (!text_equal(key.text, name))
            continue;
        *value = candidate;
        found = true;
    }
    return found;
}

bool value_number(const struct json_value *value, struct json_number *number)
{
    struct json_reader in = json_read(value->text);
    return (value->kind == JSON_NUMBER || value->kind == JSON_STRING) && value->text.size > 0 &&
           json_read_number(&in, number) && in.at == in.end;
}

/* Fast path for short integers; the general parser takes three times as long for them. */
static bool short_integer(struct text text, int64_t *whole)
{
    enum { MAX_DIGITS = 19 }; /* enough for nanoseconds since 1970 */
    if (text.size == 0)
        return false;
    bool is_negative = text.data[0] == '-';
    size_t digits = text.size - is_negative;
    const char *at = text.data + is_negative;
    int64_t value = 0;
    if (digits == 0 || digits > MAX_DIGITS || (digits > 1 && at[0] == '0'))
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, at[i] - '0', &value))
            return false;
    }
    *whole = is_negative ? -value : value;
    return true;
}

bool value_whole(const struct json_value *value, int64_t *whole)
{
    struct json_number number;
    if ((value->kind == JSON_NUMBER || value->kind == JSON_STRING) &&
        short_integer(value->text, whole))
        return true;
    if (!value_number(value, &number))
        return false;
    struct arg arg = number_arg(0, &number);
    *whole = arg.integer;
    return arg.type == ARG_INT;
}

uint32_t member_string(struct catalog *catalog, const struct json_value *object, struct text key)
{
    struct json_value value;
    return value_member(object, key, &value) && value.kind == JSON_STRING
               ? value_string(catalog, &value)
               : STRING_NONE;
}

bool member_whole(const struct json_value *object, struct text key, int64_t *number)
{
    struct json_value value;
    *number = 0;
    return value_member(object, key, &value) && value_whole(&value, number);
}

bool take_messages(struct catalog *catalog, uint32_t file, bool is_error,
                   const struct json_value *value)
{
    struct json_value item;
    struct json_reader in = json_read(value->text);
    if (value->kind != JSON_LIST)
        return false;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (!json_read_value(&in, &item) || item.kind != JSON_STRING)
            return false;
    in = json_read(value->text);
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (json_read_value(&in, &item))
            *array_push(&catalog->messages) = (struct message){
                .host = file, .is_error = is_error, .text = value_string(catalog, &item)};
    return true;
}
