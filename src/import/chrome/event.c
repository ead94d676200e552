/*
 * Chrome trace JSON: parses one event, for both passes. Events repeat the same keys in the same
 * order, so each key is first compared with the one that followed the previous key last time.
 */
#include "import/chrome/chrome_passes.h"

/* The key that followed a key last time; entries are shared by hash, so a guess may be wrong. */
static struct chrome_guess *guess_after(struct chrome_reader *reader, uint32_t key)
{
    enum { MAX_GUESSES = 4096 };
    if (!reader->followers)
        reader->followers = mem_zeroed(MAX_GUESSES, sizeof *reader->followers);
    return &reader->followers[key % MAX_GUESSES];
}

static void remember_guess(struct chrome_guess *guess, uint32_t key, struct text text)
{
    guess->size = 0;
    if (text.size == 0 || text.size >= CHROME_GUESS_SIZE - 8)
        return;
    *guess = (struct chrome_guess){.key = key, .size = (uint32_t)text.size};
    memcpy(guess->text, text.data, text.size);
    guess->text[text.size] = '"';
}

/* Whether `size` characters are equal; both must be loadable eight bytes at a time. */
static inline bool same_text(const char *a, const char *b, size_t size)
{
    uint64_t m, n;
    for (; size >= 8; size -= 8, a += 8, b += 8) {
        memcpy(&m, a, 8);
        memcpy(&n, b, 8);
        if (m != n)
            return false;
    }
    memcpy(&m, a, 8);
    memcpy(&n, b, 8);
    return size == 0 || (m ^ n) << (64 - 8 * size) == 0;
}

static bool is_number_start(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

static bool put_string(struct chrome_reader *reader, uint32_t key, const struct json_value *value)
{
    struct text text = value->text;
    if (text.size > ARG_LARGEST)
        return json_fail(&reader->in, "a string is larger than 512 MiB");
    if (value->has_escapes && !reader->is_first_pass) {
        char *resolved = arena_alloc(&reader->texts, text.size);
        text = (struct text){resolved, json_unescape(text, resolved)};
    }
    arg_put(array_push(&reader->args), key, ARG_TEXT, (uint32_t)text.size,
            (uint64_t)(uintptr_t)text.data);
    return true;
}

static bool put_json(struct chrome_reader *reader, uint32_t key, struct text text)
{
    if (text.size > ARG_LARGEST)
        return json_fail(&reader->in, "a value is larger than 512 MiB");
    arg_put(array_push(&reader->args), key, ARG_JSON, (uint32_t)text.size,
            (uint64_t)(uintptr_t)text.data);
    return true;
}

static bool put_number(struct chrome_reader *reader, uint32_t key, const struct json_number *number)
{
    if (number->text.size > ARG_LARGEST)
        return json_fail(&reader->in, "a number is larger than 512 MiB");
    *array_push(&reader->args) = number_arg(key, number);
    return true;
}

static bool put_value(struct chrome_reader *reader, uint32_t key, const struct json_value *value)
{
    struct json_number number;
    struct json_reader digits;
    if (key == INTERN_NONE)
        return json_fail(&reader->in, CHROME_CHANGED);
    switch (value->kind) {
    case JSON_STRING:
        return put_string(reader, key, value);
    case JSON_NUMBER:
        digits = json_read(value->text);
        json_read_number(&digits, &number);
        return put_number(reader, key, &number);
    case JSON_NULL:
        arg_put(array_push(&reader->args), key, ARG_NONE, 0, 0);
        return true;
    default:
        return put_json(reader, key, value->text);
    }
}

static bool read_value(struct chrome_reader *reader, struct json_value *value)
{
    return reader->is_first_pass ? json_read_value(&reader->in, value)
                                 : json_read_validated(&reader->in, value);
}

/* Reads a value as an arg. */
static bool read_arg(struct chrome_reader *reader, uint32_t key)
{
    struct json_reader *in = &reader->in;
    struct json_value value;
    struct json_number number;
    char next;
    if (!json_peek(in, &next))
        return false;
    if (is_number_start(next))
        return json_read_number(in, &number) && put_number(reader, key, &number);
    if (next == '"')
        return json_read_string(in, &value) && put_string(reader, key, &value);
    return read_value(reader, &value) && put_value(reader, key, &value);
}

/* Reads an arg's key and its colon. */
static bool read_arg_key(struct chrome_reader *reader, uint32_t before, uint32_t *key)
{
    struct json_reader *in = &reader->in;
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != '"')
        return json_fail(in, "expected a key");
    struct chrome_guess *guess = guess_after(reader, before);
    const char *at = in->at + 1;
    if (guess->size > 0 && in->end - at >= CHROME_GUESS_SIZE &&
        same_text(at, guess->text, guess->size + 1)) {
        *key = guess->key;
        in->at = at + guess->size + 1;
    } else {
        struct json_value text;
        if (!json_read_string(in, &text))
            return false;
        *key = chrome_find_text(reader, &text);
        if (*key == INTERN_NONE)
            return json_fail(in, CHROME_CHANGED);
        remember_guess(guess, *key, text.text);
    }
    return json_expect(in, ':', "expected a colon");
}

static bool read_args(struct chrome_reader *reader, struct chrome_event *event)
{
    struct json_reader *in = &reader->in;
    uint32_t key = CHROME_EMPTY;
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != '{')
        return read_arg(reader, CHROME_ARGS);
    event->args_begin = reader->args.count;
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        if (!read_arg_key(reader, key, &key) || !read_arg(reader, key))
            return false;
        if (key != CHROME_STREAM)
            continue;
        const struct arg *arg = &reader->args.items[reader->args.count - 1];
        event->has_stream = arg->type == ARG_INT;
        event->stream = arg->integer;
    }
    event->args_end = reader->args.count;
    return in->problem == NULL;
}

static bool read_id(struct chrome_reader *reader, struct chrome_id *id)
{
    struct json_value value;
    struct json_number number;
    char next;
    if (!json_peek(&reader->in, &next))
        return false;
    if (is_number_start(next))
        return json_read_number(&reader->in, &number) && chrome_number_id(reader, &number, id);
    return json_read_value(&reader->in, &value) && chrome_make_id(reader, &value, id);
}

/* A time, possibly quoted; any other value becomes an arg. */
static bool read_time(struct chrome_reader *reader, uint32_t key, struct json_number *number,
                      bool *is_time)
{
    struct json_value value;
    char next;
    if (!json_peek(&reader->in, &next))
        return false;
    if (is_number_start(next)) {
        *is_time = true;
        if (!json_read_number(&reader->in, number))
            return false;
        if (!number->is_nonfinite)
            return true;
        value = (struct json_value){number->text, JSON_NUMBER, false};
    } else if (!json_read_value(&reader->in, &value)) {
        return false;
    }
    struct json_reader in = json_read(value.text);
    *is_time = value.kind == JSON_STRING && value.text.size > 0 && json_read_number(&in, number) &&
               in.at == in.end && !number->is_nonfinite;
    return *is_time || put_value(reader, key, &value);
}

static bool read_phase(struct chrome_reader *reader, struct chrome_event *event)
{
    struct json_value value;
    if (!json_read_value(&reader->in, &value))
        return false;
    if (value.kind != JSON_STRING || value.text.size != 1)
        return put_value(reader, CHROME_PHASE, &value);
    event->phase = value.text.data[0];
    event->phase_text = value;
    return true;
}

/* A name or category; lists and objects become args instead. */
static bool read_name(struct chrome_reader *reader, uint32_t key, struct json_value *name)
{
    struct json_value value;
    if (!json_read_value(&reader->in, &value))
        return false;
    if (value.kind == JSON_LIST || value.kind == JSON_OBJECT || value.kind == JSON_NULL)
        return put_value(reader, key, &value);
    *name = value;
    name->text = chrome_canonical(reader, &value);
    return true;
}

/* Returns a value and also adds it to the args. */
static bool read_kept(struct chrome_reader *reader, const struct json_value *key,
                      struct json_value *value)
{
    if (!json_read_value(&reader->in, value) ||
        !put_value(reader, chrome_find_text(reader, key), value))
        return false;
    value->text = chrome_canonical(reader, value);
    value->has_escapes = false;
    return true;
}

enum field {
    FIELD_OTHER,
    FIELD_PHASE,
    FIELD_NAME,
    FIELD_CATEGORY,
    FIELD_PID,
    FIELD_TID,
    FIELD_TIME,
    FIELD_DURATION,
    FIELD_ARGS,
    FIELD_ID,
    FIELD_ID2,
    FIELD_SCOPE,
    FIELD_COUNT,
};

static const struct {
    char text[8]; /* with its closing quote */
    size_t size;
} field_names[FIELD_COUNT] = {
    [FIELD_OTHER] = {"\"", 0},    [FIELD_PHASE] = {"ph\"", 3},
    [FIELD_NAME] = {"name\"", 5}, [FIELD_CATEGORY] = {"cat\"", 4},
    [FIELD_PID] = {"pid\"", 4},   [FIELD_TID] = {"tid\"", 4},
    [FIELD_TIME] = {"ts\"", 3},   [FIELD_DURATION] = {"dur\"", 4},
    [FIELD_ARGS] = {"args\"", 5}, [FIELD_ID] = {"id\"", 3},
    [FIELD_ID2] = {"id2\"", 4},   [FIELD_SCOPE] = {"scope\"", 6},
};

static bool is_field(const char *at, enum field field)
{
    return field != FIELD_OTHER && same_text(at, field_names[field].text, field_names[field].size);
}

/* The field whose name is here; the one that followed `before` last time is tried first. */
static enum field field_at(struct chrome_reader *reader, enum field before, const char *at)
{
    enum field guess = (enum field)reader->field_followers[before];
    if (is_field(at, guess))
        return guess;
    for (enum field field = FIELD_OTHER + 1; field < FIELD_COUNT; field++) {
        if (is_field(at, field)) {
            reader->field_followers[before] = (uint8_t)field;
            return field;
        }
    }
    return FIELD_OTHER;
}

/* The same for keys with escapes, and for those near the end of a chunk. */
static enum field field_named(struct text name)
{
    for (enum field field = FIELD_OTHER + 1; field < FIELD_COUNT; field++)
        if (name.size + 1 == field_names[field].size &&
            memcmp(name.data, field_names[field].text, name.size) == 0)
            return field;
    return FIELD_OTHER;
}

/* Reads an event's key and its colon. */
static bool read_field_name(struct chrome_reader *reader, struct json_value *key, enum field *field)
{
    struct json_reader *in = &reader->in;
    char next;
    if (!json_peek(in, &next))
        return false;
    const char *at = in->at + 1;
    *field = next == '"' && in->end - at >= 8 ? field_at(reader, *field, at) : FIELD_OTHER;
    if (*field == FIELD_OTHER) {
        bool ok = json_read_key(in, key);
        *field = ok ? field_named(chrome_canonical(reader, key)) : FIELD_OTHER;
        return ok;
    }
    size_t size = field_names[*field].size;
    *key = (struct json_value){{at, size - 1}, JSON_STRING, false};
    in->at = at + size;
    return json_expect(in, ':', "expected a colon");
}

/* A field that is not known, or of an unexpected type, is kept as an arg: nothing of an event is
 * lost. */
static bool read_field(struct chrome_reader *reader, enum field field, const struct json_value *key,
                       struct chrome_event *event)
{
    struct json_value value;
    switch (field) {
    case FIELD_PHASE:
        return read_phase(reader, event);
    case FIELD_NAME:
        return read_name(reader, CHROME_NAME, &event->name);
    case FIELD_CATEGORY:
        return read_name(reader, CHROME_CATEGORY, &event->category);
    case FIELD_PID:
        return read_id(reader, &event->pid);
    case FIELD_TID:
        return read_id(reader, &event->tid);
    case FIELD_TIME:
        return read_time(reader, CHROME_TIME, &event->time, &event->has_time);
    case FIELD_DURATION:
        return read_time(reader, CHROME_DURATION, &event->duration, &event->has_duration);
    case FIELD_ARGS:
        return read_args(reader, event);
    case FIELD_ID:
    case FIELD_ID2:
        return read_kept(reader, key, &event->id);
    case FIELD_SCOPE:
        return read_kept(reader, key, &event->scope);
    case FIELD_OTHER:
    case FIELD_COUNT:
        break;
    }
    return read_kept(reader, key, &value);
}

/* Decisions that need the whole event: whether the duration applies, and whether the phase must be
 * kept as an arg. */
static bool finish_event(struct chrome_reader *reader, struct chrome_event *event)
{
    if (event->has_time)
        event->is_far = !chrome_picoseconds(&event->time, reader->anchor_us, &event->time_ps);
    if (event->has_duration && event->phase == 'X')
        event->is_far |= !chrome_picoseconds(&event->duration, 0, &event->duration_ps);
    else if (event->has_duration && !put_number(reader, CHROME_DURATION, &event->duration))
        return false;
    bool is_implied = event->phase == 0 || strchr("XBEiICbeSFstfM", event->phase);
    if (event->phase == 'C' && event->args_begin == event->args_end) {
        event->phase = 0; /* a counter without values */
        is_implied = false;
    }
    return is_implied || put_value(reader, CHROME_PHASE, &event->phase_text);
}

bool chrome_read_event(struct chrome_reader *reader, struct chrome_event *event)
{
    struct json_reader *in = &reader->in;
    struct json_value key;
    enum field field = FIELD_OTHER;
    *event =
        (struct chrome_event){.start = in->at, .first_arg = reader->args.count, .is_empty = true};
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}')) {
        event->is_empty = false;
        if (!read_field_name(reader, &key, &field) || !read_field(reader, field, &key, event))
            return false;
    }
    return !in->problem && finish_event(reader, event);
}

bool chrome_next_event(struct chrome_reader *reader, bool *after_event)
{
    struct json_reader *in = &reader->in;
    struct json_value ignored;
    for (json_skip_space(in); in->at < in->end; json_skip_space(in)) {
        if (*in->at == ',' && *after_event) {
            in->at++;
            *after_event = false;
        } else if (*after_event) {
            return json_fail(in, "expected a comma between events");
        } else if (*in->at == '{') {
            *after_event = true;
            return true;
        } else if (*in->at != 'n' || !json_read_value(in, &ignored)) {
            return in->problem ? false : json_fail(in, "expected an event");
        } else {
            *after_event = true; /* null */
        }
    }
    return false;
}
