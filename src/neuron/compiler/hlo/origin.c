/*
 * Where operations come from: the framework's name path of each instruction, as the layer and the
 * operator, and its position in the source.
 */
#include "neuron/compiler/hlo/expand.h"

/* JAX gives instructions of a called computation names relative to the call. */
static bool is_absolute(struct text name)
{
    return text_starts(name, TEXT("jit(")) || text_starts(name, TEXT("pmap("));
}

static const char *full_name(struct expand *expand, uint32_t scope, struct text name)
{
    const char *before = scope < expand->scopes.count ? expand->scopes.items[scope].name : "";
    if (*before == '\0' || is_absolute(name))
        return arena_copy_text(&expand->ir->memory, name.data, name.size);
    if (name.size == 0)
        return before;
    size_t length = strlen(before);
    char *joined = arena_alloc(&expand->ir->memory, length + name.size + 2);
    memcpy(joined, before, length);
    joined[length] = '/';
    memcpy(joined + length + 1, name.data, name.size);
    joined[length + 1 + name.size] = '\0';
    return joined;
}

static const char *copied(struct ir *ir, struct text text)
{
    return arena_copy_text(&ir->memory, text.data, text.size);
}

/* An instruction without a position of its own has that of the call it is in. */
static struct scope place_of(struct expand *expand, uint32_t scope,
                             const struct typed_instruction *at)
{
    struct ir *ir = expand->ir;
    uint32_t frame = at->frame <= ir->frames.count ? at->frame : 0;
    if (frame == 0 && at->file.size == 0 && scope < expand->scopes.count)
        return expand->scopes.items[scope];
    struct scope place = {.file = copied(ir, at->file), .line = at->line, .frame = frame};
    if (at->file.size == 0 && frame > 0) {
        place.file = ir->frames.items[frame - 1].file;
        place.line = ir->frames.items[frame - 1].line;
    }
    return place;
}

uint32_t expand_scope(struct expand *expand, const struct typed_instruction *at)
{
    uint32_t scope = expand->frame ? expand->frame->scope : 0;
    uint64_t key = (uint64_t)scope << 32 | at->index;
    uint32_t known = idmap_get(&expand->scope_ids, key);
    if (known != IDMAP_NONE)
        return known;
    /* A path that grows at each level of a deep call adds nothing after its beginning. */
    const char *name = full_name(expand, scope, at->op_name);
    if (strlen(name) > 4096)
        return scope;
    struct scope called = place_of(expand, scope, at);
    called.name = name;
    *array_push(&expand->scopes) = called;
    uint32_t index = (uint32_t)expand->scopes.count - 1;
    idmap_put(&expand->scope_ids, key, index);
    return index;
}

/* "jvp(block0)" is block0; "jit(f)" and the parts of control flow are not layers. */
static struct text layer_of(struct text part)
{
    static const char *const wrappers[] = {"jvp(", "transpose(", "vmap(", "remat(", "checkpoint("};
    static const char *const others[] = {
        "while",
        "body",
        "cond",
        "closed_call",
        "checkpoint",
        "rematted_computation",
        "remat",
        "shard_map",
        "custom_jvp_call",
        "custom_vjp_call",
        "core_call",
        "pjit",
        "scan",
    };
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
            size_t size = strlen(wrappers[i]);
            if (text_starts(part, text_of(wrappers[i])) && part.data[part.size - 1] == ')') {
                part = (struct text){part.data + size, part.size - size - 1};
                again = true;
            }
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_equal(part, text_of(others[i])))
            return TEXT("");
    bool is_call = part.size > 0 && part.data[part.size - 1] == ')' &&
                   memchr(part.data, '(', part.size) != NULL;
    return is_call || text_starts(part, TEXT("branch_")) ? TEXT("") : part;
}

/* The path without its last part, which is the operator. */
static const char *layer_path(struct ir *ir, const char *name)
{
    size_t size = strlen(name), used = 0;
    char *path = arena_alloc(&ir->memory, size + 2);
    const char *start = name;
    int depth = 0;
    for (const char *at = name; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at != '/' || depth > 0)
            continue;
        struct text layer = layer_of((struct text){start, (size_t)(at - start)});
        if (layer.size > 0) {
            path[used++] = '/';
            memcpy(path + used, layer.data, layer.size);
            used += layer.size;
        }
        start = at + 1;
    }
    path[used] = '\0';
    return path;
}

uint32_t expand_origin(struct expand *expand, const struct typed_instruction *at)
{
    struct ir *ir = expand->ir;
    uint64_t key = (uint64_t)expand->frame->scope << 32 | at->index;
    uint32_t known = idmap_get(&expand->origin_ids, key);
    if (known != IDMAP_NONE)
        return known;
    const char *name = full_name(expand, expand->frame->scope, at->op_name);
    struct scope place = place_of(expand, expand->frame->scope, at);
    struct origin origin = {
        .layer = layer_path(ir, name),
        .operation = copied(ir, at->name),
        .opcode = copied(ir, at->opcode),
        .framework = name,
        .file = place.file,
        .line = place.line,
        .stack_frame = place.frame,
    };
    *array_push(&ir->origins) = origin;
    idmap_put(&expand->origin_ids, key, (uint32_t)ir->origins.count - 1);
    return (uint32_t)ir->origins.count - 1;
}
