/*
 * Parts of attributes that several kinds of instructions have.
 */
#include "hlo/text.h"

#include <inttypes.h>

/* As in a C string. */
void put_escaped(struct output *out, struct text text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '"' || c == '\\' || c == '\'')
            output_format(out, "\\%c", c);
        else if (c == '\n')
            output_text(out, "\\n");
        else if (c == '\t')
            output_text(out, "\\t");
        else if (c == '\r')
            output_text(out, "\\r");
        else if (c < ' ' || c == 127)
            output_format(out, "\\%03o", (unsigned char)c);
        else
            output_char(out, c);
    }
}

void put_number_if_set(struct output *out, const struct hlo_instruction *at, uint32_t field,
                       const char *name, int64_t unless)
{
    int64_t value = hlo_number(at->bytes, field);
    if (value != 0 && value != unless)
        output_format(out, ", %s=%" PRId64, name, value);
}

void put_flag(struct output *out, const struct hlo_instruction *at, uint32_t field,
              const char *name)
{
    if (hlo_number(at->bytes, field) != 0)
        output_format(out, ", %s=true", name);
}

void put_dimensions(struct output *out, const struct hlo_instruction *at)
{
    output_text(out, ", dimensions=");
    put_list(out, at->dimensions, at->dimension_count);
}

void put_plain_numbers(struct output *out, struct pb_reader in, uint32_t field)
{
    hlo_numbers numbers = {0};
    struct pb_field each;
    while (pb_next(&in, &each))
        if (each.tag >> 3 == field)
            hlo_numbers_add(&numbers, &each);
    for (size_t i = 0; i < numbers.count; i++)
        output_format(out, "%s%" PRId64, i ? "," : "", numbers.items[i]);
    array_free(&numbers);
}
