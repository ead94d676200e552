/*
 * What a stored profile's capture dropped: a key of its summary, among the first.
 */
#include "store/workspace.h"

#include "wire/wire.h"

/* The first list or object is behind the key. */
static bool read_text(struct text summary, char text[static DROPS_TEXT_SIZE])
{
    struct json_reader in = json_read(summary);
    struct json_value key, value;
    struct drops drops;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value) ||
            text_equal(key.text, TEXT("hosts")))
            return false;
        if (!text_equal(key.text, TEXT("dropped_warning")))
            continue;
        if (!drops_parse(value.text, &drops))
            return false;
        drops_text(&drops, text);
        return true;
    }
    return false;
}

bool profile_drops_text(const char *directory, char text[static DROPS_TEXT_SIZE])
{
    char *path = path_format("%s/%s", directory, SUMMARY_FILE);
    struct file file;
    struct error ignored;
    bool has_text = file_open(&file, path, &ignored);
    if (has_text) {
        has_text = read_text((struct text){(const char *)file.data, file.size}, text);
        file_close(&file);
    }
    mem_free(path);
    return has_text;
}
