/*
 * Parts of HLO's text.
 */
#ifndef KYMO_HLO_TEXT_H
#define KYMO_HLO_TEXT_H

#include "hlo/module.h"

/* "{1,0}" */
void put_list(struct output *out, const int64_t *list, uint32_t count);
/* The value of a constant, or "{...}" when it has more than a few elements. */
void put_literal(struct output *out, const struct hlo_instruction *at);
/* Each attribute with ", " before it. */
void put_attributes(struct output *out, const struct hlo_module *module,
                    const struct hlo_instruction *at);
void put_sharding(struct output *out, struct pb_reader in);

static inline void put_text(struct output *out, struct text text)
{
    output_write(out, text.data, text.size);
}

#endif
