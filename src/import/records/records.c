/*
 * Parses a JSON object into a record: its members by catalog key.
 */
#include "import/records/records.h"

const char RECORD_CHANGED[] = "the file changed while it was being read";

void record_free(struct record *record)
{
    array_free(&record->members);
    array_free(&record->guesses);
    if (record->text.data)
        output_discard(&record->text);
}

uint32_t record_string(struct record *record, const struct json_value *value)
{
    struct text text = value->text;
    if (value->has_escapes) {
        if (!record->text.data)
            output_memory(&record->text);
        record->text.size = 0;
        output_write(&record->text, text.data, text.size);
        text = (struct text){record->text.data, json_unescape(text, record->text.data)};
    }
    return record->is_reread ? intern_find(&record->catalog->strings, text)
                             : catalog_string(record->catalog, text);
}

static uint32_t find_key(struct record *record, const struct json_value *key)
{
    size_t at = record->members.count;
    if (at < record->guesses.count && !key->has_escapes &&
        text_equal(key->text, catalog_text(record->catalog, record->guesses.items[at])))
        return record->guesses.items[at];
    uint32_t string = record_string(record, key);
    if (string != INTERN_NONE)
        string = catalog_key(record->catalog, catalog_text(record->catalog, string));
    while (record->guesses.count <= at)
        *array_push(&record->guesses) = STRING_NONE;
    record->guesses.items[at] = string == INTERN_NONE ? STRING_NONE : string;
    return string;
}

static void add_member(struct record *record, uint32_t key, bool is_inner,
                       const struct json_value *value)
{
    *array_push(&record->members) = (struct member){key, is_inner, *value};
    uint64_t bit = key < RECORD_KNOWN ? (uint64_t)1 << key : 0;
    if (bit == 0 || (is_inner && (record->present & bit)))
        return;
    record->present |= bit;
    record->inner = is_inner ? record->inner | bit : record->inner & ~bit;
    record->known[key] = *value;
}

static bool read_members(struct record *record, struct json_reader *in, bool is_inner,
                         uint32_t spread)
{
    struct json_value key, value;
    char next;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!json_read_key(in, &key))
            return false;
        uint32_t string = find_key(record, &key);
        if (string == INTERN_NONE)
            return json_fail(in, RECORD_CHANGED);
        if (!is_inner && string == spread && json_peek(in, &next) && next == '{') {
            if (!read_members(record, in, true, spread))
                return false;
        } else if (json_read_validated(in, &value)) {
            add_member(record, string, is_inner, &value);
        } else {
            return false;
        }
    }
    return !in->problem;
}

bool record_read(struct record *record, const struct json_value *object, uint32_t spread,
                 struct json_reader *in)
{
    record->members.count = 0;
    record->present = record->inner = 0;
    struct json_reader inside = json_read(object->text);
    if (object->kind != JSON_OBJECT || read_members(record, &inside, false, spread))
        return true;
    *in = inside;
    return false;
}

const struct json_value *record_value(const struct record *record, uint32_t key)
{
    return record->present >> key & 1 ? &record->known[key] : NULL;
}

struct optional record_whole(const struct record *record, uint32_t key)
{
    const struct json_value *value = record_value(record, key);
    int64_t number;
    return value && value_whole(value, &number) ? (struct optional){true, number}
                                                : (struct optional){0};
}

void record_add_keys(struct catalog *catalog, const char *const *keys, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t string = catalog_string(catalog, text_of(keys[i]));
        assert(string == i && count <= RECORD_KNOWN);
        (void)string;
    }
}
