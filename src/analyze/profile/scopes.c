/*
 * Scopes of annotations. A kernel's scope is the innermost annotation it was launched in; the
 * outermost one around it is the execution of its program.
 */
#include "analyze/profile/analysis_passes.h"

#include <stdlib.h>

enum { MAX_DEPTH = 256 }; /* scopes of a damaged file may contain each other */

static uint64_t identity(uint32_t process, int64_t scope)
{
    uint64_t parts[2] = {process, (uint64_t)scope};
    return hash_bytes(parts, sizeof parts);
}

void scope_tree_make(struct scope_tree *tree, const struct catalog *catalog)
{
    *tree = (struct scope_tree){0};
    const struct track *track;
    array_each (track, &catalog->tracks) {
        if (track->level != TRACK_SOURCE ||
            !text_equal(catalog_text(catalog, track->name), TEXT("/host:__ScopeRangeCallStack__")))
            continue;
        for (uint32_t i = 0; i < track->args.count; i++) {
            struct text id = catalog_text(catalog, track->args.items[i].key);
            char *end;
            int64_t scope = strtoll(id.data, &end, 10);
            if (end == id.data || end != id.data + id.size)
                continue; /* a fact about the process */
            idmap_put(&tree->index, identity(track->parent, scope), (uint32_t)tree->outer.count);
            *array_push(&tree->outer) = arg_integer(&track->args.items[i]);
        }
    }
}

void scope_tree_free(struct scope_tree *tree)
{
    idmap_free(&tree->index);
    array_free(&tree->outer);
}

int64_t outermost_scope(const struct scope_tree *tree, uint32_t process, int64_t scope)
{
    for (int depth = 0; depth < MAX_DEPTH && tree->outer.count > 0; depth++) {
        uint32_t at = idmap_get(&tree->index, identity(process, scope));
        if (at == IDMAP_NONE)
            break;
        scope = tree->outer.items[at];
    }
    return scope;
}
