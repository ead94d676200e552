/*
 * Finds rows of A and B that are the same. Each pass takes those that the passes before it left
 * over and asks less of them.
 */
#include "report/compare/compare.h"

const char *const match_words[] = {
    [MATCH_EXACT] = "exact",      [MATCH_SHAPE] = "shapes differ", [MATCH_LAYER] = "layers differ",
    [MATCH_NAME] = "names alike", [MATCH_NONE] = "none",
};

/* A scope without the name of the function that was compiled: "jit(train_step)/layer0/attention".
 */
static struct text without_program(struct text layer)
{
    const char *end = text_starts(layer, TEXT("jit(")) ? memchr(layer.data, ')', layer.size) : NULL;
    size_t size = end ? (size_t)(end + 1 - layer.data) : 0;
    return (struct text){layer.data + size, layer.size - size};
}

/* Whether names of a kind have parts that builds differ in. */
static bool has_loose_names(enum diff_kind kind)
{
    return kind != DIFF_STEPS && kind != DIFF_MEMORY && kind != DIFF_RANKS && kind != DIFF_MACHINES;
}

static void put_key(struct output *key, const struct side_row *row, enum match pass)
{
    struct output loose;
    output_memory(&loose);
    if (pass == MATCH_NAME && has_loose_names(row->kind))
        put_loose_name(&loose, row->name);
    struct text name = loose.size > 0 ? (struct text){loose.data, loose.size} : row->name;
    struct text layer = pass == MATCH_NAME ? without_program(row->layer) : row->layer;
    if (pass >= MATCH_LAYER && row->has_loose_layer)
        layer = TEXT("");
    put_row_key(key, row->kind, name, layer, pass == MATCH_EXACT ? row->shape : TEXT(""));
    output_discard(&loose);
}

/* Groups of a pass, by the rows' key. */
struct pass {
    enum match match;
    struct intern keys;
    match_list groups; /* that of id i is at i - 1: no key is empty */
};

static void add_rows(struct pass *pass, enum side side, const row_list *rows)
{
    const struct side_row *const *row;
    struct output key;
    output_memory(&key);
    array_each (row, rows) {
        key.size = 0;
        put_key(&key, *row, pass->match);
        uint32_t id = intern_add(&pass->keys, (struct text){key.data, key.size});
        if (id > pass->groups.count)
            *array_push(&pass->groups) = (struct match_group){.match = pass->match};
        *array_push(&pass->groups.items[id - 1].rows[side]) = *row;
    }
    output_discard(&key);
}

static void free_group(struct match_group *group)
{
    for (enum side side = SIDE_A; side < SIDES; side++)
        array_free(&group->rows[side]);
}

/* Groups that have both sides are done; rows of the others are left over. */
static void settle(struct pass *pass, match_list *groups, row_list left[SIDES])
{
    struct match_group *group;
    for (enum side side = SIDE_A; side < SIDES; side++)
        left[side].count = 0;
    array_each (group, &pass->groups) {
        if (group->rows[SIDE_A].count > 0 && group->rows[SIDE_B].count > 0) {
            *array_push(groups) = *group;
            continue;
        }
        for (enum side side = SIDE_A; side < SIDES; side++)
            for (size_t i = 0; i < group->rows[side].count; i++)
                *array_push(&left[side]) = group->rows[side].items[i];
        free_group(group);
    }
    array_free(&pass->groups);
    intern_free(&pass->keys);
}

/* Their order must not depend on that of a query's answer: values of several that are alike are
 * added up, and one of them names all. */
static bool by_key(const void *a, const void *b, const void *context)
{
    const struct side_row *m = *(const struct side_row *const *)a;
    const struct side_row *n = *(const struct side_row *const *)b;
    (void)context;
    int order = text_compare(m->name, n->name);
    order = order ? order : text_compare(m->layer, n->layer);
    return (order ? order : text_compare(m->shape, n->shape)) < 0;
}

static row_list sorted_rows(const struct diff_side *side)
{
    row_list rows = {0};
    for (size_t i = 0; i < side->rows.count; i++)
        *array_push(&rows) = &side->rows.items[i];
    sort_items(rows.items, rows.count, sizeof *rows.items, by_key, NULL);
    return rows;
}

void match_rows(const struct diff_side *const sides[SIDES], match_list *groups)
{
    row_list left[SIDES] = {sorted_rows(sides[SIDE_A]), sorted_rows(sides[SIDE_B])};
    for (enum match match = MATCH_EXACT; match < MATCHES; match++) {
        struct pass pass = {.match = match};
        intern_init(&pass.keys);
        for (enum side side = SIDE_A; side < SIDES; side++)
            add_rows(&pass, side, &left[side]);
        settle(&pass, groups, left);
    }
    for (enum side side = SIDE_A; side < SIDES; side++) {
        for (size_t i = 0; i < left[side].count; i++) {
            struct match_group *alone = array_push(groups);
            *alone = (struct match_group){.match = MATCH_NONE};
            *array_push(&alone->rows[side]) = left[side].items[i];
        }
        array_free(&left[side]);
    }
}

void match_list_free(match_list *groups)
{
    struct match_group *group;
    array_each (group, groups)
        free_group(group);
    array_free(groups);
}
