/*
 * Recordings: ranges that PyTorch wrote (emit_nvtx), which libkymo-cuda took apart: events with the
 * id of a call, of operators also autograd's number and the sizes of inputs.
 */
#include "import/recording/passes.h"
#include "wire/wire.h"

enum { LONGEST_SIZES = 1 << 20 };

static bool has_arg(const struct recorded *event, uint32_t key)
{
    for (size_t i = 0; i < event->args.count; i++)
        if (event->args.items[i].key == key)
            return true;
    return false;
}

/* Ranges of programs (record_function) have ids like operators, but neither numbers nor inputs. */
struct text torch_category(const struct known_keys *keys, const struct recorded *event,
                           struct text name)
{
    if (!has_arg(event, keys->call))
        return TEXT("");
    bool is_operator = has_arg(event, keys->sequence) || has_arg(event, keys->sizes) ||
                       memmem(name.data, name.size, "::", 2) != NULL;
    return is_operator ? TEXT("cpu_op") : TEXT("user_annotation");
}

struct arg torch_arg(const struct known_keys *keys, const struct catalog *catalog,
                     struct pusher *pusher, const struct arg *arg)
{
    struct arg list = *arg;
    if (arg->key != keys->sizes || arg->type != ARG_STRING)
        return list;
    struct text text = arg_text(catalog, arg);
    struct json_reader in = json_read(text);
    struct json_value value;
    if (text.size == 0 || text.size > LONGEST_SIZES || text.data[0] != '[' ||
        !json_read_value(&in, &value) || in.at != in.end)
        return list;
    char *kept = arena_alloc(&pusher->texts, text.size);
    memcpy(kept, text.data, text.size);
    arg_put(&list, arg->key, ARG_JSON, (uint32_t)text.size, (uint64_t)(uintptr_t)kept);
    return list;
}
