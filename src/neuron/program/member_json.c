/*
 * What reading any JSON member of a NEFF takes, and the smallest of them.
 */
#include "neuron/program/container.h"

bool member_damaged(const char *path, const char *member, const struct json_reader *in,
                    struct error *err)
{
    return error_in_file(err, path, "%s: %s", member, in->problem);
}

uint64_t member_number(const struct json_value *value)
{
    struct json_reader in = json_read(value->text);
    struct json_number number;
    bool fits = value->kind == JSON_NUMBER && json_read_number(&in, &number) && number.is_whole &&
                !number.is_negative && !number.is_rounded;
    return fits ? number.digits : 0;
}

bool member_read_stats(const char *path, const struct neff_member *member, uint64_t *mac_count,
                       struct error *err)
{
    *mac_count = 0;
    if (!member)
        return true;
    struct json_reader in = json_read((struct text){(const char *)member->data, member->size});
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value) &&
            text_equal(key.text, TEXT("HloMacCount")))
            *mac_count = member_number(&value);
    return in.problem ? member_damaged(path, member->name, &in, err) : true;
}
