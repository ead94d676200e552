/*
 * Reads the JSON members of NEFFs, including those of other compilers.
 */
#include "neuron/program/container.h"

struct lists {
    ARRAY(struct neff_variable) variables;
    ARRAY(struct neff_queue) queues;
    struct arena *arena;
    const char *graph;
};

static const char *copy_text(struct arena *arena, const struct json_value *value)
{
    char *text = arena_alloc(arena, value->text.size + 1);
    size_t size = value->text.size;
    if (value->has_escapes)
        size = json_unescape(value->text, text);
    else if (size > 0)
        memcpy(text, value->text.data, size);
    text[size] = '\0';
    return text;
}

static const char *string_of(struct arena *arena, const struct json_value *value)
{
    return value->kind == JSON_STRING ? copy_text(arena, value) : "";
}

/* A list of numbers without its brackets and spaces. */
static const char *shape_of(struct arena *arena, const struct json_value *value)
{
    if (value->kind != JSON_LIST)
        return "";
    char *text = arena_alloc(arena, value->text.size + 1), *at = text;
    for (size_t i = 0; i < value->text.size; i++)
        if (strchr("0123456789,", value->text.data[i]) && value->text.data[i])
            *at++ = value->text.data[i];
    *at = '\0';
    return text;
}

/* Takes what it knows and skips the rest: members come from any compiler. A malformed object adds
 * nothing. */
static void add_variable(struct lists *lists, const struct json_value *name, struct json_reader *in)
{
    struct neff_variable item = {.graph = lists->graph,
                                 .name = copy_text(lists->arena, name),
                                 .type = "",
                                 .dtype = "",
                                 .file = "",
                                 .shape = ""};
    struct json_value key, value;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key) || !json_read_value(in, &value))
            return;
        if (text_equal(key.text, TEXT("type")))
            item.type = string_of(lists->arena, &value);
        else if (text_equal(key.text, TEXT("size")))
            item.size = member_number(&value);
        else if (text_equal(key.text, TEXT("dtype")))
            item.dtype = string_of(lists->arena, &value);
        else if (text_equal(key.text, TEXT("file_name")))
            item.file = string_of(lists->arena, &value);
        else if (text_equal(key.text, TEXT("shape")))
            item.shape = shape_of(lists->arena, &value);
    }
    *array_push(&lists->variables) = item;
}

static void add_queue(struct lists *lists, const struct json_value *name, struct json_reader *in)
{
    struct neff_queue item = {
        .graph = lists->graph, .name = copy_text(lists->arena, name), .type = "", .owner = ""};
    struct json_value key, value;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key) || !json_read_value(in, &value))
            return;
        if (text_equal(key.text, TEXT("type")))
            item.type = string_of(lists->arena, &value);
        else if (text_equal(key.text, TEXT("owner")))
            item.owner = string_of(lists->arena, &value);
        else if (text_equal(key.text, TEXT("num_queues")))
            item.rings = member_number(&value);
    }
    *array_push(&lists->queues) = item;
}

/* The members of an object of objects. */
static bool each_object(struct lists *lists, struct json_reader *in,
                        void (*add)(struct lists *, const struct json_value *,
                                    struct json_reader *))
{
    struct json_value name;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}'))
        if (json_read_key(in, &name))
            add(lists, &name, in);
    return !in->problem;
}

static bool read_definition(struct lists *lists, struct json_reader *in)
{
    struct json_value key, value;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key))
            return false;
        if (text_equal(key.text, TEXT("var")))
            each_object(lists, in, add_variable);
        else if (text_equal(key.text, TEXT("dma_queue")))
            each_object(lists, in, add_queue);
        else
            json_read_value(in, &value);
    }
    return !in->problem;
}

bool neff_list(const struct neff *neff, struct neff_listing *listing, struct error *err)
{
    const struct neff_info *info = neff_info(neff);
    struct lists lists = {.arena = &listing->arena};
    bool ok = true;
    *listing = (struct neff_listing){0};
    for (size_t i = 0; ok && i < info->member_count; i++) {
        const struct neff_member *member = &info->members[i];
        struct text name = text_of(member->name), end = TEXT("/def.json");
        if (!text_ends(name, end))
            continue;
        lists.graph = arena_copy_text(&listing->arena, name.data, name.size - end.size);
        struct json_reader in = json_read((struct text){(const char *)member->data, member->size});
        ok =
            read_definition(&lists, &in) || member_damaged(neff_path(neff), member->name, &in, err);
    }
    listing->variables = lists.variables.items;
    listing->variable_count = lists.variables.count;
    listing->queues = lists.queues.items;
    listing->queue_count = lists.queues.count;
    if (!ok)
        neff_listing_free(listing);
    return ok;
}

void neff_listing_free(struct neff_listing *listing)
{
    mem_free(listing->variables);
    mem_free(listing->queues);
    arena_free(&listing->arena);
    *listing = (struct neff_listing){0};
}
