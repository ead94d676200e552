/*
 * A device profile as JSON, in the published form: lists of records by kind. Times are nanoseconds
 * since the first execution's start. One execution is in memory at a time.
 */
#include "export/describe.h"

#include <stdio.h>

struct writer {
    const struct device_json_options *options;
    const struct device_analysis *analysis;
    const struct device_profile *profile;
    const struct core_program *program;
    struct json *json;
    char subgraph[16]; /* "sg00" */
};

static void put(struct writer *writer, const char *key, const char *text)
{
    json_put_text(writer->json, key, text_of(text));
}

static void put_time(struct writer *writer, int64_t start_ps, int64_t end_ps)
{
    int64_t start_ns = whole_ns(start_ps);
    json_put_int(writer->json, "timestamp", start_ns);
    json_put_int(writer->json, "duration", whole_ns(end_ps) - start_ns);
}

static void put_place(struct writer *writer, const char *key, const struct origin *origin,
                      bool is_known)
{
    char place[512];
    json_key(writer->json, key);
    snprintf(place, sizeof place, "%s:%u", origin->file, origin->line);
    if (is_known)
        json_text(writer->json, text_of(place));
    else
        json_null(writer->json);
}

static void put_origin(struct writer *writer, uint32_t index)
{
    static const struct origin none = {
        .layer = "", .operation = "", .opcode = "", .framework = "", .file = ""};
    const struct origin *origin =
        index < writer->program->origin_count ? &writer->program->origins[index] : &none;
    struct json *json = writer->json;
    put(writer, "hlo_name", origin->operation);
    put(writer, "layer", origin->layer);
    put(writer, "framework_name", origin->framework);
    json_key(json, "stack_frame_ids");
    json_open(json, '[');
    for (uint32_t frame = origin->stack_frame, depth = 0;
         frame > 0 && frame <= writer->program->frame_count && depth < 64; depth++) {
        json_uint(json, frame - 1);
        frame = writer->program->frames[frame - 1].parent;
    }
    json_close(json, ']');
    bool is_nki = writer->analysis->is_nki && index < writer->program->origin_count &&
                  writer->analysis->is_nki[index];
    put_place(writer, "bir_debug_info_source_location", origin, origin->file[0] != '\0');
    put_place(writer, "nki_source_location", origin, is_nki);
}

/* Keys are the published ones. Compiler and hardware names are the same here, as Kymo's compiler
 * does not rename opcodes. */
static void put_instruction(struct writer *writer, unsigned engine,
                            const struct device_instruction *item)
{
    struct json *json = writer->json;
    const struct instruction *code = &writer->program->code[engine][item->pc];
    const struct instruction_facts *facts = &writer->profile->facts[engine][item->pc];
    char operands[1024];
    size_t size =
        device_operands(writer->program, (enum engine)engine, item->pc, operands, sizeof operands);
    const char *opcode = opcode_name((enum opcode)code->opcode);
    const char *row = facts->is_matmul ? "TensorMatrix" : hardware_engine_name((enum engine)engine);
    json_open_row(json, '{');
    put_time(writer, item->start_ps, item->end_ps);
    put(writer, "label", row);
    put(writer, "subgroup", row);
    put(writer, "subgraph", writer->subgraph);
    json_put_uint(json, "pc", item->pc);
    put(writer, "opcode", opcode);
    json_put_text(json, "operands", (struct text){operands, size});
    put(writer, "compiler_opcode", opcode);
    json_put_text(json, "compiler_operands", (struct text){operands, size});
    put_origin(writer, code->origin);
    json_put_int(json, "evt_wait_time", whole_ns(item->wait_ps));
    json_put_uint(json, "sbuf_read_bytes", facts->sbuf_read);
    json_put_uint(json, "sbuf_write_bytes", facts->sbuf_write);
    json_put_uint(json, "psum_read_bytes", facts->psum_read);
    json_put_uint(json, "psum_write_bytes", facts->psum_write);
    json_put_uint(json, "raw_flops", facts->flops);
    json_close_row(json, '}');
}

/* "SB", "PSUM", or the kind of the variable. */
static const char *place_of(const struct core_program *program, const struct dma_end *end)
{
    static const char *const kinds[] = {"INPUT", "OUTPUT", "WEIGHT", "VIRTUAL"};
    return end->memory == MEMORY_SBUF   ? "SB"
           : end->memory == MEMORY_PSUM ? "PSUM"
                                        : kinds[program->variables[end->variable].kind];
}

static void put_shape(struct json *json, const char *key, const struct dma_end *end)
{
    char shape[80];
    snprintf(shape, sizeof shape, "[%u %u %u %u %u]", end->size[0], end->size[1], end->size[2],
             end->size[3], end->size[4]);
    json_put_text(json, key, text_of(shape));
}

/* A block is one record: bytes are summed over its descriptors, while places and shapes are those
 * of the first. */
static void put_ends(struct writer *writer, const struct dma_block *block)
{
    struct json *json = writer->json;
    const struct dma_descriptor *first = &writer->program->descriptors[block->first];
    uint64_t read = 0, written = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        read += writer->profile->descriptors[block->first + i].read;
        written += writer->profile->descriptors[block->first + i].written;
    }
    uint32_t variable = writer->profile->descriptors[block->first].variable;
    put(writer, "variable",
        variable == NO_INDEX ? "unknown" : writer->program->variables[variable].name);
    json_key(json, "source");
    json_open(json, '[');
    json_open(json, '[');
    json_text(json, text_of(place_of(writer->program, &first->from)));
    json_close(json, ']');
    json_close(json, ']');
    json_key(json, "dest");
    json_open(json, '[');
    json_text(json, text_of(place_of(writer->program, &first->to)));
    json_close(json, ']');
    json_put_uint(json, "read_size", read);
    json_put_uint(json, "write_size", written);
    put_shape(json, "read_shape", &first->from);
    put_shape(json, "write_shape", &first->to);
}

static void put_block(struct writer *writer, const struct device_block *item)
{
    const struct dma_block *block = &writer->program->blocks[item->block];
    const struct dma_queue *queue = &writer->program->queues[block->queue];
    struct json *json = writer->json;
    json_open_row(json, '{');
    put_time(writer, item->start_ps, item->end_ps);
    put(writer, "label", queue->name);
    put(writer, "subgroup", queue->name);
    put(writer, "subgraph", writer->subgraph);
    put(writer, "function", "");
    put(writer, "queue_type",
        device_queue_type_name(device_queue_type(writer->program, block->queue)));
    json_put_uint(json, "block_id", item->block);
    json_put_uint(json, "transfer_size", item->bytes);
    json_put_uint(json, "packet_count", item->transfers);
    if (block->count > 0)
        put_ends(writer, block);
    json_close_row(json, '}');
}

static void put_collective(struct writer *writer, const struct device_collective *item)
{
    const struct collective *collective = &writer->program->collectives[item->collective];
    struct json *json = writer->json;
    json_open_row(json, '{');
    put_time(writer, item->start_ps, item->end_ps);
    put(writer, "operation", device_collective_name((enum collective_kind)collective->kind));
    put(writer, "dtype", dtype_name((enum dtype)collective->dtype));
    json_put_uint(json, "op_id", item->collective);
    json_put_uint(json, "stream_id", collective->channel);
    json_put_uint(json, "input_size", collective->input_bytes);
    json_put_uint(json, "output_size", collective->output_bytes);
    json_put_int(json, "trigger_start_ts", whole_ns(item->trigger_ps));
    json_close_row(json, '}');
}

/* --- Lists over all executions --- */

enum list { LIST_INSTRUCTION, LIST_DMA, LIST_CC_OP, LIST_SCRATCHPAD };

/* The memory tracker: from a tensor's first access to its last. */
static void put_scratchpad(struct writer *writer, const struct device_execution *execution)
{
    struct json *json = writer->json;
    device_scratchpad_uses uses = {0};
    device_scratchpad(writer->profile, execution, &uses);
    const struct device_scratchpad_use *use;
    array_each (use, &uses) {
        json_open_row(json, '{');
        put(writer, "variable_name", writer->program->variables[use->variable].name);
        json_put_int(json, "start_ts", whole_ns(use->start_ps));
        json_put_int(json, "end_ts", whole_ns(use->end_ps));
        json_put_uint(json, "offset", use->offset);
        json_put_uint(json, "size", use->bytes);
        json_put_uint(json, "read_bytes", use->read);
        json_put_uint(json, "write_bytes", use->written);
        json_put_uint(json, "access_count", use->accesses);
        json_close_row(json, '}');
    }
    array_free(&uses);
}

static void put_list(struct writer *writer, const struct device_execution *execution,
                     enum list list)
{
    if (list == LIST_INSTRUCTION) {
        for (unsigned e = 0; e < ENGINE_COUNT; e++)
            for (size_t i = 0; i < execution->instructions[e].count; i++)
                put_instruction(writer, e, &execution->instructions[e].items[i]);
    } else if (list == LIST_DMA) {
        for (size_t i = 0; i < execution->blocks.count; i++)
            put_block(writer, &execution->blocks.items[i]);
    } else if (list == LIST_SCRATCHPAD) {
        put_scratchpad(writer, execution);
    } else {
        for (size_t i = 0; i < execution->collectives.count; i++)
            put_collective(writer, &execution->collectives.items[i]);
    }
}

static void put_executions(struct writer *writer, struct pool *pool)
{
    static const char *const keys[] = {"instruction", "dma", "cc_op", "scratchpad_usage"};
    uint32_t count = device_execution_count(writer->profile);
    unsigned last = writer->options->tracks_memory ? LIST_SCRATCHPAD : LIST_CC_OP;
    for (unsigned list = LIST_INSTRUCTION; list <= last; list++) {
        json_key(writer->json, keys[list]);
        json_open(writer->json, '[');
        for (uint32_t i = 0; i < count; i++) {
            struct device_execution execution = {0};
            device_read_execution(writer->profile, i, pool, &execution);
            put_list(writer, &execution, (enum list)list);
            device_execution_free(&execution);
        }
        json_close(writer->json, ']');
    }
}

/* --- The profile as a whole --- */

static void open_list(struct writer *writer, const char *key)
{
    json_key(writer->json, key);
    json_open(writer->json, '[');
}

/* Sizes and shapes are texts here, as in the published document. */
static void put_nodes(struct writer *writer)
{
    static const char *const types[] = {"IN", "OUT", "WEIGHT", "VIRTUAL"};
    struct json *json = writer->json;
    open_list(writer, "neff_node");
    for (uint32_t i = 0; i < writer->program->variable_count; i++) {
        const struct variable *variable = &writer->program->variables[i];
        char shape[SHAPE_MAX * 12 + 3] = "[";
        size_t used = 1;
        for (unsigned k = 0; k < variable->rank && k < SHAPE_MAX; k++)
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%u", k ? " " : "",
                                     variable->shape[k]);
        snprintf(shape + used, sizeof shape - used, "]");
        char size[24];
        snprintf(size, sizeof size, "%llu", (unsigned long long)variable->size);
        json_open_row(json, '{');
        put(writer, "variable_name", variable->name);
        put(writer, "type", types[variable->kind]);
        put(writer, "format", dtype_name((enum dtype)variable->dtype));
        put(writer, "shape", shape);
        put(writer, "size", size);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_layers(struct writer *writer)
{
    struct json *json = writer->json;
    open_list(writer, "layer_summary");
    const struct device_rollup_node *node;
    array_each (node, &writer->analysis->rollups[ROLLUP_LAYERS].nodes) {
        if (node->parent == NO_INDEX || node->intervals.count == 0)
            continue;
        json_open_row(json, '{');
        json_put_text(json, "name", node->path);
        json_put_int(json, "start", whole_ns(node->intervals.items[0].start_ps));
        json_put_int(json, "end",
                     whole_ns(node->intervals.items[node->intervals.count - 1].end_ps));
        json_put_uint(json, "FLOPs", node->model_flops);
        json_put_int(json, "active_time", whole_ns(device_rollup_active_ps(node)));
        json_put_uint(json, "hbm_read_bytes", node->hbm_read);
        json_put_uint(json, "hbm_write_bytes", node->hbm_write);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* The automatic warnings about tensors. */
static void put_annotations(struct writer *writer)
{
    struct json *json = writer->json;
    const struct device_analysis *analysis = writer->analysis;
    open_list(writer, "annotation");
    for (uint32_t i = 0; i < writer->program->variable_count; i++) {
        const struct device_tensor *tensor = &analysis->tensors[i];
        double factor =
            device_repeat_factor(tensor, &writer->program->variables[i], analysis->sums.executions);
        if (!(factor > 2))
            continue;
        json_open_row(json, '{');
        put(writer, "tensor_name", writer->program->variables[i].name);
        json_put_uint(json, "load_to_sbuf_dma_count", tensor->loads);
        json_put_uint(json, "load_to_sbuf_total_size_bytes", tensor->load_bytes);
        json_put_double(json, "load_to_sbuf_repeat_factor", factor);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_opcodes(struct writer *writer)
{
    struct json *json = writer->json;
    open_list(writer, "instruction_usage");
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (unsigned i = 0; i < OP_COUNT; i++) {
            const struct device_opcode *opcode = &writer->analysis->opcodes->items[e][i];
            if (opcode->count == 0)
                continue;
            json_open_row(json, '{');
            put(writer, "engine", hardware_engine_name((enum engine)e));
            put(writer, "opcode", opcode_name((enum opcode)i));
            json_put_uint(json, "instruction_count", opcode->count);
            json_put_int(json, "instruction_time_ns", whole_ns(opcode->time_ps));
            json_put_int(json, "active_time_ns", whole_ns(opcode->active_ps));
            json_close_row(json, '}');
        }
    json_close(json, ']');
}

/* Names of metrics by subject. */
static void put_groups(struct writer *writer)
{
    static const struct {
        const char *group, *part;
    } groups[] = {{"DMA", "dma"},
                  {"HBM", "hbm"},
                  {"Memory", "bytes"},
                  {"Tensor engine", "tensor_engine"},
                  {"Vector engine", "vector_engine"},
                  {"Scalar engine", "scalar_engine"},
                  {"GpSimd engine", "gpsimd_engine"},
                  {"Sync engine", "sync_engine"},
                  {"Collectives", "cc_"},
                  {"FLOPs", "flops"},
                  {"Utilization", "fu_"},
                  {"Time", "total_"}};
    struct json *json = writer->json;
    json_key(json, "summary_groups");
    json_open(json, '{');
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        json_key(json, groups[g].group);
        json_open_row(json, '[');
        for (size_t i = 0; device_metric_at(i); i++)
            if (strstr(device_metric_at(i)->name, groups[g].part))
                json_text(json, text_of(device_metric_at(i)->name));
        json_close_row(json, ']');
    }
    json_close(json, '}');
}

static void put_stack_frames(struct writer *writer)
{
    struct json *json = writer->json;
    open_list(writer, "stack_frame");
    for (uint32_t i = 0; i < writer->program->frame_count; i++) {
        const struct source_frame *frame = &writer->program->frames[i];
        json_open_row(json, '{');
        json_put_uint(json, "id", i);
        put(writer, "function_name", frame->function);
        put(writer, "file_name", frame->file);
        json_put_uint(json, "line_number", frame->line);
        json_put_int(json, "parent_frame_id", (int64_t)frame->parent - 1);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_info(struct writer *writer, const char *ntff_path)
{
    const struct ntff_header *header = ntff_header(writer->profile->ntff);
    struct json *json = writer->json;
    char uuid[QUANTITY_SIZE];
    open_list(writer, "profile_info");
    json_open_row(json, '{');
    put(writer, "ntff_filename", ntff_path);
    put(writer, "neff_id", format_uuid(device_neff(writer->profile)->uuid, uuid));
    put(writer, "neff_name", device_neff(writer->profile)->name);
    json_close_row(json, '}');
    json_close(json, ']');
    open_list(writer, "metadata");
    json_open_row(json, '{');
    json_put_uint(json, "nc_idx", header->core_index);
    json_put_uint(json, "nd_idx", header->device_index);
    put(writer, "instance_type", header->instance_type);
    put(writer, "instance_id", header->instance_id);
    json_put_uint(json, "ntff_version", header->version);
    json_key(json, "is_simulation");
    json_bool(json, header->is_simulation);
    json_close_row(json, '}');
    json_close(json, ']');
}

static void put_warnings(struct writer *writer)
{
    struct json *json = writer->json;
    open_list(writer, "warnings");
    if (ntff_is_partial(writer->profile->ntff))
        json_text(json, TEXT("The profile is incomplete: it has only what was written before the "
                             "capture was interrupted."));
    char loss[NTFF_LOSS_SIZE];
    if (writer->analysis->loss.places > 0)
        json_text(json, text_of(ntff_loss_text(&writer->analysis->loss, loss)));
    const char *tracker =
        writer->options->tracks_memory ? device_scratchpad_warning(writer->profile) : NULL;
    if (tracker)
        json_text(json, text_of(tracker));
    const struct finding *finding;
    array_each (finding, &writer->analysis->findings)
        json_text(json, text_of(finding->text));
    json_close(json, ']');
}

/* The order of sections is part of the format. Only put_executions reads the profile again;
 * everything else is in the analysis. */
void export_device_json(const struct device_analysis *analysis,
                        const struct device_json_options *options, struct pool *pool,
                        struct output *out)
{
    struct json json;
    struct writer writer = {.options = options,
                            .analysis = analysis,
                            .profile = analysis->profile,
                            .program = analysis->profile->program,
                            .json = &json};
    snprintf(writer.subgraph, sizeof writer.subgraph, "sg%02u",
             ntff_header(analysis->profile->ntff)->core_in_logical);
    json_begin(&json, out, options->is_pretty);
    json_open(&json, '{');
    put_info(&writer, options->ntff_path);
    open_list(&writer, "summary");
    put_device_summary(&json, analysis, options->version);
    json_close(&json, ']');
    put_groups(&writer);
    put_executions(&writer, pool);
    put_nodes(&writer);
    put_layers(&writer);
    put_annotations(&writer);
    put_opcodes(&writer);
    put_stack_frames(&writer);
    put_warnings(&writer);
    json_close(&json, '}');
    output_char(out, '\n');
}
