/*
 * A module's memory in the form of XProf's memory_viewer. Fields that are zero or empty are left
 * out, and 64-bit integers are strings, as protobuf's JSON has them.
 */
#include "hlo/memory.h"
#include "hlo/text.h"

#include <inttypes.h>
#include <stdio.h>

enum { SMALL_BUFFER = 16 << 10 };

static double mib(int64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void put_double(struct json *json, const char *key, double value)
{
    if (value != 0)
        json_put_double(json, key, value);
}

static void put_mib(struct json *json, const char *key, int64_t bytes)
{
    put_double(json, key, mib(bytes));
}

static void put_int(struct json *json, const char *key, int64_t value)
{
    if (value != 0)
        json_put_int(json, key, value);
}

static void put_some(struct json *json, const char *key, struct text value)
{
    if (value.size > 0)
        json_put_text(json, key, value);
}

static void put_number_text(struct json *json, int64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    json_text(json, (struct text){digits, (size_t)size});
}

static struct text shape_text(struct output *scratch, const struct hlo_buffer *buffer)
{
    scratch->size = 0;
    hlo_put_shape(scratch, buffer->shape, true);
    return (struct text){scratch->data, scratch->size};
}

/* "fusion.3{0}": the instruction, and where in its result. */
static struct text place_text(struct output *scratch, const struct hlo_module *module,
                              const struct hlo_buffer *buffer)
{
    scratch->size = 0;
    put_text(scratch, module->instructions.items[buffer->instruction].name);
    if (buffer->path_size > 0)
        put_list(scratch, buffer->path, buffer->path_size);
    return (struct text){scratch->data, scratch->size};
}

/* Callers, from the instruction outward. */
static void put_frames(struct json *json, struct output *scratch, const struct hlo_module *module,
                       uint32_t frame)
{
    scratch->size = 0;
    for (size_t i = 0; frame > 0 && frame <= module->frames.count && i < module->frames.count;
         i++) {
        const struct hlo_frame *at = &module->frames.items[frame - 1];
        if (i > 0)
            output_char(scratch, '\n');
        put_text(scratch, at->file);
        output_format(scratch, ":%u:%u", at->line, at->column);
        frame = at->parent;
    }
    put_some(json, "stackFrame", (struct text){scratch->data, scratch->size});
}

static void put_source(struct json *json, struct output *scratch, const struct hlo_module *module,
                       const struct hlo_instruction *at)
{
    struct text file = at->file;
    uint32_t line = at->line;
    if (file.size == 0 && at->frame > 0 && at->frame <= module->frames.count) {
        file = module->frames.items[at->frame - 1].file;
        line = module->frames.items[at->frame - 1].line;
    }
    if (file.size == 0)
        return;
    json_key(json, "sourceInfo");
    json_open(json, '{');
    json_put_text(json, "fileName", file);
    put_int(json, "lineNumber", line);
    put_frames(json, scratch, module, at->frame);
    json_close(json, '}');
}

/* Live at the peak: a buffer, or all small ones together. */
struct heap_object {
    const struct hlo_buffer *buffer; /* NULL: the small ones */
    int64_t size;
    uint32_t number;
};

struct peak {
    struct heap_object *objects;
    uint32_t *by_size; /* numbers of objects */
    uint32_t count;
};

static bool is_larger(const void *a, const void *b, const void *context)
{
    const struct heap_object *objects = context;
    return objects[*(const uint32_t *)a].size > objects[*(const uint32_t *)b].size;
}

/* Small buffers are merged into one object, as in XProf. The caller frees both lists. */
static struct peak find_peak(const struct hlo_memory *memory)
{
    struct peak peak = {
        .objects = mem_alloc((memory->peak.count + 1) * sizeof *peak.objects),
        .by_size = mem_alloc((memory->peak.count + 1) * sizeof *peak.by_size),
    };
    int64_t small = 0;
    for (size_t i = 0; i < memory->peak.count; i++) {
        const struct hlo_buffer *buffer = &memory->buffers.items[memory->peak.items[i]];
        if (buffer->size < SMALL_BUFFER) {
            small += buffer->size;
            continue;
        }
        peak.objects[peak.count] = (struct heap_object){buffer, buffer->size, peak.count};
        peak.count++;
    }
    if (small > 0) {
        peak.objects[peak.count] = (struct heap_object){NULL, small, peak.count};
        peak.count++;
    }
    for (uint32_t i = 0; i < peak.count; i++)
        peak.by_size[i] = i;
    sort_items(peak.by_size, peak.count, sizeof *peak.by_size, is_larger, peak.objects);
    return peak;
}

/* The names of fields and the form of the label are XProf's. */
static void put_object(struct json *json, struct output *scratch, const struct hlo_module *module,
                       const struct hlo_memory *memory, const struct heap_object *object)
{
    json_open(json, '{');
    json_put_int(json, "numbered", object->number);
    if (!object->buffer) {
        char label[40];
        snprintf(label, sizeof label, "small (<%d bytes)", SMALL_BUFFER);
        json_put_text(json, "label", text_of(label));
        json_put_int(json, "logicalBufferId", -1);
        put_mib(json, "logicalBufferSizeMib", object->size);
        json_close(json, '}');
        return;
    }
    const struct hlo_buffer *buffer = object->buffer;
    const struct hlo_instruction *at = &module->instructions.items[buffer->instruction];
    scratch->size = 0;
    put_text(scratch, at->name);
    output_text(scratch, ": ");
    hlo_put_shape(scratch, buffer->shape, true);
    output_text(scratch, " # ");
    put_text(scratch, at->op_name);
    json_put_text(json, "label", (struct text){scratch->data, scratch->size});
    put_int(json, "logicalBufferId", buffer->id);
    put_mib(json, "logicalBufferSizeMib", buffer->size);
    put_mib(json, "unpaddedShapeMib", buffer->unpadded_size);
    json_put_text(json, "instructionName", place_text(scratch, module, buffer));
    json_put_text(json, "shapeString", shape_text(scratch, buffer));
    put_some(json, "tfOpName", at->op_name);
    json_put_text(
        json, "groupName",
        text_of(hlo_memory_group_name(memory->allocations.items[buffer->allocation].group)));
    put_some(json, "opCode", at->opcode_name);
    put_source(json, scratch, module, at);
    json_close(json, '}');
}

static void put_objects(struct json *json, struct output *scratch, const struct hlo_module *module,
                        const struct hlo_memory *memory, const struct peak *peak)
{
    if (peak->count == 0)
        return;
    json_key(json, "maxHeap");
    json_open(json, '[');
    for (uint32_t i = 0; i < peak->count; i++)
        put_object(json, scratch, module, memory, &peak->objects[i]);
    json_close(json, ']');
    json_key(json, "maxHeapBySize");
    json_open(json, '[');
    for (uint32_t i = 0; i < peak->count; i++)
        put_object(json, scratch, module, memory, &peak->objects[peak->by_size[i]]);
    json_close(json, ']');
}

static void put_orders(struct json *json, const struct peak *peak)
{
    if (peak->count == 0)
        return;
    uint32_t *places = mem_alloc(peak->count * sizeof *places);
    for (uint32_t i = 0; i < peak->count; i++)
        places[peak->by_size[i]] = i;
    json_key(json, "maxHeapToBySize");
    json_open(json, '[');
    for (uint32_t i = 0; i < peak->count; i++)
        json_uint(json, places[i]);
    json_close(json, ']');
    json_key(json, "bySizeToMaxHeap");
    json_open(json, '[');
    for (uint32_t i = 0; i < peak->count; i++)
        json_uint(json, peak->by_size[i]);
    json_close(json, ']');
    mem_free(places);
}

static void put_sizes(struct json *json, const char *key, const int64_t *bytes, size_t count,
                      int64_t permanent)
{
    if (count == 0)
        return;
    json_key(json, key);
    json_open(json, '[');
    for (size_t i = 0; i < count; i++)
        json_double(json, mib(bytes[i]) + mib(permanent));
    json_close(json, ']');
}

static void put_spans(struct json *json, const struct hlo_memory *memory)
{
    const struct hlo_buffer *buffer;
    bool is_first = true;
    array_each (buffer, &memory->buffers) {
        char key[24];
        if (buffer->start < 0)
            continue;
        if (is_first) {
            json_key(json, "logicalBufferSpans");
            json_open(json, '{');
        }
        is_first = false;
        snprintf(key, sizeof key, "%" PRId64, buffer->id);
        json_key(json, key);
        json_open(json, '{');
        put_int(json, "start", buffer->start);
        put_int(json, "limit", buffer->limit);
        json_close(json, '}');
    }
    if (!is_first)
        json_close(json, '}');
}

/* The file may assign a buffer that no instruction of the module makes: then only its id and size
 * are written. */
static void put_assigned(struct json *json, struct output *scratch, const struct hlo_module *module,
                         const struct hlo_memory *memory, struct pb_reader assigned)
{
    uint32_t index = idmap_get(&memory->by_id, (uint64_t)hlo_number(assigned, 1));
    const struct hlo_buffer *buffer = index == IDMAP_NONE ? NULL : &memory->buffers.items[index];
    int64_t id = hlo_number(assigned, 1);
    json_open(json, '{');
    if (id != 0) {
        json_key(json, "id");
        put_number_text(json, id);
    }
    if (buffer)
        json_put_text(json, "shape", shape_text(scratch, buffer));
    put_mib(json, "sizeMib", hlo_number(assigned, 3));
    if (buffer) {
        put_some(json, "hloName", module->instructions.items[buffer->instruction].name);
        if (buffer->path_size > 0) {
            json_key(json, "shapeIndex");
            json_open(json, '[');
            for (uint32_t i = 0; i < buffer->path_size; i++)
                put_number_text(json, buffer->path[i]);
            json_close(json, ']');
        }
    }
    json_close(json, '}');
}

/* The shape that all buffers of an allocation have; empty when they differ. */
static struct text common_shape(struct output *scratch, const struct hlo_memory *memory,
                                struct pb_reader in)
{
    struct output first;
    struct pb_field field;
    bool is_common = true, has_first = false;
    output_memory(&first);
    while (is_common && pb_next(&in, &field)) {
        if (field.tag != PB_TAG(9, PB_BYTES))
            continue;
        uint32_t index = idmap_get(&memory->by_id, (uint64_t)hlo_number(pb_enter(&field), 1));
        struct text shape = index == IDMAP_NONE
                                ? (struct text){0}
                                : shape_text(scratch, &memory->buffers.items[index]);
        if (!has_first)
            put_text(&first, shape);
        else
            is_common = text_equal(shape, (struct text){first.data, first.size});
        has_first = true;
    }
    scratch->size = 0;
    if (is_common)
        output_write(scratch, first.data, first.size);
    output_discard(&first);
    return (struct text){scratch->data, scratch->size};
}

/* Attributes have XProf's wording. The list of buffers is opened with its first item, since empty
 * fields are left out. */
static void put_lifetime(struct json *json, struct output *scratch, const struct hlo_module *module,
                         const struct hlo_memory *memory, const struct hlo_allocation *allocation)
{
    struct pb_reader in = allocation->bytes;
    struct pb_field field;
    bool is_first = true;
    json_open(json, '{');
    if (allocation->index != 0) {
        json_key(json, "id");
        put_number_text(json, allocation->index);
    }
    put_mib(json, "sizeMib", allocation->size);
    json_key(json, "attributes");
    json_open(json, '[');
    if (allocation->is_parameter)
        json_text(json, TEXT("entry computation parameter"));
    if (allocation->is_output)
        json_text(json, TEXT("may-be live out"));
    if (!allocation->is_thread_local && !allocation->is_tuple)
        json_text(json, TEXT("reusable"));
    json_close(json, ']');
    while (pb_next(&in, &field)) {
        if (field.tag != PB_TAG(9, PB_BYTES))
            continue;
        if (is_first) {
            json_key(json, "logicalBuffers");
            json_open(json, '[');
        }
        put_assigned(json, scratch, module, memory, pb_enter(&field));
        is_first = false;
    }
    if (!is_first)
        json_close(json, ']');
    put_some(json, "commonShape", common_shape(scratch, memory, allocation->bytes));
    json_close(json, '}');
}

static void put_lifetimes(struct json *json, struct output *scratch,
                          const struct hlo_module *module, const struct hlo_memory *memory)
{
    const struct hlo_allocation *allocation;
    bool is_first = true;
    array_each (allocation, &memory->allocations) {
        if (!hlo_is_permanent(memory, allocation))
            continue;
        if (is_first) {
            json_key(json, "indefiniteLifetimes");
            json_open(json, '[');
        }
        put_lifetime(json, scratch, module, memory, allocation);
        is_first = false;
    }
    if (!is_first)
        json_close(json, ']');
}

/* Hues as far apart as possible, in steps of the golden angle. */
static void put_color(struct json *json, uint32_t number)
{
    double hue = (double)(number % 1000) * 137.508;
    double sector = hue / 60 - 6 * (double)(int64_t)(hue / 360);
    double rest = sector - (double)(int64_t)sector;
    int low = 96, high = 216, up = low + (int)(rest * (high - low)), down = high + low - up;
    const int colors[6][3] = {{high, up, low},   {down, high, low}, {low, high, up},
                              {low, down, high}, {up, low, high},   {high, low, down}};
    const int *rgb = colors[(int)sector % 6];
    char text[16];
    snprintf(text, sizeof text, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    json_put_text(json, "color", text_of(text));
}

static void put_block(struct json *json, struct output *scratch, const struct hlo_module *module,
                      const struct hlo_memory *memory, const struct hlo_buffer *buffer,
                      int64_t base)
{
    const struct hlo_instruction *at = &module->instructions.items[buffer->instruction];
    json_open(json, '{');
    put_int(json, "logicalBufferId", buffer->id);
    json_put_text(json, "name", place_text(scratch, module, buffer));
    put_double(json, "offset", (double)add_saturated(base, buffer->offset));
    put_double(json, "size", (double)buffer->size);
    put_int(json, "startStep", buffer->start);
    put_int(json, "endStep", buffer->limit);
    put_some(json, "tfOpName", at->op_name);
    json_put_text(
        json, "category",
        text_of(hlo_memory_group_name(memory->allocations.items[buffer->allocation].group)));
    put_source(json, scratch, module, at);
    json_put_text(json, "shapeString", shape_text(scratch, buffer));
    put_double(json, "unpaddedSize", (double)buffer->unpadded_size);
    put_color(json, (uint32_t)(buffer - memory->buffers.items));
    json_close(json, '}');
}

static void put_container(struct json *json, const struct hlo_allocation *allocation,
                          const struct hlo_memory *memory, int64_t base)
{
    struct text group = text_of(hlo_memory_group_name(allocation->group));
    json_open(json, '{');
    json_put_int(json, "logicalBufferId", -1);
    json_put_text(json, "name", group);
    put_double(json, "offset", (double)base);
    put_double(json, "size", (double)allocation->size);
    put_int(json, "endStep", (int64_t)memory->heap_bytes.count - 1);
    json_put_text(json, "category", group);
    json_put_text(json, "color", TEXT("#ffffff"));
    json_close(json, '}');
}

/* Which buffer occupies which part of a shared allocation, and when. */
static void put_blocks(struct json *json, struct output *scratch, const struct hlo_module *module,
                       const struct hlo_memory *memory)
{
    int64_t base = 0;
    if (memory->heap_bytes.count == 0)
        return;
    json_key(json, "bufferBlocks");
    json_open(json, '[');
    for (uint32_t i = 0; i < memory->allocations.count; i++) {
        const struct hlo_allocation *allocation = &memory->allocations.items[i];
        struct pb_reader in = allocation->bytes;
        struct pb_field field;
        if (allocation->is_permanent || allocation->space != memory->space)
            continue;
        put_container(json, allocation, memory, base);
        while (pb_next(&in, &field)) {
            if (field.tag != PB_TAG(9, PB_BYTES))
                continue;
            uint32_t index = idmap_get(&memory->by_id, (uint64_t)hlo_number(pb_enter(&field), 1));
            if (index == IDMAP_NONE || memory->buffers.items[index].start < 0)
                continue;
            put_block(json, scratch, module, memory, &memory->buffers.items[index], base);
        }
        base = add_saturated(base, allocation->size);
    }
    json_close(json, ']');
}

static void put_instructions(struct json *json, const struct hlo_memory *memory)
{
    if (memory->instructions.count == 0)
        return;
    json_key(json, "hloInstructionNames");
    json_open(json, '[');
    for (size_t i = 0; i < memory->instructions.count; i++)
        json_text(json, memory->instructions.items[i]);
    json_close(json, ']');
}

/* "key":"123" or "key":123 after a position of a configuration. */
static int64_t config_number(const char *at, const char *end, const char *key)
{
    const char *found = memmem(at, (size_t)(end - at), key, strlen(key));
    int64_t value = 0;
    if (!found)
        return 0;
    for (found += strlen(key); found < end && (*found == '"' || *found == ':'); found++)
        continue;
    for (; found < end && *found >= '0' && *found <= '9' && value < INT64_MAX / 16; found++)
        value = value * 10 + (*found - '0');
    return value;
}

/* The most memory of the space that a TPU instruction uses while it runs. */
static int64_t scoped_bytes(struct text config, int64_t space)
{
    static const char key[] = "\"used_scoped_memory_configs\":[";
    const char *at = config.size ? memmem(config.data, config.size, key, sizeof key - 1) : NULL;
    int64_t most = 0;
    const char *close = at ? memchr(at, ']', (size_t)(config.data + config.size - at)) : NULL;
    while (close && (at = memchr(at, '{', (size_t)(close - at)))) {
        const char *last = memchr(at, '}', (size_t)(close - at));
        if (!last)
            break;
        int64_t size = config_number(at, last, "\"size\"");
        if (config_number(at, last, "\"memory_space\"") == space && size > most)
            most = size;
        at = last;
    }
    return most;
}

static void put_scoped(struct json *json, const struct hlo_module *module, int64_t space)
{
    const struct hlo_instruction *at;
    int64_t most = 0;
    if (space != 1)
        return;
    array_each (at, &module->instructions) {
        int64_t bytes = scoped_bytes(hlo_text(at->bytes, HLO_BACKEND_CONFIG), space);
        most = bytes > most ? bytes : most;
    }
    put_mib(json, "maxScopedVmemAllocationMib", most);
}

/* Permanent buffers are added to each size of the heap, as the trace does not contain them. */
void hlo_memory_json(struct output *out, const struct hlo_module *module,
                     const struct hlo_memory *memory)
{
    struct json json;
    struct output scratch;
    struct peak peak = find_peak(memory);
    output_memory(&scratch);
    json_begin(&json, out, false);
    json_open(&json, '{');
    put_sizes(&json, "heapSizes", memory->heap_bytes.items, memory->heap_bytes.count,
              memory->permanent_bytes);
    put_sizes(&json, "unpaddedHeapSizes", memory->unpadded_bytes.items,
              memory->unpadded_bytes.count, memory->permanent_bytes);
    put_objects(&json, &scratch, module, memory, &peak);
    put_spans(&json, memory);
    put_orders(&json, &peak);
    put_some(&json, "moduleName", module->name);
    put_some(&json, "entryComputationName", hlo_text(module->bytes, 2));
    put_double(&json, "peakHeapMib", mib(memory->peak_bytes) + mib(memory->permanent_bytes));
    put_double(&json, "peakUnpaddedHeapMib",
               mib(memory->peak_unpadded_bytes) + mib(memory->permanent_bytes));
    put_int(&json, "peakHeapSizePosition", memory->peak_position);
    put_mib(&json, "entryComputationParametersMib", memory->parameter_bytes);
    put_mib(&json, "nonReusableMib", memory->fixed_bytes);
    put_mib(&json, "maybeLiveOutMib", memory->output_bytes);
    put_lifetimes(&json, &scratch, module, memory);
    put_mib(&json, "totalBufferAllocationMib", memory->total_bytes);
    put_mib(&json, "indefiniteBufferAllocationMib", memory->permanent_bytes);
    put_instructions(&json, memory);
    put_scoped(&json, module, memory->space);
    put_blocks(&json, &scratch, module, memory);
    json_close(&json, '}');
    output_discard(&scratch);
    mem_free(peak.objects);
    mem_free(peak.by_size);
}
