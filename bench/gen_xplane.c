/*
 * Generates XPlane files of any size from a real one: planes, metadata and programs once, events
 * with all their stats repeatedly, shifted in time. Ids that distinguish events (correlation ids,
 * flow contexts, scope ranges, runs, steps) are shifted too, so every repetition has its own flows
 * and steps.
 *
 * gen_xplane --events 1270000 capture.xplane.pb out.xplane.pb
 */
#include "base/wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

enum { XSPACE_PLANE = 1 };
enum { XPLANE_NAME = 2, XPLANE_LINE = 3, XPLANE_STAT_METADATA = 5, XPLANE_STAT = 6 };
enum { XLINE_TIMESTAMP = 3, XLINE_EVENT = 4 };
enum { XEVENT_OFFSET = 2, XEVENT_DURATION = 3, XEVENT_STAT = 4, XEVENT_OCCURRENCES = 5 };
enum { XSTAT_ID = 1, XSTAT_UINT = 3, XSTAT_INT = 4 };
enum { MAX_VARINT = 10, MAX_STAT = 127 };

/* What changes from one repetition to the next. */
enum moving { TIME, CORRELATION, FLOW, SCOPE, RUN, STEP, GROUP, STOP, MOVING_COUNT, STAYS };

static const struct {
    const char *stat;
    enum moving moving;
} moving_stats[] = {{"correlation_id", CORRELATION},
                    {"_c", FLOW},
                    {"_p", FLOW},
                    {"scope_range_id", SCOPE},
                    {"run_id", RUN},
                    {"step_num", STEP},
                    {"group_id", GROUP},
                    {"profile_stop_time", STOP}};
enum { MOVING_STATS = sizeof moving_stats / sizeof *moving_stats };

/* The bits that count; those above distinguish kinds of ids. */
static const uint64_t counting_bits[MOVING_COUNT] = {
    [TIME] = UINT64_MAX,  [CORRELATION] = UINT64_MAX,
    [FLOW] = UINT32_MAX,  [SCOPE] = ((uint64_t)1 << 48) - 1,
    [RUN] = UINT64_MAX,   [STEP] = UINT64_MAX,
    [GROUP] = UINT64_MAX, [STOP] = UINT64_MAX};

static const char scope_plane[] = "/host:__ScopeRangeCallStack__";

/* Constant bytes followed by a number that changes. */
struct piece {
    const uint8_t *bytes;
    uint32_t size;
    uint32_t head; /* stats: size before the number; otherwise 0 */
    const uint8_t *stat;
    enum moving moving; /* STAYS: no number */
    uint64_t value;
};

struct plane {
    uint64_t ids[MOVING_STATS]; /* ids of those stats in this plane */
    bool known[MOVING_STATS];
    bool scopes; /* the plane with the parent of each scope */
};

struct line {
    ARRAY(struct piece) pieces;
    ARRAY(size_t) ends; /* of each event's pieces */
};

struct generator {
    struct {
        uint64_t low, high;
    } ranges[MOVING_COUNT];
    uint64_t strides[MOVING_COUNT];
    uint64_t events, repeats;
    struct output out;
};

static size_t varint_size(uint64_t value)
{
    return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

static void put_varint(struct output *out, uint64_t value)
{
    if (out->capacity - out->size < MAX_VARINT)
        output_reserve(out, MAX_VARINT);
    for (; value >= 0x80; value >>= 7)
        out->data[out->size++] = (char)(value | 0x80);
    out->data[out->size++] = (char)value;
}

static void put_length(struct output *out, uint32_t field, uint64_t size)
{
    put_varint(out, PB_TAG(field, PB_BYTES));
    put_varint(out, size);
}

static size_t length_size(uint64_t size)
{
    return 1 + varint_size(size) + size;
}

static bool is_named(struct text name, const char *wanted)
{
    return name.size == strlen(wanted) && memcmp(name.data, wanted, name.size) == 0;
}

/* Reads id and name of a stat metadata entry. */
static void read_stat_name(struct plane *plane, const struct pb_field *entry)
{
    struct pb_reader in = pb_enter(entry);
    struct pb_field field, inner;
    uint64_t id = 0;
    struct text name = {0};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(1, PB_VARINT))
            id = field.value;
        if (field.tag != PB_TAG(2, PB_BYTES))
            continue;
        struct pb_reader value = pb_enter(&field);
        while (pb_next(&value, &inner))
            if (inner.tag == PB_TAG(2, PB_BYTES))
                name = pb_text(&inner);
    }
    for (size_t i = 0; i < MOVING_STATS; i++)
        if (is_named(name, moving_stats[i].stat)) {
            plane->ids[i] = id;
            plane->known[i] = true;
        }
}

static struct plane survey_plane(const struct pb_field *bytes)
{
    struct plane plane = {.scopes = false};
    struct pb_reader in = pb_enter(bytes);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(XPLANE_NAME, PB_BYTES))
            plane.scopes = is_named(pb_text(&field), scope_plane);
        else if (field.tag == PB_TAG(XPLANE_STAT_METADATA, PB_BYTES))
            read_stat_name(&plane, &field);
    return plane;
}

static enum moving moving_of(const struct plane *plane, uint64_t stat_id)
{
    for (size_t i = 0; i < MOVING_STATS; i++)
        if (plane->known[i] && plane->ids[i] == stat_id)
            return moving_stats[i].moving;
    return STAYS;
}

static struct piece *push_piece(struct line *line, const uint8_t *bytes, const uint8_t *end)
{
    struct piece *piece = array_push(&line->pieces);
    *piece = (struct piece){.bytes = bytes, .size = (uint32_t)(end - bytes), .moving = STAYS};
    return piece;
}

/* A stat whose last field is a number that changes becomes a piece: the tag is constant, the length
 * is recomputed. */
static bool push_moving_stat(struct line *line, const struct plane *plane, const uint8_t *from,
                             const uint8_t *stat, const struct pb_field *bytes)
{
    struct pb_reader in = pb_enter(bytes);
    struct pb_field field;
    uint64_t id = 0, value = 0;
    const uint8_t *head_end = NULL, *before = in.at;
    for (; pb_next(&in, &field); before = in.at) {
        if (field.tag == PB_TAG(XSTAT_ID, PB_VARINT))
            id = field.value;
        head_end = NULL;
        if (field.tag == PB_TAG(XSTAT_UINT, PB_VARINT) ||
            field.tag == PB_TAG(XSTAT_INT, PB_VARINT)) {
            head_end = before + 1;
            value = field.value;
        }
    }
    enum moving moving = moving_of(plane, id);
    if (moving == STAYS || !head_end || (value == 0 && moving != STEP) ||
        bytes->value > MAX_STAT - MAX_VARINT)
        return false;
    struct piece *piece = push_piece(line, from, stat + 1);
    piece->stat = bytes->bytes;
    piece->head = (uint32_t)(head_end - bytes->bytes);
    piece->moving = moving;
    piece->value = value;
    return true;
}

static void take_event(struct line *line, const struct plane *plane, const struct pb_field *event)
{
    struct pb_reader in = pb_enter(event);
    struct pb_field field;
    bool timed = false;
    const uint8_t *from = in.at, *before = in.at;
    for (; pb_next(&in, &field); before = in.at) {
        timed = timed || field.tag == PB_TAG(XEVENT_OCCURRENCES, PB_VARINT);
        if (field.tag == PB_TAG(XEVENT_OFFSET, PB_VARINT)) {
            struct piece *piece = push_piece(line, from, before + 1);
            piece->moving = TIME;
            piece->value = field.value;
            timed = true;
            from = in.at;
        } else if (field.tag == PB_TAG(XEVENT_STAT, PB_BYTES) &&
                   push_moving_stat(line, plane, from, before, &field))
            from = in.at;
    }
    if (from < in.end)
        push_piece(line, from, in.end);
    static const uint8_t offset_tag = PB_TAG(XEVENT_OFFSET, PB_VARINT);
    if (!timed)
        push_piece(line, &offset_tag, &offset_tag + 1)->moving = TIME;
    *array_push(&line->ends) = line->pieces.count;
}

static struct line take_line(const struct plane *plane, const struct pb_field *bytes)
{
    struct line line = {0};
    struct pb_reader in = pb_enter(bytes);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(XLINE_EVENT, PB_BYTES))
            take_event(&line, plane, &field);
    return line;
}

static void free_line(struct line *line)
{
    array_free(&line->pieces);
    array_free(&line->ends);
}

static uint64_t moved(const struct generator *gen, const struct piece *piece, uint64_t repeat)
{
    return piece->moving == STAYS ? 0 : piece->value + repeat * gen->strides[piece->moving];
}

static size_t event_size(const struct generator *gen, const struct piece *piece,
                         const struct piece *end, uint64_t repeat)
{
    size_t size = 0;
    for (; piece < end; piece++) {
        size += piece->size + piece->head + (piece->head > 0);
        if (piece->moving != STAYS)
            size += varint_size(moved(gen, piece, repeat));
    }
    return size;
}

static void put_event(struct generator *gen, const struct piece *piece, const struct piece *end,
                      uint64_t repeat)
{
    struct output *out = &gen->out;
    for (; piece < end; piece++) {
        uint64_t value = moved(gen, piece, repeat);
        output_write(out, (const char *)piece->bytes, piece->size);
        if (piece->head) {
            put_varint(out, piece->head + varint_size(value));
            output_write(out, (const char *)piece->stat, piece->head);
        }
        if (piece->moving != STAYS)
            put_varint(out, value);
    }
}

/* Repeats the line's events; only computes their size if not writing. */
static uint64_t repeat_events(struct generator *gen, const struct line *line, bool write)
{
    uint64_t all = 0;
    for (uint64_t repeat = 0; repeat < gen->repeats; repeat++) {
        size_t from = 0;
        for (size_t i = 0; i < line->ends.count; from = line->ends.items[i++]) {
            const struct piece *first = line->pieces.items + from;
            const struct piece *end = line->pieces.items + line->ends.items[i];
            size_t size = event_size(gen, first, end, repeat);
            all += length_size(size);
            if (!write)
                continue;
            put_length(&gen->out, XLINE_EVENT, size);
            put_event(gen, first, end, repeat);
        }
    }
    return all;
}

/* Copies the fields of a line other than events: those before or after the events. */
static uint64_t copy_fields(struct generator *gen, const struct pb_field *line, bool behind,
                            bool write)
{
    const uint32_t events = PB_TAG(XLINE_EVENT, PB_BYTES);
    uint64_t size = 0;
    struct pb_reader in = pb_enter(line);
    struct pb_field field;
    for (const uint8_t *before = in.at; pb_next(&in, &field); before = in.at) {
        if (field.tag == events || (field.tag > events) != behind)
            continue;
        size += (uint64_t)(in.at - before);
        if (write)
            output_write(&gen->out, (const char *)before, (size_t)(in.at - before));
    }
    return size;
}

static uint64_t put_line(struct generator *gen, const struct line *line,
                         const struct pb_field *bytes, bool write)
{
    uint64_t size = copy_fields(gen, bytes, false, write);
    size += repeat_events(gen, line, write);
    return size + copy_fields(gen, bytes, true, write);
}

static uint64_t repeat_line(struct generator *gen, const struct plane *plane,
                            const struct pb_field *bytes, bool write)
{
    struct line line = take_line(plane, bytes);
    uint64_t size = put_line(gen, &line, bytes, false);
    if (write) {
        put_length(&gen->out, XPLANE_LINE, size);
        put_line(gen, &line, bytes, true);
    }
    free_line(&line);
    return length_size(size);
}

/* "Scope `id` is in scope `value`", for the scopes of each repetition; other stats of that plane
 * are constant. */
static uint64_t repeat_scope(struct generator *gen, const struct pb_field *stat, bool write)
{
    uint64_t id = 0, value = 0, all = 0;
    struct pb_reader in = pb_enter(stat);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(XSTAT_ID, PB_VARINT))
            id = field.value;
        else if (field.tag == PB_TAG(XSTAT_INT, PB_VARINT))
            value = field.value;
    bool scope = id > UINT32_MAX && value > UINT32_MAX;
    for (uint64_t repeat = 0; repeat < (scope ? gen->repeats : 1); repeat++) {
        uint64_t move = repeat * gen->strides[SCOPE];
        size_t size = scope ? 2 + varint_size(id + move) + varint_size(value + move) : stat->value;
        all += length_size(size);
        if (!write)
            continue;
        put_length(&gen->out, XPLANE_STAT, size);
        if (!scope) {
            output_write(&gen->out, (const char *)stat->bytes, stat->value);
            continue;
        }
        pb_put_varint(&gen->out, XSTAT_ID, id + move);
        pb_put_varint(&gen->out, XSTAT_INT, value + move);
    }
    return all;
}

/* A plane stat, as of the end of the last repetition. */
static uint64_t move_stat(struct generator *gen, const struct plane *plane,
                          const struct pb_field *stat, bool write)
{
    static const uint8_t tag = PB_TAG(XPLANE_STAT, PB_BYTES);
    struct line line = {0};
    uint64_t size = length_size(stat->value);
    if (push_moving_stat(&line, plane, &tag, &tag, stat)) {
        const struct piece *piece = line.pieces.items;
        size = event_size(gen, piece, piece + 1, gen->repeats - 1);
        if (write)
            put_event(gen, piece, piece + 1, gen->repeats - 1);
    } else if (write) {
        put_length(&gen->out, XPLANE_STAT, stat->value);
        output_write(&gen->out, (const char *)stat->bytes, stat->value);
    }
    free_line(&line);
    return size;
}

static uint64_t repeat_plane(struct generator *gen, const struct plane *plane,
                             const struct pb_field *bytes, bool write)
{
    uint64_t size = 0;
    struct pb_reader in = pb_enter(bytes);
    struct pb_field field;
    for (const uint8_t *before = in.at; pb_next(&in, &field); before = in.at)
        if (field.tag == PB_TAG(XPLANE_LINE, PB_BYTES))
            size += repeat_line(gen, plane, &field, write);
        else if (field.tag == PB_TAG(XPLANE_STAT, PB_BYTES))
            size += plane->scopes ? repeat_scope(gen, &field, write)
                                  : move_stat(gen, plane, &field, write);
        else {
            size += (uint64_t)(in.at - before);
            if (write)
                output_write(&gen->out, (const char *)before, (size_t)(in.at - before));
        }
    return size;
}

static void widen(struct generator *gen, enum moving moving, uint64_t low, uint64_t high)
{
    uint64_t mask = counting_bits[moving];
    if ((low & mask) < gen->ranges[moving].low)
        gen->ranges[moving].low = low & mask;
    if ((high & mask) > gen->ranges[moving].high)
        gen->ranges[moving].high = high & mask;
}

static void survey_times(struct generator *gen, const struct pb_field *line)
{
    struct pb_reader in = pb_enter(line);
    struct pb_field field, part;
    uint64_t start_ps = 0;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(XLINE_TIMESTAMP, PB_VARINT))
            start_ps = field.value * 1000;
    for (in = pb_enter(line); pb_next(&in, &field);) {
        if (field.tag != PB_TAG(XLINE_EVENT, PB_BYTES))
            continue;
        uint64_t offset = 0, duration = 0;
        struct pb_reader event = pb_enter(&field);
        while (pb_next(&event, &part))
            if (part.tag == PB_TAG(XEVENT_OFFSET, PB_VARINT))
                offset = part.value;
            else if (part.tag == PB_TAG(XEVENT_DURATION, PB_VARINT))
                duration = part.value;
        widen(gen, TIME, start_ps + offset, start_ps + offset + duration);
    }
}

static void survey_line(struct generator *gen, const struct plane *plane,
                        const struct pb_field *bytes)
{
    struct line line = take_line(plane, bytes);
    struct piece *piece;
    array_each (piece, &line.pieces)
        if (piece->moving != STAYS && piece->moving != TIME)
            widen(gen, piece->moving, piece->value, piece->value);
    gen->events += line.ends.count;
    free_line(&line);
    survey_times(gen, bytes);
}

static void survey(struct generator *gen, const struct file *source)
{
    for (size_t i = 0; i < MOVING_COUNT; i++)
        gen->ranges[i].low = UINT64_MAX;
    struct pb_reader in = pb_read(source->data, source->size);
    struct pb_field field, part;
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(XSPACE_PLANE, PB_BYTES))
            continue;
        struct plane plane = survey_plane(&field);
        struct pb_reader fields = pb_enter(&field);
        while (pb_next(&fields, &part))
            if (part.tag == PB_TAG(XPLANE_LINE, PB_BYTES))
                survey_line(gen, &plane, &part);
    }
    for (size_t i = 0; i < MOVING_COUNT; i++)
        if (gen->ranges[i].low <= gen->ranges[i].high)
            gen->strides[i] = gen->ranges[i].high - gen->ranges[i].low + 1;
    const uint64_t pause_ps = 100000000; /* between two repetitions */
    gen->strides[TIME] = (gen->strides[TIME] + pause_ps) / 1000 * 1000;
    gen->strides[STOP] = gen->strides[TIME] / 1000;
}

static void repeat_file(struct generator *gen, const struct file *source)
{
    struct pb_reader in = pb_read(source->data, source->size);
    struct pb_field field;
    for (const uint8_t *before = in.at; pb_next(&in, &field); before = in.at) {
        if (field.tag != PB_TAG(XSPACE_PLANE, PB_BYTES)) {
            output_write(&gen->out, (const char *)before, (size_t)(in.at - before));
            continue;
        }
        struct plane plane = survey_plane(&field);
        put_length(&gen->out, XSPACE_PLANE, repeat_plane(gen, &plane, &field, false));
        repeat_plane(gen, &plane, &field, true);
    }
}

static bool generate(struct generator *gen, uint64_t events, const char *from, const char *to,
                     struct error *err)
{
    struct file source;
    if (!file_open(&source, from, err))
        return false;
    survey(gen, &source);
    gen->repeats = gen->events ? (events + gen->events - 1) / gen->events : 1;
    bool done = output_open(&gen->out, to, err);
    if (done) {
        repeat_file(gen, &source);
        done = output_commit(&gen->out, err);
    }
    file_close(&source);
    return done;
}

int main(int count, char **arguments)
{
    if (count != 5 || strcmp(arguments[1], "--events") != 0) {
        fprintf(stderr, "usage: gen_xplane --events N CAPTURE FILE\n");
        return 2;
    }
    static struct generator gen;
    struct error err;
    char line[ERROR_LINE_SIZE];
    if (!generate(&gen, strtoull(arguments[2], NULL, 10), arguments[3], arguments[4], &err))
        return fprintf(stderr, "%s\n", error_line(&err, line)), 1;
    return 0;
}
