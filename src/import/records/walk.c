/*
 * Iterates over a document of records by its brackets and keys, and releases the pages already
 * read.
 */
#include "import/records/records.h"

enum { RELEASE_SIZE = 1 << 20 };

void walk_begin(struct json_walk *walk, const struct json_file *file, walk_is_records *is_records,
                bool is_reread)
{
    struct text text = {file->data, file->size};
    if (text_starts(text, TEXT("\xEF\xBB\xBF")))
        text = (struct text){text.data + 3, text.size - 3};
    *walk = (struct json_walk){.file = file,
                               .in = json_read(text),
                               .is_records = is_records,
                               .is_reread = is_reread,
                               .unreleased = text.data};
}

static bool read_value(struct json_walk *walk, struct json_value *value)
{
    return walk->is_reread ? json_read_validated(&walk->in, value)
                           : json_read_value(&walk->in, value);
}

static void release_read(struct json_walk *walk)
{
    size_t size = (size_t)(walk->in.at - walk->unreleased);
    if (size < RELEASE_SIZE)
        return;
    mem_touched(size); /* decompressed data */
    file_release(&walk->file->map, (const uint8_t *)walk->unreleased, size);
    walk->unreleased = walk->in.at;
}

/* Whether the list that begins here contains records. */
static bool begins_records(const struct json_walk *walk)
{
    struct json_reader in = walk->in;
    struct json_value first;
    bool has_first = json_enter(&in, '[') && json_read_value(&in, &first);
    return walk->is_records(walk->key.text, has_first ? &first : NULL);
}

/* The next member of the outermost object; false at its end or on error. */
static bool next_member(struct json_walk *walk)
{
    bool more = walk->state == WALK_START ? json_enter(&walk->in, '{') : json_more(&walk->in, '}');
    walk->state = more ? WALK_IN_OBJECT : WALK_DONE;
    return more && json_read_key(&walk->in, &walk->key);
}

static bool next_record(struct json_walk *walk, struct json_value *value)
{
    bool more = walk->at_first ? json_enter(&walk->in, '[') : json_more(&walk->in, ']');
    walk->at_first = false;
    if (!more)
        walk->state = WALK_IN_OBJECT;
    return more && read_value(walk, value);
}

static enum walk_found end_walk(struct json_walk *walk)
{
    struct json_reader *in = &walk->in;
    walk->state = WALK_DONE;
    if (in->problem == JSON_CUT_OFF && walk->has_records) {
        *in = (struct json_reader){.at = in->end, .end = in->end};
        walk->is_cut_off = true;
    }
    json_skip_space(in);
    if (!in->problem && in->at < in->end)
        json_fail(in, "unexpected data after the end");
    return WALK_END;
}

enum walk_found walk_next(struct json_walk *walk, struct json_value *value)
{
    char next;
    for (;;) {
        release_read(walk);
        if (walk->state == WALK_RECORDS && next_record(walk, value))
            return WALK_RECORD;
        if (walk->in.problem || walk->state == WALK_DONE || !next_member(walk) ||
            !json_peek(&walk->in, &next))
            return end_walk(walk);
        if (next == '[' && begins_records(walk)) {
            walk->state = WALK_RECORDS;
            walk->has_records = walk->at_first = true;
        } else if (read_value(walk, value)) {
            return WALK_FACT;
        } else {
            return end_walk(walk);
        }
    }
}
