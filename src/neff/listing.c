/*
 * Reads the JSON members of NEFFs, also of other compilers'.
 */
#include "neff/container.h"

#include <inttypes.h>

static bool damaged(const struct neff *neff, const char *member, const struct json_reader *in,
                    struct error *err)
{
    return error_in_file(err, neff_path(neff), "%s: %s", member, in->problem);
}

bool members_read_stats(const struct neff *neff, uint64_t *mac_count, struct error *err)
{
    const struct neff_member *member = neff_find(neff, "hlo_stats.json");
    *mac_count = 0;
    if (!member)
        return true;
    struct json_reader in = json_read((struct text){(const char *)member->data, member->size});
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        struct json_reader digits = json_read(value.text);
        struct json_number number;
        if (text_equal(key.text, TEXT("HloMacCount")) && value.kind == JSON_NUMBER &&
            json_read_number(&digits, &number) && number.is_whole && !number.is_negative)
            *mac_count = number.digits;
    }
    return in.problem ? damaged(neff, "hlo_stats.json", &in, err) : true;
}
