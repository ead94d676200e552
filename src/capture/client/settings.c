/*
 * Settings as KEY=VALUE: the ones all servers know, gpu_* as XLA's tracer takes them, tpu_* as they
 * are.
 */
#include "capture/client/settings.h"

#include "base/wire/wire.h"
#include "capture/cuda/options/gpu_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_HOST_LEVEL = 2, DEFAULT_DEVICE_LEVEL = 1, MAX_LEVEL = 3, MAX_NAMES = 64 };
enum { OPTIONS_ADVANCED = 12, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { VALUE_TEXT = 1, VALUE_BOOL = 2, VALUE_INT = 3 };
#define MAX_DELAY_MS 3600000

/* Of a key's value. */
enum kind { KIND_LEVEL, KIND_NUMBER, KIND_BOOL, KIND_TEXT };

/* What advanced_configuration may have besides gpu_* and tpu_*. */
static const struct {
    const char *name;
    enum kind kind;
} advanced_keys[] = {
    {"use_system_hostname", KIND_BOOL},
    {"tracemark_lower", KIND_NUMBER},
    {"tracemark_upper", KIND_NUMBER},
    {"gpu_aggregated_tracing", KIND_BOOL},
};

static const char *const plain_keys[] = {
    "host_tracer_level",        "device_tracer_level",
    "python_tracer_level",      "enable_hlo_proto",
    "include_dataset_ops",      "delay_ms",
    "host_traceme_filter_mask", "session_id",
    "override_hostnames",       "max_bytes",
};

/* Options of Kymo's own recorder: it takes them when a program starts. */
static const char *const recorder_keys[] = {"gpu_detail", "gpu_api_calls",
                                            "gpu_counter_interval_ms"};

static bool is_one_of(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* ---- Values -------------------------------------------------------------------------------- */

static bool read_number(const char *key, const char *value, int64_t *number, struct error *err)
{
    char *end;
    errno = 0;
    *number = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end || strchr(" \t+", *value))
        return error_set(err, "%s: '%s' is not a number", key, value);
    return true;
}

static bool read_limited(const char *key, const char *value, int64_t most, uint64_t *number,
                         struct error *err)
{
    int64_t read;
    if (!read_number(key, value, &read, err))
        return false;
    if (read < 0 || read > most)
        return error_set(err, "%s: %s is not between 0 and %lld", key, value, (long long)most);
    *number = (uint64_t)read;
    return true;
}

static bool read_bool(const char *key, const char *value, bool *is_on, struct error *err)
{
    *is_on = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!*is_on && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
        return error_set(err, "%s: '%s' is neither true nor false", key, value);
    return true;
}

/* A name that becomes part of a path. */
static bool read_name(const char *key, const char *value, const char *allowed, char **name,
                      struct error *err)
{
    for (const char *c = value; *c; c++)
        if (!strchr(allowed, *c))
            return error_set(err, "%s: '%s' may have letters, digits, '.', '_' and '-' only", key,
                             value);
    if (!*value || *value == '.')
        return error_set(err, "%s: '%s' is not a name", key, value);
    mem_free(*name);
    *name = mem_copy_text(value, strlen(value));
    return true;
}

/* ---- advanced_configuration ---------------------------------------------------------------- */

static bool put_advanced(struct remote_settings *settings, const char *key, const char *value,
                         enum kind kind, struct error *err)
{
    int64_t number = 0;
    bool is_on = false;
    if ((kind == KIND_NUMBER && !read_number(key, value, &number, err)) ||
        (kind == KIND_BOOL && !read_bool(key, value, &is_on, err)))
        return false;
    struct output *out = &settings->advanced;
    size_t entry = pb_begin(out, OPTIONS_ADVANCED);
    pb_put_text(out, ENTRY_KEY, text_of(key));
    size_t message = pb_begin(out, ENTRY_VALUE);
    if (kind == KIND_NUMBER)
        pb_put_varint(out, VALUE_INT, (uint64_t)number);
    else if (kind == KIND_BOOL)
        pb_put_varint(out, VALUE_BOOL, is_on);
    else
        pb_put_text(out, VALUE_TEXT, text_of(value));
    pb_end(out, message);
    pb_end(out, entry);
    return true;
}

static bool put_gpu(struct remote_settings *settings, size_t index, const char *value,
                    struct error *err)
{
    const struct gpu_option_key *key = &gpu_keys[index];
    struct gpu_options ignored = GPU_OPTIONS;
    struct error problem;
    if (is_one_of(key->name, recorder_keys, sizeof recorder_keys / sizeof *recorder_keys))
        return error_set(err, "%s is set when the program is started: kymo inspect --%s", key->name,
                         key->flag);
    if (!gpu_option_set(&ignored, index, value, &problem))
        return error_set(err, "%s: %s", key->name, problem.text);
    enum kind kind = strcmp(key->argument, "BOOL") == 0    ? KIND_BOOL
                     : strcmp(key->argument, "NAMES") == 0 ? KIND_TEXT
                                                           : KIND_NUMBER;
    return put_advanced(settings, key->name, value, kind, err);
}

/* Only libtpu knows these and their types. */
static bool put_tpu(struct remote_settings *settings, const char *key, const char *value,
                    struct error *err)
{
    struct error ignored;
    int64_t number;
    bool is_bool = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    bool is_number = read_number(key, value, &number, &ignored);
    return put_advanced(settings, key, value,
                        is_bool     ? KIND_BOOL
                        : is_number ? KIND_NUMBER
                                    : KIND_TEXT,
                        err);
}

static bool unknown_key(const char *key, struct error *err)
{
    const char *names[MAX_NAMES];
    size_t count = 0;
    for (size_t i = 0; i < sizeof plain_keys / sizeof *plain_keys; i++)
        names[count++] = plain_keys[i];
    for (size_t i = 0; i < sizeof advanced_keys / sizeof *advanced_keys; i++)
        names[count++] = advanced_keys[i].name;
    for (size_t i = 0; i < GPU_KEYS; i++)
        names[count++] = gpu_keys[i].name;
    const char *nearest = text_nearest(key, names, count);
    return error_set(err, "unknown option '%s'%s%s%s", key, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

static bool set_advanced(struct remote_settings *settings, const char *key, const char *value,
                         struct error *err)
{
    for (size_t i = 0; i < sizeof advanced_keys / sizeof *advanced_keys; i++)
        if (strcmp(key, advanced_keys[i].name) == 0)
            return put_advanced(settings, key, value, advanced_keys[i].kind, err);
    for (size_t i = 0; i < GPU_KEYS; i++)
        if (strcmp(key, gpu_keys[i].name) == 0)
            return put_gpu(settings, i, value, err);
    if (text_starts(text_of(key), TEXT("tpu_")))
        return put_tpu(settings, key, value, err);
    return unknown_key(key, err);
}

/* ---- All of them --------------------------------------------------------------------------- */

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* The keys that every server knows are checked here; all others belong to a device's tracer. */
static bool set(struct remote_settings *settings, const char *key, const char *value,
                struct error *err)
{
    uint64_t delay = 0, most = 0;
    if (strcmp(key, "host_tracer_level") == 0)
        return read_limited(key, value, MAX_LEVEL, &settings->host_level, err);
    if (strcmp(key, "device_tracer_level") == 0)
        return read_limited(key, value, MAX_LEVEL, &settings->device_level, err);
    if (strcmp(key, "python_tracer_level") == 0)
        return read_limited(key, value, 1, &settings->python_level, err);
    if (strcmp(key, "enable_hlo_proto") == 0)
        return read_bool(key, value, &settings->has_hlo, err);
    if (strcmp(key, "include_dataset_ops") == 0)
        return read_bool(key, value, &settings->has_dataset_ops, err);
    if (strcmp(key, "host_traceme_filter_mask") == 0) {
        settings->has_mask = true;
        return read_limited(key, value, UINT32_MAX, &settings->traceme_mask, err);
    }
    if (strcmp(key, "delay_ms") == 0) {
        if (!read_limited(key, value, MAX_DELAY_MS, &delay, err))
            return false;
        settings->delay_ms = (int64_t)delay;
        return true;
    }
    if (strcmp(key, "max_bytes") == 0) { /* the smallest: a server sets one before its users do */
        if (!read_limited(key, value, INT64_MAX, &most, err))
            return false;
        settings->max_bytes = most < settings->max_bytes ? most : settings->max_bytes;
        return true;
    }
    if (strcmp(key, "session_id") == 0)
        return read_name(key, value, NAME_CHARS, &settings->session_id, err);
    if (strcmp(key, "override_hostnames") == 0)
        return read_name(key, value, NAME_CHARS ",", &settings->host_names, err);
    return set_advanced(settings, key, value, err);
}

/* The end of the pair: the comma before the next word with an equals sign. */
static const char *pair_end(const char *pair)
{
    const char *end = pair + strcspn(pair, ",");
    while (*end) {
        size_t word = strcspn(end + 1, ",=");
        if (end[1 + word] == '=')
            break;
        end += 1 + word;
    }
    return end;
}

static bool read_pairs(struct remote_settings *settings, const char *text, struct error *err)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = pair_end(text);
        size_t key_size = strcspn(text, "=,");
        if (text[key_size] != '=' || key_size == 0)
            return error_set(err, "'%.*s' is not KEY=VALUE", (int)(end - text), text);
        char *key = mem_copy_text(text, key_size);
        char *value = mem_copy_text(text + key_size + 1, (size_t)(end - text) - key_size - 1);
        bool ok = set(settings, key, value, err);
        mem_free(key);
        mem_free(value);
        if (!ok)
            return false;
    }
    return true;
}

bool settings_read(struct remote_settings *settings, const char *const *texts, size_t count,
                   struct error *err)
{
    *settings = (struct remote_settings){.host_level = DEFAULT_HOST_LEVEL,
                                         .device_level = DEFAULT_DEVICE_LEVEL,
                                         .has_hlo = true,
                                         .has_dataset_ops = true,
                                         .max_bytes = UINT64_MAX,
                                         .delay_ms = SETTINGS_NO_DELAY};
    output_memory(&settings->advanced);
    for (size_t i = 0; i < count; i++)
        if (!read_pairs(settings, texts[i], err)) {
            settings_free(settings);
            return false;
        }
    return true;
}

void settings_free(struct remote_settings *settings)
{
    output_discard(&settings->advanced);
    mem_free(settings->session_id);
    mem_free(settings->host_names);
    *settings = (struct remote_settings){0};
}
