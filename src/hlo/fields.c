/*
 * Fields of messages by number, for fields that are read once.
 */
#include "hlo/module.h"

bool hlo_numbers_add(hlo_numbers *numbers, const struct pb_field *field)
{
    if ((field->tag & 7) == PB_VARINT) {
        *array_push(numbers) = (int64_t)field->value;
        return true;
    }
    if ((field->tag & 7) != PB_BYTES)
        return false;
    struct pb_reader in = pb_enter(field);
    uint64_t value;
    while (in.at < in.end && pb_varint(&in, &value))
        *array_push(numbers) = (int64_t)value;
    return in.problem == NULL;
}

bool hlo_list(struct pb_reader in, uint32_t number, uint32_t limit, int64_t *list, uint32_t *count)
{
    hlo_numbers numbers = {0};
    struct pb_field field = {0};
    bool ok = true;
    while (ok && numbers.count <= limit && pb_next(&in, &field))
        if (field.tag >> 3 == number)
            ok = hlo_numbers_add(&numbers, &field);
    ok = ok && in.problem == NULL && numbers.count <= limit;
    if (ok && numbers.count > 0)
        memcpy(list, numbers.items, numbers.count * sizeof *list);
    *count = ok ? (uint32_t)numbers.count : 0;
    array_free(&numbers);
    return ok;
}

int64_t hlo_number(struct pb_reader in, uint32_t number)
{
    struct pb_field field = {0};
    int64_t value = 0;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(number, PB_VARINT))
            value = (int64_t)field.value;
    return value;
}

struct text hlo_text(struct pb_reader in, uint32_t number)
{
    struct pb_reader found = hlo_message(in, number);
    return (struct text){(const char *)found.at, (size_t)(found.end - found.at)};
}

struct pb_reader hlo_message(struct pb_reader in, uint32_t number)
{
    struct pb_field field = {0};
    struct pb_reader found = {in.end, in.end, NULL};
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(number, PB_BYTES))
            found = pb_enter(&field);
    return found;
}
