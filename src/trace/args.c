/*
 * Args as JSON: one object, a member for each key.
 */
#include "trace/args.h"

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

/* Lists longer than this are rare and get an index; a look through a short one is faster. */
enum { SHORT_LIST = 32 };

/* For each arg: the next one with the same key, itself when it is the last of them. */
struct key_chain {
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

static void chain_keys(const struct arg_list *args, struct key_chain *chain)
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
        chain[i] = (struct key_chain){.next = i, .is_first = previous == IDMAP_NONE};
        if (previous != IDMAP_NONE)
            chain[previous].next = i;
    }
    idmap_free(&last);
}

/* Two members of one name would lose one of them in most readers: a repeated key becomes a list. */
static void put_chain(struct json *json, const struct catalog *catalog, const struct arg_list *args,
                      const struct key_chain *chain, uint32_t first)
{
    bool is_list = chain[first].next != first;
    if (is_list)
        json_open_row(json, '[');
    arg_to_json(json, catalog, &args->items[first]);
    for (uint32_t at = first; chain[at].next != at; at = chain[at].next)
        arg_to_json(json, catalog, &args->items[chain[at].next]);
    if (is_list)
        json_close_row(json, ']');
}

void args_to_json(struct json *json, const struct catalog *catalog, const struct arg_list *args)
{
    struct key_chain short_chain[SHORT_LIST];
    struct key_chain *chain =
        args->count <= SHORT_LIST ? short_chain : mem_alloc(args->count * sizeof *chain);
    chain_keys(args, chain);
    json_open_row(json, '{');
    for (uint32_t i = 0; i < args->count; i++) {
        if (!chain[i].is_first)
            continue;
        json_key_text(json, catalog_text(catalog, args->items[i].key));
        put_chain(json, catalog, args, chain, i);
    }
    json_close_row(json, '}');
    if (chain != short_chain)
        mem_free(chain);
}
