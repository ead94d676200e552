/*
 * Parts of HLO's text.
 */
#ifndef KYMO_HLO_TEXT_H
#define KYMO_HLO_TEXT_H

#include "hlo/module.h"

/* "{1,0}" */
void put_list(struct output *out, const int64_t *list, uint32_t count);
/* The value of a constant, or "{...}" when it has more elements than are shown. */
void put_literal(struct output *out, const struct hlo_instruction *at, int64_t most_elements);
/* Each attribute with ", " before it; names begin with the sign. */
void put_attributes(struct output *out, const struct hlo_module *module,
                    const struct hlo_instruction *at, const char *sign);
void put_opcode_attributes(struct output *out, const struct hlo_instruction *at);
void put_collective(struct output *out, const struct hlo_instruction *at);
/* "1,2": all numbers of a field. */
void put_plain_numbers(struct output *out, struct pb_reader in, uint32_t field);
void put_dimensions(struct output *out, const struct hlo_instruction *at);
void put_flag(struct output *out, const struct hlo_instruction *at, uint32_t field,
              const char *name);
void put_number_if_set(struct output *out, const struct hlo_instruction *at, uint32_t field,
                       const char *name, int64_t unless);
/* "key=value" of a map from names to texts, with `before` in front; nothing if it is empty. */
void put_frontend(struct output *out, struct pb_reader in, const char *before);
bool is_json(struct text value);
void put_escaped(struct output *out, struct text text);

enum { SHOWN_ELEMENTS = 10 };
void put_sharding(struct output *out, struct pb_reader in);

static inline void put_text(struct output *out, struct text text)
{
    output_write(out, text.data, text.size);
}

/* Most of a module's text is small numbers: formatting them with printf would take half of the
 * time. */
static inline void put_integer(struct output *out, int64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        output_char(out, '-');
    output_write(out, digits + at, sizeof digits - at);
}

#endif
