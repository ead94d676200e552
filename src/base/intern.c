/*
 * String interning: open addressing with linear probing, load factor at most one half.
 */
#include "base/intern.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static void slots_fill(struct intern *intern, size_t count)
{
    mem_free(intern->slots);
    intern->slots = mem_alloc(count * sizeof *intern->slots);
    memset(intern->slots, 0xFF, count * sizeof *intern->slots);
    intern->slot_mask = count - 1;
    for (size_t id = 0; id < intern->by_id.count; id++) {
        struct text text = intern->by_id.items[id];
        uint64_t hash = hash_bytes(text.data, text.size);
        size_t at = hash & intern->slot_mask;
        while (intern->slots[at].id != INTERN_NONE)
            at = (at + 1) & intern->slot_mask;
        intern->slots[at] = (struct intern_slot){(uint32_t)(hash >> 32), (uint32_t)id};
    }
}

void intern_init(struct intern *intern)
{
    *intern = (struct intern){0};
    slots_fill(intern, FIRST_SLOTS);
    intern_add(intern, TEXT(""));
}

void intern_free(struct intern *intern)
{
    arena_free(&intern->texts);
    array_free(&intern->by_id);
    mem_free(intern->slots);
    *intern = (struct intern){0};
}

/* The slot that contains the string, or the free one to insert it at. */
static struct intern_slot *probe(const struct intern *intern, struct text text, uint64_t hash)
{
    for (size_t at = hash & intern->slot_mask;; at = (at + 1) & intern->slot_mask) {
        struct intern_slot *slot = &intern->slots[at];
        if (slot->id == INTERN_NONE)
            return slot;
        if (slot->hash == (uint32_t)(hash >> 32) && text_equal(intern->by_id.items[slot->id], text))
            return slot;
    }
}

uint32_t intern_find(const struct intern *intern, struct text text)
{
    return probe(intern, text, hash_bytes(text.data, text.size))->id;
}

uint32_t intern_add(struct intern *intern, struct text text)
{
    uint64_t hash = hash_bytes(text.data, text.size);
    struct intern_slot *slot = probe(intern, text, hash);
    if (slot->id != INTERN_NONE)
        return slot->id;
    assert(intern->by_id.count < INTERN_NONE);
    uint32_t id = (uint32_t)intern->by_id.count;
    *slot = (struct intern_slot){(uint32_t)(hash >> 32), id};
    *array_push(&intern->by_id) =
        (struct text){arena_copy_text(&intern->texts, text.data, text.size), text.size};
    if (intern->by_id.count * 2 > intern->slot_mask)
        slots_fill(intern, (intern->slot_mask + 1) * 2);
    return id;
}
