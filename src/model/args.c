/*
 * Args as JSON: one object, a member for each key.
 */
#include "model/args.h"

/* Every type has a form that can be told apart when read back: bytes become an object, a key
 * without a value null. JSON was validated when it was read, and is copied. */
void arg_to_json(struct json *json, const struct catalog *catalog, const struct arg *arg)
{
    switch ((enum arg_type)arg->type) {
    case ARG_INT:
        json_int(json, arg->integer);
        break;
    case ARG_UINT:
        json_uint(json, arg->uinteger);
        break;
    case ARG_DOUBLE:
        json_double(json, arg->number);
        break;
    case ARG_STRING:
    case ARG_TEXT:
        json_text(json, arg_text(catalog, arg));
        break;
    case ARG_BYTES:
        json_open_row(json, '{');
        json_key(json, "base64");
        json_base64(json, arg->data, arg->size);
        json_close_row(json, '}');
        break;
    case ARG_NONE:
        json_null(json);
        break;
    case ARG_JSON:
        json_copy(json, (struct text){(const char *)arg->data, arg->size});
        break;
    }
}

/* Longer lists are rare and get an index; a linear search of a short one is faster. */
enum { SHORT_LIST = 32 };

/* For each arg, the index of the next one with the same key; its own for the last. */
struct arg_chain {
    uint32_t next;
    bool is_first;
};

static uint32_t previous_in_short(const struct arg_list *args, uint32_t at)
{
    for (uint32_t i = at; i > 0; i--)
        if (args->items[i - 1].key == args->items[at].key)
            return i - 1;
    return IDMAP_NONE;
}

static void chain_keys(const struct arg_list *args, struct arg_chain *chain)
{
    struct idmap last = {0};
    for (uint32_t i = 0; i < args->count; i++) {
        uint32_t key = args->items[i].key, previous;
        if (args->count <= SHORT_LIST) {
            previous = previous_in_short(args, i);
        } else {
            previous = idmap_get(&last, key);
            idmap_put(&last, key, i);
        }
        chain[i] = (struct arg_chain){.next = i, .is_first = previous == IDMAP_NONE};
        if (previous != IDMAP_NONE)
            chain[previous].next = i;
    }
    idmap_free(&last);
}

void args_each_key(const struct arg_list *args,
                   void (*visit)(void *context, const struct arg_group *group), void *context)
{
    struct arg_chain short_chain[SHORT_LIST];
    struct arg_chain *chain =
        args->count <= SHORT_LIST ? short_chain : mem_alloc(args->count * sizeof *chain);
    chain_keys(args, chain);
    for (uint32_t i = 0; i < args->count; i++) {
        if (!chain[i].is_first)
            continue;
        struct arg_group group = {
            .args = args, .chain = chain, .first = i, .is_list = chain[i].next != i};
        visit(context, &group);
    }
    if (chain != short_chain)
        mem_free(chain);
}

/* Most readers keep only one of two members with the same name: a repeated key becomes a list. */
void arg_group_to_json(struct json *json, const struct catalog *catalog,
                       const struct arg_group *group)
{
    const struct arg *items = group->args->items;
    const struct arg_chain *chain = group->chain;
    if (group->is_list)
        json_open_row(json, '[');
    arg_to_json(json, catalog, &items[group->first]);
    for (uint32_t at = group->first; chain[at].next != at; at = chain[at].next)
        arg_to_json(json, catalog, &items[chain[at].next]);
    if (group->is_list)
        json_close_row(json, ']');
}

struct member_writer {
    struct json *json;
    const struct catalog *catalog;
};

static void put_member(void *context, const struct arg_group *group)
{
    const struct member_writer *writer = context;
    uint32_t key = group->args->items[group->first].key;
    json_key_text(writer->json, catalog_text(writer->catalog, key));
    arg_group_to_json(writer->json, writer->catalog, group);
}

void args_to_json(struct json *json, const struct catalog *catalog, const struct arg_list *args)
{
    struct member_writer writer = {json, catalog};
    json_open_row(json, '{');
    args_each_key(args, put_member, &writer);
    json_close_row(json, '}');
}
