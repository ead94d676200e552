/*
 * What a stored profile's capture dropped: a key of its summary, before all lists and objects.
 */
#include "store/tables/workspace.h"

#include "base/wire/wire.h"

static struct drops read_drops(struct text summary)
{
    struct json_reader in = json_read(summary);
    struct json_value key, value;
    struct drops drops;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value) ||
            value.kind == JSON_OBJECT || value.kind == JSON_LIST)
            break;
        if (text_equal(key.text, TEXT("dropped_warning")) && drops_parse(value.text, &drops))
            return drops;
    }
    return (struct drops){0};
}

struct drops profile_drops(const char *directory)
{
    char *path = path_format("%s/%s", directory, SUMMARY_FILE);
    struct drops drops = {0};
    struct file file;
    struct error ignored;
    if (file_open(&file, path, &ignored)) {
        drops = read_drops((struct text){(const char *)file.data, file.size});
        file_close(&file);
    }
    mem_free(path);
    return drops;
}
