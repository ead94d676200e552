/*
 * Recordings: ntrace.pb. Events are in columnar blocks; an iterator reads all columns of a block in
 * parallel.
 */
#include "capture/recorder/encode.h"
#include "import/recording/recording_passes.h"

enum { NTRACE_NAMES = 2, NTRACE_LANES = 3, NTRACE_BLOCKS = 4 };

/* Columns of a block by their field numbers. */
enum {
    BLOCK_LANE = 1,
    BLOCK_COUNT = 2,
    BLOCK_BASE = 3,
    COLUMN_TIME = 4,
    COLUMN_NAME = 5,
    COLUMN_PHASE = 6,
    COLUMN_CORE = 7,
    COLUMN_TRACKING = 8,
    COLUMN_ARG_COUNT = 9,
    COLUMN_KEY = 10,
    COLUMN_TYPE = 11,
    COLUMN_INT = 12,
    COLUMN_UINT = 13,
    COLUMN_DOUBLE = 14,
    COLUMN_TEXT = 15,
    COLUMN_DURATION = 16,
    COLUMN_END,
};

enum recorded_type { RECORDED_INT = 1, RECORDED_UINT = 2, RECORDED_DOUBLE = 3, RECORDED_TEXT = 4 };

static bool read_name(const struct pb_field *entry, struct catalog *catalog,
                      struct recorded_file *file)
{
    struct pb_reader in = pb_enter(entry);
    struct pb_field field;
    struct recorded_name name = {.string = STRING_NONE, .key = STRING_NONE};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(1, PB_BYTES)) {
            name.string = catalog_string(catalog, pb_text(&field));
            name.key = catalog_key(catalog, pb_text(&field));
            name.is_runtime = neuron_is_call(pb_text(&field));
        } else if (field.tag == PB_TAG(4, PB_VARINT)) {
            name.file = (uint32_t)field.value;
        } else if (field.tag == PB_TAG(5, PB_VARINT)) {
            name.line = (uint32_t)field.value;
        }
    }
    *array_push(&file->names) = name;
    return !in.problem;
}

/* Fields are those of schema/ntrace.proto; unknown ones are skipped. A lane without an end is still
 * open: its end is the largest time. */
static bool read_lane(const struct pb_field *entry, struct catalog *catalog,
                      struct recorded_file *file)
{
    struct pb_reader in = pb_enter(entry);
    struct pb_field field;
    struct recorded_lane lane = {.first_ns = INT64_MAX, .end_ns = INT64_MAX};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(1, PB_VARINT)) {
            lane.is_core = field.value == 2;
        } else if (field.tag == PB_TAG(2, PB_BYTES)) {
            lane.name = catalog_string(catalog, pb_text(&field));
        } else if (field.tag == PB_TAG(3, PB_VARINT)) {
            lane.thread = field.value;
        } else if (field.tag == PB_TAG(4, PB_VARINT)) {
            lane.has_core = true;
            lane.core = (uint32_t)field.value;
        } else if (field.tag == PB_TAG(5, PB_FIXED64)) {
            lane.start_ns = (int64_t)field.value;
        } else if (field.tag == PB_TAG(6, PB_FIXED64)) {
            lane.end_ns = field.value > 0 ? (int64_t)field.value : INT64_MAX;
        } else if (field.tag == PB_TAG(7, PB_VARINT)) {
            lane.place = field.value < PLACES ? (enum lane_place)field.value : PLACE_OWN;
        }
    }
    *array_push(&file->lanes) = lane;
    return !in.problem;
}

/* Whether the events of a lane are shown among those of another, which is its thread's own,
 * otherwise the first of its kind. The system reuses ids of threads that have ended. */
static bool is_shown_in(const struct recorded_lane *lane, const struct recorded_lane *other)
{
    if (other->thread != lane->thread || other->is_core || other->place == PLACE_APART)
        return false;
    if (other->place == PLACE_OWN)
        return other->start_ns <= lane->end_ns && lane->start_ns <= other->end_ns;
    return other->name == lane->name;
}

static void find_places(struct recorded_file *file)
{
    for (uint32_t i = 0; i < file->lanes.count; i++) {
        struct recorded_lane *lane = &file->lanes.items[i];
        lane->shown = i;
        bool is_shared = lane->place == PLACE_SHARED && lane->thread != 0;
        for (uint32_t j = 0; is_shared && j < file->lanes.count; j++) {
            struct recorded_lane *other = &file->lanes.items[j];
            bool is_better = other->place == PLACE_OWN || j < lane->shown;
            if (is_better && is_shown_in(lane, other))
                lane->shown = j;
        }
        if (lane->shown != i && file->lanes.items[lane->shown].place == PLACE_OWN)
            file->lanes.items[lane->shown].name = lane->name;
    }
}

static bool damaged(const struct recorded_file *file, const char *path, const uint8_t *at,
                    const char *problem, struct error *err)
{
    return error_at(err, path, (uint64_t)(at - file->data), "the recording is damaged: %s",
                    problem);
}

bool recorded_layout(struct recorded_file *file, struct catalog *catalog, const char *path,
                     struct error *err)
{
    struct pb_reader in = pb_read(file->data, file->size);
    struct pb_field field;
    *array_push(&file->names) = (struct recorded_name){.key = catalog_key(catalog, TEXT("value"))};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(NTRACE_NAMES, PB_BYTES) && !read_name(&field, catalog, file))
            return damaged(file, path, field.bytes, "a name is not readable", err);
        if (field.tag == PB_TAG(NTRACE_LANES, PB_BYTES) && !read_lane(&field, catalog, file))
            return damaged(file, path, field.bytes, "a lane is not readable", err);
    }
    find_places(file);
    return !in.problem || damaged(file, path, in.at, in.problem, err);
}

void recorded_file_free(struct recorded_file *file)
{
    array_free(&file->names);
    array_free(&file->lanes);
}

struct recorded_walk {
    const struct recorded_file *file;
    struct pb_reader in;
    const uint8_t *block; /* start of the block */
    struct pb_reader columns[COLUMN_END];
    uint64_t lane, left; /* lane: of the block; left: events not read yet */
    int64_t time_ns, tracking_id;
    uint64_t number;
    const char *problem;
    const uint8_t *problem_at;
};

struct recorded_walk *recorded_walk_begin(const struct recorded_file *file)
{
    struct recorded_walk *walk = mem_zeroed(1, sizeof *walk);
    walk->file = file;
    walk->in = pb_read(file->data, file->size);
    return walk;
}

void recorded_walk_end(struct recorded_walk *walk)
{
    mem_free(walk);
}

const char *recorded_walk_problem(const struct recorded_walk *walk, uint64_t *offset)
{
    *offset = walk->problem ? (uint64_t)(walk->problem_at - walk->file->data) : 0;
    return walk->problem;
}

static bool fail(struct recorded_walk *walk, const uint8_t *at, const char *problem)
{
    walk->problem = problem;
    walk->problem_at = at;
    return false;
}

static bool columns_are_done(const struct recorded_walk *walk)
{
    for (size_t i = COLUMN_TIME; i < COLUMN_END; i++)
        if (walk->columns[i].at != walk->columns[i].end)
            return false;
    return true;
}

/* Columns are only located here, and read in parallel by next_event. Times and ids are differences,
 * starting anew in each block, so that blocks can be read alone. */
static bool read_block(struct recorded_walk *walk, const struct pb_field *block)
{
    struct pb_reader in = pb_enter(block);
    struct pb_field field;
    walk->block = block->bytes;
    walk->lane = walk->left = 0;
    walk->time_ns = walk->tracking_id = 0;
    for (size_t i = 0; i < COLUMN_END; i++)
        walk->columns[i] = pb_read(block->bytes, 0);
    while (pb_next(&in, &field)) {
        uint32_t number = field.tag >> 3;
        if (field.tag == PB_TAG(BLOCK_LANE, PB_VARINT))
            walk->lane = field.value;
        else if (field.tag == PB_TAG(BLOCK_COUNT, PB_VARINT))
            walk->left = field.value;
        else if (field.tag == PB_TAG(BLOCK_BASE, PB_FIXED64))
            walk->time_ns = (int64_t)field.value;
        else if (number >= COLUMN_TIME && number < COLUMN_END && (field.tag & 7) == PB_BYTES)
            walk->columns[number] = pb_enter(&field);
        else if (number >= COLUMN_TIME && number < COLUMN_END)
            return fail(walk, in.at, "a column is not packed");
    }
    if (in.problem)
        return fail(walk, in.at, in.problem);
    if (walk->lane >= walk->file->lanes.count)
        return fail(walk, block->bytes, "a block belongs to an unknown lane");
    /* A block may omit columns, but cannot claim more events than its size allows. */
    if (walk->left > UINT32_MAX)
        return fail(walk, block->bytes, "a block has too many events");
    if (walk->left > 0 && walk->columns[COLUMN_TIME].at == walk->columns[COLUMN_TIME].end)
        return fail(walk, block->bytes, "a block has no times");
    mem_touched(block->value);
    return true;
}

/* The next value of a column; 0 when the block does not have the column. */
static inline __attribute__((always_inline)) bool next_number(struct recorded_walk *walk,
                                                              size_t column, uint64_t *number)
{
    struct pb_reader *in = &walk->columns[column];
    *number = 0;
    if (in->at < in->end)
        return pb_varint(in, number) || fail(walk, in->at, in->problem);
    return in->at == walk->block || fail(walk, in->at, "a column is too short");
}

static int64_t zigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static bool next_name(struct recorded_walk *walk, size_t column, uint32_t *name)
{
    uint64_t number;
    if (!next_number(walk, column, &number))
        return false;
    if (number >= walk->file->names.count)
        return fail(walk, walk->columns[column].at, "a name is missing");
    *name = (uint32_t)number;
    return true;
}

static bool next_double(struct recorded_walk *walk, double *number)
{
    struct pb_reader *in = &walk->columns[COLUMN_DOUBLE];
    if (in->end - in->at < 8)
        return fail(walk, in->at, "a column is too short");
    memcpy(number, in->at, 8);
    in->at += 8;
    return true;
}

/* Each type has its own column of values. A counter's value is the arg without a key, and is not
 * among its args. */
static bool next_arg(struct recorded_walk *walk, struct recorded *event)
{
    uint32_t key, text;
    uint64_t type, bits = 0;
    double number = 0;
    if (!next_name(walk, COLUMN_KEY, &key) || !next_number(walk, COLUMN_TYPE, &type))
        return false;
    struct arg arg;
    uint32_t string = walk->file->names.items[key].key;
    switch (type) {
    case RECORDED_INT:
        if (!next_number(walk, COLUMN_INT, &bits))
            return false;
        arg_put(&arg, string, ARG_INT, 0, (uint64_t)zigzag(bits));
        number = (double)zigzag(bits);
        break;
    case RECORDED_UINT:
        if (!next_number(walk, COLUMN_UINT, &bits))
            return false;
        arg_put(&arg, string, ARG_UINT, 0, bits);
        number = (double)bits;
        break;
    case RECORDED_DOUBLE:
        if (!next_double(walk, &number))
            return false;
        memcpy(&bits, &number, sizeof bits);
        arg_put(&arg, string, ARG_DOUBLE, 0, bits);
        break;
    case RECORDED_TEXT:
        if (!next_name(walk, COLUMN_TEXT, &text))
            return false;
        arg_put(&arg, string, ARG_STRING, 0, walk->file->names.items[text].string);
        break;
    default:
        return fail(walk, walk->columns[COLUMN_TYPE].at, "an arg has an unknown type");
    }
    if (key == 0 && event->phase == RECORDED_COUNTER)
        event->value = number;
    else
        *array_push(&event->args) = arg;
    return true;
}

/* Reads one entry of each column; differences wrap, so that a damaged file cannot overflow. At the
 * end of a block every column must be used up: otherwise an earlier event was misread. */
static bool next_event(struct recorded_walk *walk, struct recorded *event)
{
    uint64_t time, phase, core, tracking, args, duration = 0;
    if (!next_number(walk, COLUMN_TIME, &time) || !next_name(walk, COLUMN_NAME, &event->name) ||
        !next_number(walk, COLUMN_PHASE, &phase) || !next_number(walk, COLUMN_CORE, &core) ||
        !next_number(walk, COLUMN_TRACKING, &tracking) ||
        !next_number(walk, COLUMN_ARG_COUNT, &args))
        return false;
    if (phase >= RECORDED_PHASES)
        return fail(walk, walk->columns[COLUMN_PHASE].at, "an event has an unknown phase");
    if (phase == RECORDED_RANGE && !next_number(walk, COLUMN_DURATION, &duration))
        return false;
    const struct recorded_lane *lane = &walk->file->lanes.items[walk->lane];
    walk->time_ns = (int64_t)((uint64_t)walk->time_ns + (uint64_t)zigzag(time));
    walk->tracking_id = (int64_t)((uint64_t)walk->tracking_id + (uint64_t)zigzag(tracking));
    event->lane = (uint32_t)walk->lane;
    event->phase = (enum recorded_phase)phase;
    event->has_core = core > 0 || lane->has_core;
    event->core = core > 0 ? (uint32_t)(core - 1) : lane->core;
    event->time_ns = walk->time_ns;
    event->duration_ns = duration < INT64_MAX ? (int64_t)duration : INT64_MAX;
    event->tracking_id = walk->tracking_id;
    event->value = 0;
    event->args.count = 0;
    event->number = walk->number++;
    for (; args > 0; args--)
        if (!next_arg(walk, event))
            return false;
    walk->left--;
    return walk->left > 0 || columns_are_done(walk) ||
           fail(walk, walk->in.at, "a column has more entries than the block has events");
}

bool recorded_walk_next(struct recorded_walk *walk, struct recorded *event)
{
    struct pb_field field;
    while (walk->left == 0) {
        if (!pb_next(&walk->in, &field))
            return walk->in.problem ? fail(walk, walk->in.at, walk->in.problem) : false;
        if (field.tag == PB_TAG(NTRACE_BLOCKS, PB_BYTES) && !read_block(walk, &field))
            return false;
    }
    return next_event(walk, event);
}
