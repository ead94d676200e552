/*
 * Chrome trace JSON: one event, as both passes read it. Keys come in the same order event after
 * event, so each is first held against the one that followed the key before it last time.
 */
#include "import/chrome.h"

#include <stdio.h>

static const char CHANGED[] = "it changed while it was read";

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
    *array_push(&tables->works) = WORK_UNKNOWN; /* of the empty text, which is no type */
}

void chrome_tables_free(struct chrome_tables *tables)
{
    intern_free(&tables->texts);
    intern_free(&tables->types);
    intern_free(&tables->lanes);
    array_free(&tables->works);
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

/* One way to write a text that has several: without escapes but for the backslash's own. */
static struct text one_form(struct chrome_reader *reader, const struct json_value *value)
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

uint32_t chrome_text(struct chrome_reader *reader, const struct json_value *value)
{
    return look_up(reader, &reader->tables->texts, one_form(reader, value));
}

/* What came behind a key last time; keys may share a guess, and then it is mostly wrong. */
static struct chrome_guess *guess_behind(struct chrome_reader *reader, uint32_t key)
{
    enum { MOST_GUESSES = 4096 };
    if (!reader->followers)
        reader->followers = mem_zeroed(MOST_GUESSES, sizeof *reader->followers);
    return &reader->followers[key % MOST_GUESSES];
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

/* Whether so many characters are the same; both may be loaded eight at a time. */
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
        return json_fail(&reader->in, "a text is larger than 512 MiB");
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

struct arg chrome_number_arg(uint32_t key, const struct json_number *number)
{
    struct arg arg;
    uint64_t largest = (uint64_t)INT64_MAX + number->is_negative;
    if (!number->is_whole) {
        double value = json_number_double(number);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        arg_put(&arg, key, ARG_DOUBLE, 0, bits);
        return arg;
    }
    bool fits = number->is_negative ? number->digits <= largest : true;
    if (number->is_rounded || !fits) /* a whole number of any size stays what it is */
        arg_put(&arg, key, ARG_JSON, (uint32_t)number->text.size,
                (uint64_t)(uintptr_t)number->text.data);
    else
        arg_put(&arg, key, number->digits > largest ? ARG_UINT : ARG_INT, 0,
                number->is_negative ? 0 - number->digits : number->digits);
    return arg;
}

static bool put_number(struct chrome_reader *reader, uint32_t key, const struct json_number *number)
{
    if (number->text.size > ARG_LARGEST)
        return json_fail(&reader->in, "a number is larger than 512 MiB");
    *array_push(&reader->args) = chrome_number_arg(key, number);
    return true;
}

static bool put_value(struct chrome_reader *reader, uint32_t key, const struct json_value *value)
{
    struct json_number number;
    struct json_reader digits;
    if (key == INTERN_NONE)
        return json_fail(&reader->in, CHANGED);
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
                                 : json_read_again(&reader->in, value);
}

/* The value that stands here, under a key. */
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

/* A key of an arg, with the colon behind it. */
static bool read_arg_key(struct chrome_reader *reader, uint32_t before, uint32_t *key)
{
    struct json_reader *in = &reader->in;
    char next;
    if (!json_peek(in, &next))
        return false;
    if (next != '"')
        return json_fail(in, "there should be a key here");
    struct chrome_guess *guess = guess_behind(reader, before);
    const char *at = in->at + 1;
    if (guess->size > 0 && in->end - at >= CHROME_GUESS_SIZE &&
        same_text(at, guess->text, guess->size + 1)) {
        *key = guess->key;
        in->at = at + guess->size + 1;
    } else {
        struct json_value text;
        if (!json_read_string(in, &text))
            return false;
        *key = chrome_text(reader, &text);
        if (*key == INTERN_NONE)
            return json_fail(in, CHANGED);
        remember_guess(guess, *key, text.text);
    }
    return json_expect(in, ':', "a colon is missing");
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

/* A short decimal number in a text; many writers put ids in quotes. */
static bool is_decimal(struct text text, int64_t *number)
{
    enum { LONGEST = 18 };
    size_t at = text.size > 0 && text.data[0] == '-';
    if (text.size == at || text.size > LONGEST || (text.data[at] == '0' && text.size > 1))
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
    uint32_t number = chrome_text(reader, value);
    *id = (struct chrome_id){.form = ID_TEXT, .value = number};
    return number != INTERN_NONE || json_fail(&reader->in, CHANGED);
}

static bool number_id(struct chrome_reader *reader, const struct json_number *number,
                      struct chrome_id *id)
{
    struct json_value text = {number->text, JSON_NUMBER, false};
    if (!number->is_whole || number->is_rounded || number->digits > INT64_MAX)
        return text_id(reader, &text, id);
    int64_t value = (int64_t)number->digits;
    *id = (struct chrome_id){.form = ID_NUMBER, .value = number->is_negative ? -value : value};
    return true;
}

bool chrome_id(struct chrome_reader *reader, const struct json_value *value, struct chrome_id *id)
{
    struct json_reader in = json_read(value->text);
    struct json_number number;
    *id = (struct chrome_id){.form = ID_NONE};
    if (value->kind == JSON_NULL)
        return true;
    if (value->kind == JSON_NUMBER && json_read_number(&in, &number))
        return number_id(reader, &number, id);
    if (value->kind == JSON_STRING && is_decimal(value->text, &id->value)) {
        id->form = ID_NUMBER;
        return true;
    }
    return text_id(reader, value, id);
}

static bool read_id(struct chrome_reader *reader, struct chrome_id *id)
{
    struct json_value value;
    struct json_number number;
    char next;
    if (!json_peek(&reader->in, &next))
        return false;
    if (is_number_start(next))
        return json_read_number(&reader->in, &number) && number_id(reader, &number, id);
    return json_read_value(&reader->in, &value) && chrome_id(reader, &value, id);
}

enum { PS_PER_US = 1000000, PS_DIGITS = 6 };

typedef unsigned __int128 wide; /* microseconds since 1970 as picoseconds need 71 bits */

static wide power_of_ten(uint32_t exponent)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    if (exponent < sizeof powers / sizeof *powers)
        return powers[exponent];
    return powers[6] * power_of_ten(exponent - 6);
}

/* All digits of a number that has more of them than fit 64 bits, as far as they fit 128. */
static wide all_digits(const struct json_number *number, int32_t *exponent)
{
    enum { MOST = 37 };
    wide digits = 0;
    int32_t count = 0;
    for (size_t i = 0; i < number->text.size && (number->text.data[i] | 0x20) != 'e'; i++) {
        uint64_t digit = (uint64_t)(unsigned char)number->text.data[i] - '0';
        if (digit > 9 || count == MOST)
            continue;
        digits = digits * 10 + digit;
        count += digits > 0;
    }
    *exponent = number->exponent;
    for (uint64_t kept = number->digits; kept > 0; kept /= 10)
        count--;
    *exponent -= count;
    return digits;
}

#define LARGEST_PS ((wide)1 << 100)

/* Numbers of any length. */
static wide slow_magnitude_ps(const struct json_number *number)
{
    enum { LARGEST_POWER = 37, LARGEST_FACTOR = 18 };
    int32_t exponent = number->exponent;
    wide digits = number->is_rounded ? all_digits(number, &exponent) : number->digits;
    exponent += PS_DIGITS;
    if (digits == 0 || exponent < -LARGEST_POWER)
        return 0;
    if (exponent < 0) {
        wide power = power_of_ten((uint32_t)-exponent);
        return digits / power + (digits % power >= power - digits % power);
    }
    if (exponent > LARGEST_FACTOR || digits > LARGEST_PS / power_of_ten((uint32_t)exponent))
        return LARGEST_PS;
    return digits * power_of_ten((uint32_t)exponent);
}

/* How many picoseconds so many microseconds are, up to a limit beyond all that is used. */
static wide magnitude_ps(const struct json_number *number)
{
    static const uint32_t powers[PS_DIGITS + 1] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (number->is_rounded || number->exponent > 0 || number->exponent < -PS_DIGITS)
        return slow_magnitude_ps(number);
    return (wide)number->digits * powers[-number->exponent];
}

bool chrome_picoseconds(const struct json_number *number, int64_t from_us, int64_t *ps)
{
    const wide largest = (wide)1 << 62;
    __int128 time = (__int128)magnitude_ps(number), from = (__int128)from_us * PS_PER_US;
    time = (number->is_negative ? -time : time) - from;
    if (time >= -(__int128)largest && time <= (__int128)largest) {
        *ps = (int64_t)time;
        return true;
    }
    *ps = time < 0 ? -(int64_t)largest : (int64_t)largest;
    return false;
}

int64_t chrome_microseconds(const struct json_number *time)
{
    wide us = magnitude_ps(time) / PS_PER_US;
    if (us > INT64_MAX)
        return 0;
    return time->is_negative ? -(int64_t)us : (int64_t)us;
}

/* A time, also in quotes; what is none is kept under its key. */
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
        if (!number->is_word)
            return true;
        value = (struct json_value){number->text, JSON_NUMBER, false};
    } else if (!json_read_value(&reader->in, &value)) {
        return false;
    }
    struct json_reader in = json_read(value.text);
    *is_time = value.kind == JSON_STRING && value.text.size > 0 && json_read_number(&in, number) &&
               in.at == in.end && !number->is_word;
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

/* A name or category; lists and objects are none. */
static bool read_word(struct chrome_reader *reader, uint32_t key, struct json_value *word)
{
    struct json_value value;
    if (!json_read_value(&reader->in, &value))
        return false;
    if (value.kind == JSON_LIST || value.kind == JSON_OBJECT || value.kind == JSON_NULL)
        return put_value(reader, key, &value);
    *word = value;
    word->text = one_form(reader, &value);
    return true;
}

/* Keeps a value for itself and among the args. */
static bool read_kept(struct chrome_reader *reader, const struct json_value *key,
                      struct json_value *value)
{
    if (!json_read_value(&reader->in, value) || !put_value(reader, chrome_text(reader, key), value))
        return false;
    value->text = one_form(reader, value);
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
    char text[8]; /* with the quote behind it */
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

/* The field whose name stands here; the one that came behind `before` last time is tried first. */
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

/* The same for keys with escapes, and for those at the very end of a chunk. */
static enum field field_named(struct text name)
{
    for (enum field field = FIELD_OTHER + 1; field < FIELD_COUNT; field++)
        if (name.size + 1 == field_names[field].size &&
            memcmp(name.data, field_names[field].text, name.size) == 0)
            return field;
    return FIELD_OTHER;
}

/* A key of an event, with the colon behind it. */
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
        *field = ok ? field_named(one_form(reader, key)) : FIELD_OTHER;
        return ok;
    }
    size_t size = field_names[*field].size;
    *key = (struct json_value){{at, size - 1}, JSON_STRING, false};
    in->at = at + size;
    return json_expect(in, ':', "a colon is missing");
}

static bool read_field(struct chrome_reader *reader, enum field field, const struct json_value *key,
                       struct chrome_event *event)
{
    struct json_value value;
    switch (field) {
    case FIELD_PHASE:
        return read_phase(reader, event);
    case FIELD_NAME:
        return read_word(reader, CHROME_NAME, &event->name);
    case FIELD_CATEGORY:
        return read_word(reader, CHROME_CATEGORY, &event->category);
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

/* What only the whole event tells: whether its duration is one, and whether its phase must be
 * kept. */
static bool finish_event(struct chrome_reader *reader, struct chrome_event *event)
{
    if (event->has_time)
        event->is_far = !chrome_picoseconds(&event->time, reader->anchor_us, &event->time_ps);
    if (event->has_duration && event->phase == 'X')
        event->is_far |= !chrome_picoseconds(&event->duration, 0, &event->duration_ps);
    else if (event->has_duration && !put_number(reader, CHROME_DURATION, &event->duration))
        return false;
    bool speaks_for_itself = event->phase == 0 || strchr("XBEiICbeSFstfM", event->phase);
    if (event->phase == 'C' && event->args_begin == event->args_end) {
        event->phase = 0; /* a counter of nothing */
        speaks_for_itself = false;
    }
    return speaks_for_itself || put_value(reader, CHROME_PHASE, &event->phase_text);
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
            return json_fail(in, "a comma is missing between events");
        } else if (*in->at == '{') {
            *after_event = true;
            return true;
        } else if (*in->at != 'n' || !json_read_value(in, &ignored)) {
            return in->problem ? false : json_fail(in, "there should be an event here");
        } else {
            *after_event = true; /* null */
        }
    }
    return false;
}

static bool is_one_of(struct text text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(text, text_of(words[i])))
            return true;
    return false;
}

/* Kineto's categories, those of its first versions too. */
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

/* Category and name in one text, the size of the first before them. */
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

/* Up to eight characters from each end of a text, mixed. */
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

/* Names are long and few: one that was met before is held against the whole text once, and not
 * hashed. */
uint32_t chrome_type(struct chrome_reader *reader, const struct chrome_event *event)
{
    struct chrome_tables *tables = reader->tables;
    uint64_t mixed = text_ends_mixed(event->name.text) * 31 + text_ends_mixed(event->category.text);
    uint32_t *cached = &reader->type_cache[mixed >> 32 & (CHROME_TYPE_CACHE - 1)];
    if (*cached && event->name.text.size > 0 &&
        is_type(intern_text(&tables->types, *cached), event))
        return *cached;
    uint32_t type = look_up(reader, &tables->types, type_text(&reader->type_text, event));
    if (type == tables->works.count)
        *array_push(&tables->works) = (uint8_t)work_of(event->category.text);
    if (type != INTERN_NONE)
        *cached = type;
    return type;
}

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
    if (work == WORK_UNKNOWN)
        return event->has_stream ? CLASS_QUEUED : CLASS_THREAD;
    return work == WORK_HOST ? CLASS_HOST : work == WORK_DEVICE ? CLASS_STREAM : CLASS_ASIDE;
}

uint32_t chrome_lane(struct chrome_reader *reader, const struct chrome_event *event, uint32_t type,
                     uint32_t series)
{
    enum chrome_class class = class_of(event, (enum chrome_work)reader->tables->works.items[type]);
    struct chrome_id tid = event->tid;
    struct chrome_lane lane = {.file = reader->file, .class = (uint8_t)class, .series = series};
    if (class == CLASS_ASYNC || class == CLASS_COUNTER)
        tid = (struct chrome_id){.form = ID_NONE};
    if (class == CLASS_COUNTER && event->id.text.data && !chrome_id(reader, &event->id, &tid))
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
