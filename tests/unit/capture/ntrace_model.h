/*
 * Reader of ntrace.pb and trace_info.pb, written from schema/, for the recorder tests.
 */
#ifndef KYMO_UNIT_NTRACE_MODEL_H
#define KYMO_UNIT_NTRACE_MODEL_H

#include "support.h"

#include "base/wire/wire.h"

struct model_arg {
    struct text key;
    unsigned type;
    uint64_t value;   /* of numbers; doubles as their bits */
    struct text text; /* of texts */
};

struct model_event {
    uint32_t lane;
    int64_t time_ns;
    uint64_t duration_ns; /* of a range */
    struct text name;
    unsigned phase, core; /* core as in the file: plus 1 */
    uint64_t id;
    size_t first_arg, args;
};

struct model_lane {
    struct text name;
    uint64_t kind, thread, place;
    uint64_t recorded, kept, lost;
};

struct ntrace {
    struct file file, info_file;
    ARRAY(struct text) names;
    ARRAY(struct model_lane) lanes;
    ARRAY(struct model_event) events;
    ARRAY(struct model_arg) args;
    uint64_t recorded, kept, lost, lost_names, recovered, pid;
};

struct numbers {
    uint64_t *items;
    size_t count;
};

static struct numbers model_column(const struct pb_field *field)
{
    struct numbers numbers = {.items = calloc(field->value + 1, sizeof *numbers.items)};
    struct pb_reader in = pb_enter(field);
    while (in.at < in.end)
        assert_true(pb_varint(&in, &numbers.items[numbers.count++]));
    return numbers;
}

static int64_t model_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static struct text model_name(const struct ntrace *trace, uint64_t number)
{
    assert_true(number <= trace->names.count);
    return number == 0 ? (struct text){0} : trace->names.items[number - 1];
}

static void model_block(struct ntrace *trace, const struct pb_field *block)
{
    struct numbers column[17] = {0};
    struct text doubles = {0};
    uint64_t lane = 0, count = 0, base_ns = 0;
    struct pb_field field;
    struct pb_reader in = pb_enter(block);
    while (pb_next(&in, &field)) {
        uint32_t number = field.tag >> 3;
        if (number == 1)
            lane = field.value;
        else if (number == 2)
            count = field.value;
        else if (number == 3)
            base_ns = field.value;
        else if (number == 14)
            doubles = pb_text(&field);
        else
            column[number] = model_column(&field);
    }
    assert_null(in.problem);
    assert_true(lane < trace->lanes.count);
    assert_int_equal(column[4].count, count);
    assert_int_equal(column[5].count, count);
    assert_int_equal(column[6].count, count);
    int64_t time_ns = (int64_t)base_ns;
    uint64_t id = 0;
    size_t arg = 0, range = 0, used[5] = {0};
    for (size_t i = 0; i < count; i++) {
        time_ns += model_unzigzag(column[4].items[i]);
        id += column[8].count ? (uint64_t)model_unzigzag(column[8].items[i]) : 0;
        *array_push(&trace->events) = (struct model_event){
            .lane = (uint32_t)lane,
            .time_ns = time_ns,
            .name = model_name(trace, column[5].items[i]),
            .phase = (unsigned)column[6].items[i],
            .core = column[7].count ? (unsigned)column[7].items[i] : 0,
            .id = id,
            .first_arg = trace->args.count,
            .args = column[9].count ? column[9].items[i] : 0,
        };
        if (column[6].items[i] == 9) {
            assert_true(range < column[16].count);
            struct model_event *last = &trace->events.items[trace->events.count - 1];
            last->duration_ns = column[16].items[range++];
        }
        for (size_t n = column[9].count ? column[9].items[i] : 0; n > 0; n--, arg++) {
            assert_true(arg < column[10].count && arg < column[11].count);
            struct model_arg *out = array_push(&trace->args);
            *out = (struct model_arg){.key = model_name(trace, column[10].items[arg]),
                                      .type = (unsigned)column[11].items[arg]};
            size_t at = used[out->type]++;
            if (out->type == 1)
                out->value = (uint64_t)model_unzigzag(column[12].items[at]);
            else if (out->type == 2)
                out->value = column[13].items[at];
            else if (out->type == 3)
                memcpy(&out->value, doubles.data + at * 8, 8);
            else
                out->text = model_name(trace, column[15].items[at]);
        }
    }
    assert_int_equal(arg, column[10].count);
    assert_int_equal(range, column[16].count);
    for (size_t i = 0; i < COUNT_OF(column); i++)
        free(column[i].items);
}

static struct text model_text(const struct pb_field *message, uint32_t wanted, uint64_t *numbers)
{
    struct text text = {0};
    struct pb_field field;
    struct pb_reader in = pb_enter(message);
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(wanted, PB_BYTES))
            text = pb_text(&field);
        else if ((field.tag & 7) == PB_VARINT && field.tag >> 3 < 8)
            numbers[field.tag >> 3] = field.value;
    }
    assert_null(in.problem);
    return text;
}

static void model_info(struct ntrace *trace, const char *directory)
{
    char path[8192];
    struct error err;
    snprintf(path, sizeof path, "%s/trace_info.pb", directory);
    assert_true(file_open(&trace->info_file, path, &err));
    struct pb_reader in = pb_read(trace->info_file.data, trace->info_file.size);
    struct pb_field field;
    size_t lane = 0;
    while (pb_next(&in, &field)) {
        uint64_t numbers[8] = {0};
        switch (field.tag >> 3) {
        case 4:
            trace->pid = field.value;
            break;
        case 11:
            trace->recovered = field.value;
            break;
        case 15:
            trace->recorded = field.value;
            break;
        case 16:
            trace->kept = field.value;
            break;
        case 17:
            trace->lost = field.value;
            break;
        case 18:
            trace->lost_names = field.value;
            break;
        case 19:
            assert_true(lane < trace->lanes.count);
            model_text(&field, 99, numbers);
            trace->lanes.items[lane].recorded = numbers[1];
            trace->lanes.items[lane].kept = numbers[2];
            trace->lanes.items[lane++].lost = numbers[3];
            break;
        default:
            break;
        }
    }
    assert_null(in.problem);
    assert_int_equal(lane, trace->lanes.count);
}

/* Invariants of every capture: every event is accounted for. */
static void model_check(const struct ntrace *trace)
{
    uint64_t recorded = 0, kept = 0;
    uint64_t *seen = calloc(trace->lanes.count + 1, sizeof *seen);
    for (size_t i = 0; i < trace->events.count; i++)
        seen[trace->events.items[i].lane]++;
    for (size_t i = 0; i < trace->lanes.count; i++) {
        const struct model_lane *lane = &trace->lanes.items[i];
        assert_int_equal(lane->recorded, lane->kept + lane->lost);
        assert_int_equal(lane->kept, seen[i]);
        recorded += lane->recorded;
        kept += lane->kept;
    }
    assert_int_equal(trace->kept, kept);
    assert_int_equal(trace->kept, trace->events.count);
    assert_int_equal(trace->recorded, trace->kept + trace->lost);
    assert_true(trace->recorded >= recorded);
    free(seen);
}

static void model_read(struct ntrace *trace, const char *directory)
{
    char path[8192];
    struct error err;
    *trace = (struct ntrace){0};
    snprintf(path, sizeof path, "%s/ntrace.pb", directory);
    assert_true(file_open(&trace->file, path, &err));
    struct pb_reader in = pb_read(trace->file.data, trace->file.size);
    struct pb_field field;
    while (pb_next(&in, &field)) {
        uint64_t numbers[8] = {0};
        if (field.tag == PB_TAG(2, PB_BYTES)) {
            struct text text = model_text(&field, 1, numbers);
            *array_push(&trace->names) = text;
        } else if (field.tag == PB_TAG(3, PB_BYTES)) {
            struct text text = model_text(&field, 2, numbers);
            *array_push(&trace->lanes) = (struct model_lane){
                .name = text, .kind = numbers[1], .thread = numbers[3], .place = numbers[7]};
        } else if (field.tag == PB_TAG(4, PB_BYTES)) {
            model_block(trace, &field);
        }
    }
    assert_null(in.problem);
    model_info(trace, directory);
    model_check(trace);
}

static void model_free(struct ntrace *trace)
{
    array_free(&trace->names);
    array_free(&trace->lanes);
    array_free(&trace->events);
    array_free(&trace->args);
    file_close(&trace->file);
    file_close(&trace->info_file);
}

static inline bool model_is(struct text text, const char *expected)
{
    return text_equal(text, text_of(expected));
}

#endif
