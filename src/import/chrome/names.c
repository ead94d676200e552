/*
 * Chrome trace JSON: lookup of the names in an event. Texts, types and lanes have ids; the first
 * pass assigns them, the second looks them up.
 */
#include "import/chrome/chrome_passes.h"

const char CHROME_CHANGED[] = "the file changed while it was being read";

static const char *const known_texts[] = {
    [CHROME_EMPTY] = "",       [CHROME_STREAM] = "stream",     [CHROME_PHASE] = "ph",
    [CHROME_TIME] = "ts",      [CHROME_DURATION] = "dur",      [CHROME_NAME] = "name",
    [CHROME_CATEGORY] = "cat", [CHROME_ARGS] = "args",         [CHROME_PRODUCER_TYPE] = "_pt",
    [CHROME_PRODUCER] = "_p",  [CHROME_CONSUMER_TYPE] = "_ct", [CHROME_CONSUMER] = "_c",
};

void chrome_tables_init(struct chrome_tables *tables)
{
    *tables = (struct chrome_tables){0};
    intern_init(&tables->texts);
    intern_init(&tables->types);
    intern_init(&tables->lanes);
    for (size_t i = 0; i < sizeof known_texts / sizeof *known_texts; i++)
        intern_add(&tables->texts, text_of(known_texts[i]));
    *array_push(&tables->works) = WORK_UNKNOWN; /* of the empty text, which is not a type */
    *array_push(&tables->slices) = true;
}

void chrome_tables_free(struct chrome_tables *tables)
{
    intern_free(&tables->texts);
    intern_free(&tables->types);
    intern_free(&tables->lanes);
    array_free(&tables->works);
    array_free(&tables->slices);
}

void chrome_reader_init(struct chrome_reader *reader, struct chrome_tables *tables,
                        bool is_first_pass)
{
    *reader = (struct chrome_reader){.tables = tables, .is_first_pass = is_first_pass};
    output_memory(&reader->type_text);
    reader->last_lane = INTERN_NONE;
}

void chrome_reader_free(struct chrome_reader *reader)
{
    array_free(&reader->args);
    mem_free(reader->followers);
    arena_free(&reader->texts);
    output_discard(&reader->type_text);
}

static uint32_t look_up(const struct chrome_reader *reader, struct intern *table, struct text text)
{
    return reader->is_first_pass ? intern_add(table, text) : intern_find(table, text);
}

struct text chrome_canonical(struct chrome_reader *reader, const struct json_value *value)
{
    if (!value->has_escapes)
        return value->text;
    char *resolved = arena_alloc(&reader->texts, value->text.size);
    size_t size = json_unescape(value->text, resolved);
    char *form = arena_alloc(&reader->texts, size * 2), *to = form;
    for (size_t i = 0; i < size; i++) {
        if (resolved[i] == '\\')
            *to++ = '\\';
        *to++ = resolved[i];
    }
    return (struct text){form, (size_t)(to - form)};
}

uint32_t chrome_find_text(struct chrome_reader *reader, const struct json_value *value)
{
    return look_up(reader, &reader->tables->texts, chrome_canonical(reader, value));
}

/* A short decimal number as text; many writers quote ids. */
static bool is_decimal(struct text text, int64_t *number)
{
    enum { MAX_SIZE = 18 };
    size_t at = text.size > 0 && text.data[0] == '-';
    if (text.size == at || text.size > MAX_SIZE || (text.data[at] == '0' && text.size > 1))
        return false;
    *number = 0;
    for (size_t i = at; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *number = *number * 10 + (text.data[i] - '0');
    }
    *number = at ? -*number : *number;
    return true;
}

static bool text_id(struct chrome_reader *reader, const struct json_value *value,
                    struct chrome_id *id)
{
    uint32_t number = chrome_find_text(reader, value);
    *id = (struct chrome_id){.form = ID_TEXT, .value = number};
    return number != INTERN_NONE || json_fail(&reader->in, CHROME_CHANGED);
}

bool chrome_number_id(struct chrome_reader *reader, const struct json_number *number,
                      struct chrome_id *id)
{
    struct json_value text = {number->text, JSON_NUMBER, false};
    if (!number->is_whole || number->is_rounded || number->digits > INT64_MAX)
        return text_id(reader, &text, id);
    int64_t value = (int64_t)number->digits;
    *id = (struct chrome_id){.form = ID_NUMBER, .value = number->is_negative ? -value : value};
    return true;
}

bool chrome_make_id(struct chrome_reader *reader, const struct json_value *value,
                    struct chrome_id *id)
{
    struct json_reader in = json_read(value->text);
    struct json_number number;
    *id = (struct chrome_id){.form = ID_NONE};
    if (value->kind == JSON_NULL)
        return true;
    if (value->kind == JSON_NUMBER && json_read_number(&in, &number))
        return chrome_number_id(reader, &number, id);
    if (value->kind == JSON_STRING && is_decimal(value->text, &id->value)) {
        id->form = ID_NUMBER;
        return true;
    }
    return text_id(reader, value, id);
}

static bool is_one_of(struct text text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(text, text_of(words[i])))
            return true;
    return false;
}

/* Kineto's categories, including those of its first versions. */
static enum chrome_work work_of(struct text category)
{
    static const char *const on_host[] = {"cpu_op",          "cuda_runtime",    "cuda_driver",
                                          "python_function", "user_annotation", "cpu_instant_event",
                                          "Operator",        "Runtime"};
    static const char *const on_device[] = {"kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events",
                                            "Kernel", "Memcpy",     "Memset"};
    static const char *const aside[] = {"gpu_user_annotation", "cuda_sync"};
    if (is_one_of(category, on_host, sizeof on_host / sizeof *on_host))
        return WORK_HOST;
    if (is_one_of(category, on_device, sizeof on_device / sizeof *on_device))
        return WORK_DEVICE;
    return is_one_of(category, aside, sizeof aside / sizeof *aside) ? WORK_ASIDE : WORK_UNKNOWN;
}

/* Category and name in one text, prefixed by the size of the category. */
static struct text type_text(struct output *out, const struct chrome_event *event)
{
    uint32_t size = event->category.text.data ? (uint32_t)event->category.text.size : UINT32_MAX;
    out->size = 0;
    output_write(out, (const char *)&size, sizeof size);
    if (size != UINT32_MAX)
        output_write(out, event->category.text.data, size);
    output_write(out, event->name.text.data, event->name.text.size);
    return (struct text){out->data, out->size};
}

/* Hashes up to eight characters from each end of a text. */
static uint64_t text_ends_mixed(struct text text)
{
    uint64_t first = 0, last = 0;
    if (text.size >= 8) {
        memcpy(&first, text.data, 8);
        memcpy(&last, text.data + text.size - 8, 8);
    } else if (text.size > 0) {
        memcpy(&first, text.data, text.size);
    }
    return (first * 0x9E3779B97F4A7C15u ^ last) * 0xD6E8FEB86659FD93u + text.size;
}

static bool is_type(struct text known, const struct chrome_event *event)
{
    struct text category = event->category.text, name = event->name.text;
    uint32_t size;
    if (known.size != sizeof size + category.size + name.size || !category.data)
        return false;
    memcpy(&size, known.data, sizeof size);
    const char *at = known.data + sizeof size;
    return size == category.size && memcmp(at, category.data, size) == 0 &&
           memcmp(at + size, name.data, name.size) == 0;
}

/* Names are long and few: a cached one is compared once instead of being hashed. */
uint32_t chrome_find_type(struct chrome_reader *reader, const struct chrome_event *event)
{
    struct chrome_tables *tables = reader->tables;
    uint64_t mixed = text_ends_mixed(event->name.text) * 31 + text_ends_mixed(event->category.text);
    uint32_t *cached = &reader->type_cache[mixed >> 32 & (CHROME_TYPE_CACHE - 1)];
    if (*cached && event->name.text.size > 0 &&
        is_type(intern_text(&tables->types, *cached), event))
        return *cached;
    uint32_t type = look_up(reader, &tables->types, type_text(&reader->type_text, event));
    if (type == tables->works.count) {
        *array_push(&tables->works) = (uint8_t)work_of(event->category.text);
        *array_push(&tables->slices) = false;
    }
    if (type != INTERN_NONE)
        *cached = type;
    return type;
}

/* By phase first, then by what the category says. Only complete and begin events can be device
 * work. */
static enum chrome_class class_of(const struct chrome_event *event, enum chrome_work work)
{
    switch (event->phase) {
    case 's':
    case 't':
    case 'f':
        return CLASS_FLOW;
    case 'b':
    case 'n':
    case 'e':
    case 'S':
    case 'T':
    case 'p':
    case 'F':
        return CLASS_ASYNC;
    case 'C':
        return CLASS_COUNTER;
    case 'X':
    case 'B':
        break;
    default:
        return CLASS_THREAD;
    }
    if (work == WORK_HOST)
        return CLASS_HOST;
    if (work == WORK_ASIDE)
        return CLASS_ASIDE;
    if (!event->has_stream)
        return CLASS_THREAD;
    return work == WORK_DEVICE ? CLASS_STREAM : CLASS_QUEUED;
}

/* The key has no padding and only the fields that matter to its class, so that equal lanes are
 * equal bytes. Most events are on the lane of the one before, which saves the lookup. */
uint32_t chrome_find_lane(struct chrome_reader *reader, const struct chrome_event *event,
                          uint32_t type, uint32_t series)
{
    enum chrome_class class = class_of(event, (enum chrome_work)reader->tables->works.items[type]);
    struct chrome_id tid = event->tid;
    bool *slices = &reader->tables->slices.items[type];
    if (class != CLASS_FLOW && !*slices) /* never in the second pass, which shares the tables */
        *slices = true;
    struct chrome_lane lane = {.file = reader->file, .class = (uint8_t)class, .series = series};
    if (class == CLASS_ASYNC || class == CLASS_COUNTER)
        tid = (struct chrome_id){.form = ID_NONE};
    if (class == CLASS_COUNTER && event->id.text.data && !chrome_make_id(reader, &event->id, &tid))
        return INTERN_NONE;
    if (class == CLASS_ASYNC || class == CLASS_ASIDE)
        lane.detail = look_up(reader, &reader->tables->texts, event->category.text);
    else if (class == CLASS_COUNTER)
        lane.detail = type;
    lane.pid_form = (uint8_t)event->pid.form;
    lane.pid = event->pid.value;
    lane.tid_form = (uint8_t)tid.form;
    lane.tid = tid.value;
    if (reader->last_lane == INTERN_NONE || memcmp(&lane, &reader->last_key, sizeof lane) != 0) {
        reader->last_lane = look_up(reader, &reader->tables->lanes,
                                    (struct text){(const char *)&lane, sizeof lane});
        reader->last_key = lane;
    }
    return reader->last_lane;
}
