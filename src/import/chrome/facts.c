/*
 * Chrome trace JSON: metadata beside the events. Kineto writes the rank, the devices, the origin of
 * its times and warnings; everything is kept.
 */
#include "import/chrome/chrome_passes.h"

static void list_devices(const struct json_value *list, struct chrome_profile *profile)
{
    struct json_value device, id;
    struct json_reader in = json_read(list->text);
    int64_t number;
    if (list->kind != JSON_LIST)
        return;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']')) {
        if (!json_read_value(&in, &device) || !value_member(&device, TEXT("id"), &id) ||
            !value_whole(&id, &number))
            continue;
        idmap_put(&profile->device_ids, (uint64_t)number, (uint32_t)profile->devices.count);
        *array_push(&profile->devices) = device;
    }
}

/* Interprets Kineto's metadata; false when it is only an arg. */
static bool take_fact(struct catalog *catalog, uint32_t file, const struct chrome_fact *fact,
                      struct chrome_profile *profile)
{
    struct json_value rank, size;
    struct text key = fact->key.text;
    if (text_equal(key, TEXT("ERROR")) || text_equal(key, TEXT("WARNING")))
        return take_messages(catalog, file, key.data[0] == 'E', &fact->value);
    if (text_equal(key, TEXT("baseTimeNanoseconds")))
        profile->has_base = value_whole(&fact->value, &profile->base_ns);
    else if (text_equal(key, TEXT("distributedInfo"))) {
        profile->has_rank = value_member(&fact->value, TEXT("rank"), &rank) &&
                            value_whole(&rank, &profile->rank) && profile->rank >= 0;
        if (!value_member(&fact->value, TEXT("world_size"), &size) ||
            !value_whole(&size, &profile->world_size) || profile->world_size < 0)
            profile->world_size = 0;
    } else if (text_equal(key, TEXT("deviceProperties")))
        list_devices(&fact->value, profile);
    else if (text_equal(key, TEXT("host_name")) && fact->value.kind == JSON_STRING)
        profile->host_name = value_string(catalog, &fact->value);
    else if (!text_equal(key, TEXT("schemaVersion")))
        return false;
    profile->is_kineto = true;
    return false;
}

void chrome_read_facts(struct chrome_source *source, uint32_t file,
                       const struct chrome_survey *survey, struct chrome_profile *profile)
{
    struct catalog *catalog = &source->source.catalog;
    *profile = (struct chrome_profile){0};
    const struct chrome_fact *fact;
    array_each (fact, &survey->cutter.facts) {
        if (take_fact(catalog, file, fact, profile))
            continue;
        uint32_t name = value_string(catalog, &fact->key);
        if (fact->value.text.size > ARG_LARGEST)
            import_message(catalog, file, false,
                           "a metadata value larger than 512 MiB was skipped");
        else
            *array_push(&profile->args) =
                value_arg(catalog, catalog_key(catalog, catalog_text(catalog, name)), &fact->value);
    }
    if (!profile->has_rank)
        profile->has_rank = rank_in_name(source->files.items[file].label, &profile->rank);
}

bool chrome_has_device(const struct chrome_profile *profile, int64_t number)
{
    return idmap_get(&profile->device_ids, (uint64_t)number) != IDMAP_NONE;
}

void chrome_profile_free(struct chrome_profile *profile)
{
    array_free(&profile->devices);
    idmap_free(&profile->device_ids);
    array_free(&profile->args);
}

/* The same keys as in XPlane files. */
static struct text device_key(struct text key, bool is_gpu)
{
    static const struct {
        struct text kineto, xplane;
    } same[] = {{{"totalGlobalMem", 14}, {"memory_size", 11}},
                {{"numSms", 6}, {"core_count", 10}},
                {{"computeMajor", 12}, {"compute_cap_major", 17}},
                {{"computeMinor", 12}, {"compute_cap_minor", 17}}};
    if (text_equal(key, TEXT("name")))
        return is_gpu ? TEXT("gpu_device_name") : TEXT("device_type_string");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (text_equal(key, same[i].kineto))
            return same[i].xplane;
    return key;
}

void chrome_device_args(struct catalog *catalog, const struct chrome_profile *profile,
                        int64_t number, bool is_gpu, arg_buffer *args)
{
    struct json_value key, value;
    uint32_t index = idmap_get(&profile->device_ids, (uint64_t)number);
    if (index == IDMAP_NONE)
        return;
    struct json_reader in = json_read(profile->devices.items[index].text);
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            return;
        if (!text_equal(key.text, TEXT("id")))
            *array_push(args) =
                value_arg(catalog, catalog_key(catalog, device_key(key.text, is_gpu)), &value);
    }
}
