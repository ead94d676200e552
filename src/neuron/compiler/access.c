/*
 * Composition of views.
 */
#include "neuron/compiler/access.h"

struct access access_dense(uint32_t base, const struct ir_type *type)
{
    struct access access = {.base = base, .rank = type->rank};
    int64_t step = 1;
    for (uint32_t i = type->rank; i-- > 0; step *= type->size[i]) {
        access.size[i] = type->size[i];
        access.step[i] = step;
    }
    return access;
}

bool access_is_dense(const struct access *access)
{
    int64_t step = 1;
    for (uint32_t i = access->rank; i-- > 0; step *= access->size[i])
        if (access->size[i] > 1 && access->step[i] != step)
            return false;
    return true;
}

struct access access_squeezed(const struct access *access)
{
    struct access result = *access;
    result.rank = 0;
    for (uint32_t i = 0; i < access->rank; i++)
        if (access->size[i] > 1) {
            result.size[result.rank] = access->size[i];
            result.step[result.rank++] = access->step[i];
        }
    return result;
}

void access_collapse(struct access *access)
{
    *access = access_squeezed(access);
    uint32_t last = 0;
    for (uint32_t i = 1; i < access->rank; i++) {
        if (access->step[last] == access->step[i] * access->size[i] &&
            (uint64_t)access->size[last] * access->size[i] <= UINT32_MAX) {
            access->size[last] *= access->size[i];
            access->step[last] = access->step[i];
        } else {
            last++;
            access->size[last] = access->size[i];
            access->step[last] = access->step[i];
        }
    }
    if (access->rank > 0)
        access->rank = last + 1;
}

static struct access broadcast(const struct ir_node *node, const struct access *from)
{
    struct access to = {.base = from->base, .offset = from->offset, .rank = node->type.rank};
    memcpy(to.size, node->type.size, sizeof to.size);
    for (uint32_t i = 0; i < from->rank; i++)
        to.step[node->axes[i]] = from->size[i] == 1 ? 0 : from->step[i];
    return to;
}

static struct access transpose(const struct ir_node *node, const struct access *from)
{
    struct access to = *from;
    for (uint32_t i = 0; i < from->rank; i++) {
        to.size[i] = from->size[node->axes[i]];
        to.step[i] = from->step[node->axes[i]];
    }
    return to;
}

static struct access slice(const struct ir_node *node, const struct access *from)
{
    struct access to = *from;
    for (uint32_t i = 0; i < from->rank; i++) {
        to.offset += node->start[i] * from->step[i];
        to.size[i] = node->type.size[i];
        to.step[i] = from->step[i] * node->step[i];
    }
    return to;
}

/* Each of the collapsed dimensions must be a product of new ones. */
static bool reshape(const struct ir_node *node, const struct access *from, struct access *to)
{
    struct access flat = *from;
    access_collapse(&flat);
    *to = (struct access){.base = from->base, .offset = from->offset, .rank = node->type.rank};
    memcpy(to->size, node->type.size, sizeof to->size);
    uint32_t at = to->rank;
    for (uint32_t i = flat.rank; i-- > 0;) {
        uint64_t covered = 1;
        while (covered < flat.size[i]) {
            if (at == 0)
                return false;
            at--;
            to->step[at] = flat.step[i] * (int64_t)covered;
            covered *= to->size[at];
        }
        if (covered != flat.size[i])
            return false;
    }
    return true;
}

static struct access access_of(struct ir_node *node, uint32_t index, const struct access *all)
{
    struct access result;
    const struct access *from = node->arg_count > 0 ? &all[node->args[0]] : NULL;
    switch (node->kind) {
    case IR_BROADCAST:
        return broadcast(node, from);
    case IR_TRANSPOSE:
        return transpose(node, from);
    case IR_SLICE:
        return slice(node, from);
    case IR_RESHAPE:
        if (reshape(node, from, &result))
            return result;
        node->kind = IR_COPY;
        break;
    default:
        break;
    }
    result = access_dense(index, &node->type);
    if (node->kind == IR_CONSTANT && node->is_splat)
        memset(result.step, 0, sizeof result.step); /* one element is stored */
    return result;
}

struct access *access_resolve(struct ir *ir)
{
    struct access *all = mem_zeroed(ir->nodes.count + 1, sizeof *all);
    for (uint32_t i = 0; i < ir->nodes.count; i++)
        all[i] = access_of(&ir->nodes.items[i], i, all);
    return all;
}
