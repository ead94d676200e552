/*
 * String interning: every distinct string is stored once, under an id. Equal strings have equal
 * ids; id 0 is the empty string. Built for millions of strings: one hash probe per lookup, no copy
 * of a known string. Not locked: fill it from one thread; once filled, any thread may read it.
 */
#ifndef KYMO_BASE_INTERN_H
#define KYMO_BASE_INTERN_H

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"

#include <stdint.h>

#define INTERN_NONE UINT32_MAX

struct intern_slot {
    uint32_t hash; /* high half of the full hash: decides most probes without reading the string */
    uint32_t id;   /* INTERN_NONE when free */
};

struct intern {
    struct arena texts;
    ARRAY(struct text) by_id;
    struct intern_slot *slots;
    size_t slot_mask;
};

void intern_init(struct intern *intern);
void intern_free(struct intern *intern);
uint32_t intern_add(struct intern *intern, struct text text);
/* Returns INTERN_NONE when the string is unknown. */
uint32_t intern_find(const struct intern *intern, struct text text);

/* The string of an id that intern_add returned; NUL-terminated. */
static inline struct text intern_text(const struct intern *intern, uint32_t id)
{
    return intern->by_id.items[id];
}

#endif
