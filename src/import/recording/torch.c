/*
 * Recordings: ranges that PyTorch wrote (emit_nvtx), parsed by libkymo-cuda: events with the id of
 * a call and, for operators, autograd's number and the sizes of inputs. NCCL calls have the
 * communicator; "ncclAllReduce" is torch.profiler's "allreduce".
 */
#include "base/wire/wire.h"
#include "import/recording/recording_passes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

enum { LONGEST_SIZES = 1 << 20 };

static const struct arg *find_arg(const struct recorded *event, uint32_t key)
{
    for (size_t i = 0; i < event->args.count; i++)
        if (event->args.items[i].key == key)
            return &event->args.items[i];
    return NULL;
}

static bool has_arg(const struct recorded *event, uint32_t key)
{
    return find_arg(event, key) != NULL;
}

/* Ranges of the program (record_function) have ids like operators, but neither numbers nor
 * inputs. */
struct text torch_category(const struct known_keys *keys, const struct recorded *event,
                           struct text name)
{
    if (!has_arg(event, keys->call))
        return TEXT("");
    bool is_operator = has_arg(event, keys->sequence) || has_arg(event, keys->sizes) ||
                       memmem(name.data, name.size, "::", 2) != NULL;
    return is_operator ? TEXT("cpu_op") : TEXT("user_annotation");
}

static bool is_number(const struct arg *arg)
{
    return arg && (arg->type == ARG_INT || arg->type == ARG_UINT);
}

bool torch_start_of(const struct known_keys *keys, const struct recorded *event,
                    struct torch_start *start)
{
    if (!has_arg(event, keys->call))
        return false;
    const struct arg *file = find_arg(event, keys->source_file);
    const struct arg *line = find_arg(event, keys->source_line);
    const struct arg *sequence = find_arg(event, keys->sequence);
    *start = (struct torch_start){.sequence = is_number(sequence) ? sequence->integer : -1};
    if (file && file->type == ARG_STRING && is_number(line))
        start->source = (struct source_line){file->string, line->integer};
    return true;
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

static void add_text(struct pusher *pusher, uint32_t key, struct text text)
{
    char *kept = arena_alloc(&pusher->texts, text.size);
    memcpy(kept, text.data, text.size);
    arg_put(array_push(&pusher->args), key, ARG_TEXT, (uint32_t)text.size,
            (uint64_t)(uintptr_t)kept);
}

void nccl_args(const struct known_keys *keys, struct pusher *pusher, const struct recorded *event,
               struct text name)
{
    static const struct text prefix = {"nccl", 4};
    const struct arg *communicator = find_arg(event, keys->communicator);
    char text[64];
    if (!communicator || communicator->type != ARG_UINT || !text_starts(name, prefix) ||
        name.size == prefix.size || name.size >= sizeof text)
        return;
    for (size_t i = prefix.size; i < name.size; i++)
        text[i - prefix.size] = (char)tolower((unsigned char)name.data[i]);
    add_text(pusher, keys->collective, (struct text){text, name.size - prefix.size});
    int size = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)communicator->integer);
    add_text(pusher, keys->group, (struct text){text, (size_t)size});
}
