/*
 * Recordings: parses the session files, message by message.
 */
#include "capture/recorder/encode.h"
#include "import/recording/recording_passes.h"

enum { FIELD_FORMAT = 31 };

/* All of them begin with the name of their format. */
enum session_file session_recognize(const uint8_t *data, size_t size)
{
    static const struct {
        const char *name;
        enum session_file kind;
    } formats[] = {{"kymo.ntrace", SESSION_EVENTS},
                   {"kymo.trace_info", SESSION_INFO},
                   {"kymo.cpu_util", SESSION_CPU},
                   {"kymo.host_mem", SESSION_MEMORY},
                   {"kymo.gpu_trace", SESSION_GPU}};
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    if (!pb_next(&in, &field) || field.tag != PB_TAG(FIELD_FORMAT, PB_BYTES))
        return SESSION_NONE;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (text_equal(pb_text(&field), text_of(formats[i].name)))
            return formats[i].kind;
    return SESSION_NONE;
}

/* Valid times are nanoseconds since 1970, well below 2^63. */
static int64_t time_of(const struct pb_field *field)
{
    return field->value > INT64_MAX ? INT64_MAX : (int64_t)field->value;
}

static struct clock_point clock_sample_of(const struct pb_field *sample)
{
    struct pb_reader in = pb_enter(sample);
    struct pb_field field;
    struct clock_point point = {0};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(3, PB_FIXED64))
            point.device_ns = time_of(&field);
        else if (field.tag == PB_TAG(4, PB_FIXED64))
            point.host_ns = time_of(&field);
    }
    return point;
}

bool session_clock_read(const uint8_t *data, size_t size, struct clock_fit *fit)
{
    struct pb_reader in = pb_read(data, size);
    struct pb_field field, inner;
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(14, PB_BYTES))
            continue;
        struct pb_reader clock = pb_enter(&field);
        while (pb_next(&clock, &inner))
            if (inner.tag == PB_TAG(2, PB_BYTES))
                clock_fit_add(fit, clock_sample_of(&inner));
    }
    if (fit->points.count == 0)
        return false;
    clock_fit_finish(fit);
    return true;
}

bool session_version_check(const uint8_t *data, size_t size, const char *path, struct error *err)
{
    enum { VERSION = 1 };
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(VERSION, PB_VARINT) && field.value > SESSION_VERSION)
            return error_in_file(err, path,
                                 "the recording is of version %llu; this program reads version %d: "
                                 "use a newer one",
                                 (unsigned long long)field.value, SESSION_VERSION);
    return true;
}

/* Fields are those of schema/trace_info.proto; unknown ones are skipped, as they may be added
 * without another version. Texts point into the data. */
bool session_info_read(const uint8_t *data, size_t size, struct session_info *info,
                       struct pb_reader *failed)
{
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    *info = (struct session_info){0};
    while (pb_next(&in, &field)) {
        switch (field.tag) {
        case PB_TAG(2, PB_BYTES):
            info->instance = pb_text(&field);
            break;
        case PB_TAG(4, PB_VARINT):
            info->process = (uint32_t)field.value;
            break;
        case PB_TAG(5, PB_BYTES):
            info->process_name = pb_text(&field);
            break;
        case PB_TAG(6, PB_BYTES):
            info->program = pb_text(&field);
            break;
        case PB_TAG(7, PB_FIXED64):
            info->start_ns = time_of(&field);
            break;
        case PB_TAG(8, PB_FIXED64):
            info->end_ns = time_of(&field);
            break;
        case PB_TAG(11, PB_VARINT):
            info->recovered = field.value != 0;
            break;
        case PB_TAG(15, PB_VARINT):
            info->recorded = field.value;
            break;
        case PB_TAG(16, PB_VARINT):
            info->kept = field.value;
            break;
        case PB_TAG(17, PB_VARINT):
            info->lost = field.value;
            break;
        case PB_TAG(21, PB_VARINT):
            info->rank = (uint32_t)field.value;
            break;
        case PB_TAG(22, PB_VARINT):
            info->world_size = (uint32_t)field.value;
            break;
        case PB_TAG(18, PB_VARINT):
            info->lost_names = field.value;
            break;
        default:
            break;
        }
    }
    *failed = in;
    return !in.problem;
}

void session_lanes_read(const uint8_t *data, size_t size, struct recorded_file *events)
{
    enum { LANES = 19, LOST = 3 };
    struct pb_reader in = pb_read(data, size);
    struct pb_field lane, field;
    for (size_t i = 0; i < events->lanes.count && pb_next(&in, &lane);) {
        if (lane.tag != PB_TAG(LANES, PB_BYTES))
            continue;
        struct pb_reader facts = pb_enter(&lane);
        while (pb_next(&facts, &field))
            if (field.tag == PB_TAG(LOST, PB_VARINT))
                events->lanes.items[i].has_dropped = field.value > 0;
        i++;
    }
}

struct drops session_drops(const struct session_info *info, struct drops gpu)
{
    return (struct drops){.dropped = info->lost + gpu.dropped, .stored = info->kept + gpu.stored};
}

static double float_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

/* The average is passed on first, then each CPU's value. Values without an id are an error; ids
 * without a value are ignored. */
static bool read_cpu_sample(const struct pb_field *sample, usage_point_visit *visit, void *context,
                            struct pb_reader *failed)
{
    struct pb_reader in = pb_enter(sample), ids = pb_read(NULL, 0), values = ids;
    struct pb_field field;
    struct usage_point point = {.is_average = true};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(1, PB_FIXED64))
            point.time_ns = time_of(&field);
        else if (field.tag == PB_TAG(2, PB_FIXED32))
            point.value = float_of((uint32_t)field.value);
        else if (field.tag == PB_TAG(3, PB_BYTES))
            ids = pb_enter(&field);
        else if (field.tag == PB_TAG(4, PB_BYTES))
            values = pb_enter(&field);
    }
    *failed = in;
    if (in.problem)
        return false;
    if (!visit(context, &point))
        return pb_fail(failed, "the file changed while it was being read");
    point.is_average = false;
    uint64_t cpu;
    for (; values.end - values.at >= 4; values.at += 4) {
        uint32_t bits;
        *failed = ids;
        if (!pb_varint(&ids, &cpu) || cpu > UINT32_MAX)
            return pb_fail(failed, "a sample has more values than CPUs");
        memcpy(&bits, values.at, sizeof bits);
        point.cpu = (uint32_t)cpu;
        point.value = float_of(bits);
        if (!visit(context, &point))
            return pb_fail(failed, "the file changed while it was being read");
    }
    return true;
}

static bool read_memory_sample(const struct pb_field *sample, usage_point_visit *visit,
                               void *context, struct pb_reader *failed)
{
    struct pb_reader in = pb_enter(sample);
    struct pb_field field;
    struct usage_point point = {0};
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(1, PB_FIXED64))
            point.time_ns = time_of(&field);
        else if (field.tag == PB_TAG(2, PB_VARINT))
            point.value = (double)field.value;
        else if (field.tag == PB_TAG(3, PB_FIXED32))
            point.percent = float_of((uint32_t)field.value);
    }
    *failed = in;
    return !in.problem &&
           (visit(context, &point) || pb_fail(failed, "the file changed while it was being read"));
}

bool usage_read(enum session_file kind, const uint8_t *data, size_t size, usage_point_visit *visit,
                void *context, struct pb_reader *failed)
{
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(3, PB_BYTES))
            continue;
        bool ok = kind == SESSION_CPU ? read_cpu_sample(&field, visit, context, failed)
                                      : read_memory_sample(&field, visit, context, failed);
        if (!ok)
            return false;
    }
    *failed = in;
    return !in.problem;
}
