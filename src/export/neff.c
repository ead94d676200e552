/*
 * `kymo neff info`: header, programs, tensors and queues of an executable.
 */
#include "base/wire/wire.h"
#include "export/export.h"
#include "export/lines.h"

#include <inttypes.h>
#include <stdio.h>

static void format_hex(const uint8_t *bytes, size_t count, char *text)
{
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void export_printable(const char *text, struct output *out)
{
    put_printable(out, text_of(text));
}

struct weights {
    uint32_t count;
    uint64_t bytes;
};

static struct weights weights_of(const struct core_program *program)
{
    struct weights weights = {0};
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (program->variables[i].kind == VARIABLE_WEIGHT) {
            weights.count++;
            weights.bytes += program->variables[i].size;
        }
    return weights;
}

static void put_header_text(const struct neff_info *info, struct output *out)
{
    const struct neff_header *header = &info->header;
    char text[128], size[QUANTITY_SIZE];
    put_labeled(out, "name", header->name);
    put_labeled(out, "made by", header->build_version);
    put_labeled(out, "uuid", format_uuid(header->uuid, text));
    format_hex(header->hash, sizeof header->hash, text);
    put_labeled(out, "hash", text);
    snprintf(text, sizeof text,
             "NEFF %" PRIu64 ".%" PRIu64 ", package %" PRIu64 ", %zu members, %s",
             header->version_major, header->version_minor, header->package_version,
             info->member_count, format_bytes(header->data_size, size));
    put_labeled(out, "format", text);
    snprintf(text, sizeof text, "%u (%u of a logical core)", header->core_count,
             header->logical_core_size);
    put_labeled(out, "cores", text);
    snprintf(text, sizeof text, "%u", info->worker_count);
    put_labeled(out, "workers", text);
    put_labeled(out, "MACs", format_count(info->mac_count, size));
}

/* One row per physical core, as each has a program of its own. */
static void put_programs_text(const struct neff_info *info, const struct text_style *style,
                              struct output *out)
{
    static const struct column columns[] = {
        {"graph", true, false},       {"target", true, false},       {"Tensor", false, false},
        {"Vector", false, false},     {"Scalar", false, false},      {"GpSimd", false, false},
        {"Sync", false, false},       {"DMA blocks", false, false},  {"transfers", false, false},
        {"weights", false, false},    {"weight size", false, false}, {"scratchpad", false, false},
        {"collectives", false, false}};
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < info->program_count; i++) {
        const struct core_program *program = &info->programs[i];
        struct weights weights = weights_of(program);
        char size[QUANTITY_SIZE];
        table_format(&table, "sg%02u", i);
        table_text(&table, text_of(hardware_core(program->core_version)->name));
        for (unsigned k = 0; k < ENGINE_COUNT; k++)
            table_count(&table, program->code_count[k]);
        table_count(&table, program->block_count);
        table_count(&table, program->descriptor_count);
        table_count(&table, weights.count);
        table_text(&table, text_of(format_bytes(weights.bytes, size)));
        table_text(&table, text_of(format_bytes(program->scratchpad_bytes, size)));
        table_count(&table, program->collective_count);
    }
    put_heading(out, style, "Programs: instructions of each engine, and resources");
    table_end(&table, style, out);
}

static void put_variables_text(const struct neff_listing *listing, const struct text_style *style,
                               struct output *out)
{
    static const struct column columns[] = {{"graph", true, false}, {"tensor", true, true},
                                            {"type", true, false},  {"dtype", true, false},
                                            {"shape", true, true},  {"size", false, false}};
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < listing->variable_count; i++) {
        const struct neff_variable *item = &listing->variables[i];
        char size[QUANTITY_SIZE];
        table_text(&table, text_of(item->graph));
        table_text(&table, text_of(item->name));
        table_text(&table, text_of(item->type));
        table_text(&table, text_of(item->dtype));
        table_text(&table, text_of(item->shape));
        table_text(&table, text_of(format_bytes(item->size, size)));
    }
    put_heading(out, style, "Tensors");
    table_end(&table, style, out);
}

static void put_queues_text(const struct neff_listing *listing, const struct text_style *style,
                            struct output *out)
{
    static const struct column columns[] = {{"graph", true, false},
                                            {"DMA queue", true, true},
                                            {"type", true, false},
                                            {"owner", true, false},
                                            {"rings", false, false}};
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < listing->queue_count; i++) {
        const struct neff_queue *item = &listing->queues[i];
        table_text(&table, text_of(item->graph));
        table_text(&table, text_of(item->name));
        table_text(&table, text_of(item->type));
        table_text(&table, text_of(item->owner));
        table_count(&table, item->rings);
    }
    put_heading(out, style, "Queues");
    table_end(&table, style, out);
}

bool export_neff_text(const struct neff *neff, const struct text_style *style, struct output *out,
                      struct error *err)
{
    const struct neff_info *info = neff_info(neff);
    struct neff_listing listing;
    struct error reason;
    if (!neff_list(neff, &listing, err))
        return false;
    put_header_text(info, out);
    if (neff_is_runnable(neff, &reason))
        put_programs_text(info, style, out);
    else
        put_labeled(out, "programs", reason.text);
    if (listing.variable_count > 0)
        put_variables_text(&listing, style, out);
    if (listing.queue_count > 0)
        put_queues_text(&listing, style, out);
    neff_listing_free(&listing);
    return true;
}

static void put_header_json(struct json *json, const struct neff_info *info)
{
    const struct neff_header *header = &info->header;
    char text[128];
    json_put_text(json, "format", TEXT("neff"));
    json_put_text(json, "name", text_of(header->name));
    json_put_text(json, "build_version", text_of(header->build_version));
    json_put_text(json, "uuid", text_of(format_uuid(header->uuid, text)));
    format_hex(header->hash, sizeof header->hash, text);
    json_put_text(json, "hash", text_of(text));
    json_put_uint(json, "package_version", header->package_version);
    json_put_uint(json, "header_size", header->header_size);
    json_put_uint(json, "data_size", header->data_size);
    json_put_uint(json, "version_major", header->version_major);
    json_put_uint(json, "version_minor", header->version_minor);
    json_put_uint(json, "core_count", header->core_count);
    json_put_uint(json, "requested_core_count", header->requested_core_count);
    json_put_uint(json, "feature_bits", header->feature_bits);
    json_put_uint(json, "logical_core_size", header->logical_core_size);
    json_put_uint(json, "worker_count", info->worker_count);
    json_put_uint(json, "mac_count", info->mac_count);
}

static void put_programs_json(struct json *json, const struct neff_info *info)
{
    json_key(json, "programs");
    json_open(json, '[');
    for (uint32_t i = 0; i < info->program_count; i++) {
        const struct core_program *program = &info->programs[i];
        struct weights weights = weights_of(program);
        json_open(json, '{');
        json_put_text(json, "target", text_of(hardware_core(program->core_version)->name));
        json_key(json, "instructions");
        json_open_row(json, '{');
        for (unsigned k = 0; k < ENGINE_COUNT; k++)
            json_put_uint(json, hardware_engine_name((enum engine)k), program->code_count[k]);
        json_close_row(json, '}');
        json_put_uint(json, "dma_blocks", program->block_count);
        json_put_uint(json, "dma_descriptors", program->descriptor_count);
        json_put_uint(json, "weights", weights.count);
        json_put_uint(json, "weight_bytes", weights.bytes);
        json_put_uint(json, "scratchpad_bytes", program->scratchpad_bytes);
        json_put_uint(json, "collectives", program->collective_count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* From the JSON members, so that it also works for files of other compilers, whose programs cannot
 * be read. */
static void put_listing_json(struct json *json, const struct neff_listing *listing)
{
    json_key(json, "tensors");
    json_open(json, '[');
    for (size_t i = 0; i < listing->variable_count; i++) {
        const struct neff_variable *item = &listing->variables[i];
        json_open_row(json, '{');
        json_put_text(json, "graph", text_of(item->graph));
        json_put_text(json, "name", text_of(item->name));
        json_put_text(json, "type", text_of(item->type));
        json_put_text(json, "dtype", text_of(item->dtype));
        json_put_text(json, "shape", text_of(item->shape));
        json_put_uint(json, "size", item->size);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_key(json, "queues");
    json_open(json, '[');
    for (size_t i = 0; i < listing->queue_count; i++) {
        const struct neff_queue *item = &listing->queues[i];
        json_open_row(json, '{');
        json_put_text(json, "graph", text_of(item->graph));
        json_put_text(json, "name", text_of(item->name));
        json_put_text(json, "type", text_of(item->type));
        json_put_text(json, "owner", text_of(item->owner));
        json_put_uint(json, "rings", item->rings);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

bool export_neff_json(const struct neff *neff, struct output *out, struct error *err)
{
    struct neff_listing listing;
    struct json json;
    struct error reason;
    if (!neff_list(neff, &listing, err))
        return false;
    json_begin(&json, out, true);
    json_open(&json, '{');
    put_header_json(&json, neff_info(neff));
    json_key(&json, "runnable");
    json_bool(&json, neff_is_runnable(neff, &reason));
    put_programs_json(&json, neff_info(neff));
    put_listing_json(&json, &listing);
    json_close(&json, '}');
    output_char(out, '\n');
    neff_listing_free(&listing);
    return true;
}
