/*
 * Interning: every distinct text once, under a number. Equal texts have equal numbers; number 0 is
 * the empty text. Made for millions of texts: one hash probe a look-up, no copy of a text already
 * known. Not locked: fill it from one thread; reading needs no care once it is filled.
 */
#ifndef KYMO_BASE_INTERN_H
#define KYMO_BASE_INTERN_H

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"

#include <stdint.h>

#define INTERN_NONE UINT32_MAX

struct intern_slot {
    uint32_t hash; /* high half of the full hash: settles most probes without touching the text */
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
/* INTERN_NONE when the text is not known. */
uint32_t intern_find(const struct intern *intern, struct text text);

/* The text of a number that intern_add returned; terminated by a NUL after its last byte. */
static inline struct text intern_text(const struct intern *intern, uint32_t id)
{
    return intern->by_id.items[id];
}

#endif
