/*
 * `kymo show-session`: the raw notifications of an NTFF file, unit by unit.
 */
#include "analyze/device/device.h"
#include "base/wire/wire.h"
#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>

enum { BLOCK_MAX = 4096 };

/* Kinds of sections, in their order. */
enum section { SECTION_ERRORS, SECTION_TRACE, SECTION_COLLECTIVES, SECTION_DMA, SECTIONS };

static enum notification_type type_of(enum section section)
{
    static const enum notification_type types[SECTIONS] = {
        NOTIFICATION_ERROR, NOTIFICATION_TRACE, NOTIFICATION_COLLECTIVE, NOTIFICATION_TRACE_DMA};
    return types[section];
}

static bool is_shown(const struct show_options *options, enum section section)
{
    return section == SECTION_ERRORS ? true
           : section == SECTION_DMA  ? options->dma
                                     : options->trace;
}

static const char *step_name(uint32_t step)
{
    return device_step_name((enum collective_step)step);
}

/* "START", or the DMA engines' word for it. */
static const char *phase_name(const struct notification *item)
{
    if (item->type == NOTIFICATION_TRACE_DMA)
        return item->phase == PHASE_START ? "M2S_SOP" : "S2M_EOP";
    return item->phase == PHASE_START ? "START" : item->phase == PHASE_END ? "END" : "POINT";
}

/* The completion of a DMA transfer gets a line of its own, with the CRC of its data. */
static void put_item_text(struct output *out, enum section section, const struct notification *item)
{
    output_format(out, "  %12" PRIu64 " %s ", item->time, phase_name(item));
    switch (section) {
    case SECTION_ERRORS:
        output_format(out, "%s at=%" PRIu32 " detail=%" PRIu32,
                      device_error_name((enum error_kind)item->id), item->value, item->detail);
        break;
    case SECTION_TRACE:
        output_format(out, "PC=%" PRIu32 " iteration=%" PRIu32, item->id, item->detail);
        if (item->phase == PHASE_START)
            output_format(out, " waited=%" PRIu32, item->value);
        break;
    case SECTION_COLLECTIVES:
        output_format(out, "%s collective=%" PRIu32 " detail=%" PRIu32, step_name(item->value),
                      item->id, item->detail);
        break;
    case SECTION_DMA:
        output_format(out, "descriptor=%" PRIu32 " queue=%" PRIu32, item->id, item->detail);
        if (item->phase == PHASE_START)
            output_format(out, " block=%" PRIu32, item->value);
        else
            output_format(out,
                          "\n  %12" PRIu64 " S2M_COMPLETION descriptor=%" PRIu32 " crc=%08" PRIx32,
                          item->time, item->id, item->value);
        break;
    case SECTIONS:
        break;
    }
    output_char(out, '\n');
}

static void put_item_json(struct json *json, enum section section, const struct notification *item)
{
    json_open_row(json, '{');
    json_put_uint(json, "Time", item->time);
    json_put_text(json, "Event", text_of(phase_name(item)));
    if (section == SECTION_ERRORS)
        json_put_text(json, "Error", text_of(device_error_name((enum error_kind)item->id)));
    else if (section == SECTION_COLLECTIVES)
        json_put_text(json, "Step", text_of(step_name(item->value)));
    json_put_uint(json,
                  section == SECTION_TRACE         ? "PC"
                  : section == SECTION_COLLECTIVES ? "Collective"
                  : section == SECTION_DMA         ? "Descriptor"
                                                   : "Kind",
                  item->id);
    json_put_uint(json, section == SECTION_DMA && item->phase == PHASE_END ? "Crc" : "Value",
                  item->value);
    json_put_uint(json, section == SECTION_DMA ? "Queue" : "Detail", item->detail);
    json_close_row(json, '}');
}

static void put_title(struct output *out, const struct ntff *ntff, enum section section,
                      uint32_t execution, unsigned unit)
{
    const struct ntff_header *header = ntff_header(ntff);
    if (section == SECTION_COLLECTIVES)
        output_format(out, "\nCollectives trace for CC-core %u", unit);
    else
        output_format(out, "\n%s for ND %" PRIu32 " NC %" PRIu32,
                      section == SECTION_TRACE ? "Instruction trace"
                      : section == SECTION_DMA ? "DMA trace"
                                               : "Errors",
                      header->device_index, header->core_index);
    if (section == SECTION_TRACE && unit < ENGINE_COUNT)
        output_format(out, " engine %s", hardware_engine_name((enum engine)unit));
    else if (section == SECTION_DMA || section == SECTION_TRACE)
        output_format(out, " engine %u", unit);
    output_format(out, " execution %" PRIu32 "\n", execution);
}

/* Calls put for each block of a section, those of one execution and unit together. */
struct shown {
    const struct ntff *ntff;
    struct output *out;
    struct json *json; /* NULL: text */
    enum section section;
    struct notification *items;
    bool has_last;
    uint32_t last_execution;
    uint8_t last_unit;
    struct ntff_loss *loss;
};

struct order {
    uint32_t execution, block;
    uint8_t unit;
};

static bool order_before(const void *a, const void *b, const void *context)
{
    const struct order *x = a, *y = b;
    (void)context;
    return x->execution != y->execution ? x->execution < y->execution : x->unit < y->unit;
}

/* A damaged block is added to the loss and skipped; its neighbors are shown. A title or object
 * begins when the execution or unit changes. */
static void put_block(struct shown *shown, const struct order *order,
                      const struct ntff_block *block)
{
    struct error damage;
    bool is_next = !shown->has_last || shown->last_execution != order->execution ||
                   shown->last_unit != order->unit;
    if (!ntff_read_block(shown->ntff, order->block, shown->items, &damage)) {
        const struct ntff_loss loss = ntff_block_loss(block);
        ntff_loss_add(shown->loss, &loss);
        return;
    }
    if (shown->json && is_next) {
        if (shown->has_last) {
            json_close(shown->json, ']');
            json_close(shown->json, '}');
        }
        json_open(shown->json, '{');
        json_put_uint(shown->json, "Execution", order->execution);
        json_put_uint(shown->json, "Unit", order->unit);
        json_key(shown->json, "Events");
        json_open(shown->json, '[');
    } else if (is_next) {
        put_title(shown->out, shown->ntff, shown->section, order->execution, order->unit);
    }
    shown->has_last = true;
    shown->last_execution = order->execution;
    shown->last_unit = order->unit;
    for (uint32_t i = 0; i < block->count; i++) {
        if (shown->json)
            put_item_json(shown->json, shown->section, &shown->items[i]);
        else
            put_item_text(shown->out, shown->section, &shown->items[i]);
    }
}

/* Blocks are written as they fill, in any order of units: they are sorted first. One buffer serves
 * all of them. */
static void put_section(const struct ntff *ntff, enum section section, struct output *out,
                        struct json *json, struct ntff_loss *loss)
{
    size_t count;
    const struct ntff_block *blocks = ntff_blocks(ntff, &count);
    ARRAY(struct order) orders = {0};
    struct shown shown = {.ntff = ntff,
                          .out = out,
                          .json = json,
                          .section = section,
                          .loss = loss,
                          .items = mem_alloc(BLOCK_MAX * sizeof *shown.items)};
    for (size_t i = 0; i < count; i++)
        if (blocks[i].type == type_of(section))
            *array_push(&orders) = (struct order){blocks[i].execution, (uint32_t)i, blocks[i].unit};
    sort_items(orders.items, orders.count, sizeof(struct order), order_before, NULL);
    for (size_t i = 0; i < orders.count; i++)
        put_block(&shown, &orders.items[i], &blocks[orders.items[i].block]);
    if (json && shown.has_last) {
        json_close(json, ']');
        json_close(json, '}');
    }
    array_free(&orders);
    mem_free(shown.items);
}

/* Averages of an execution: four ticks are a cycle of the core, two a cycle of the Tensor
 * engine. */
static uint64_t cycles_of(const struct ntff *ntff)
{
    size_t count;
    const struct ntff_execution *items = ntff_executions(ntff, &count);
    uint64_t ticks = 0;
    for (size_t i = 0; i < count; i++)
        ticks += items[i].end_ticks - items[i].start_ticks;
    return count ? ticks / 4 / count : 0;
}

void export_session_text(const struct ntff *ntff, const struct show_options *options,
                         struct output *out, struct ntff_loss *loss)
{
    const struct ntff_header *header = ntff_header(ntff);
    size_t count;
    const struct ntff_execution *items = ntff_executions(ntff, &count);
    char uuid[QUANTITY_SIZE];
    output_format(out, "NTFF version %" PRIu32 "%s\n", header->version,
                  ntff_is_partial(ntff) ? ", partial" : "");
    output_format(out, "NEFF %s uuid %s\n", header->neff_name,
                  format_uuid(header->neff_uuid, uuid));
    output_format(out, "%s %s ND %" PRIu32 " NC %" PRIu32 " rank %" PRIu32 " of %" PRIu32 "\n",
                  header->instance_type, header->instance_id, header->device_index,
                  header->core_index, header->rank, header->rank_count);
    for (size_t i = 0; i < count; i++)
        output_format(out,
                      "execution %" PRIu32 " status %" PRIu32 " ticks %" PRIu64 " to %" PRIu64 "\n",
                      items[i].index, items[i].status, items[i].start_ticks, items[i].end_ticks);
    *loss = *ntff_loss(ntff);
    for (unsigned section = 0; section < SECTIONS; section++)
        if (is_shown(options, (enum section)section))
            put_section(ntff, (enum section)section, out, NULL, loss);
}

static void put_nodes_json(struct json *json, const struct ntff *ntff)
{
    const struct ntff_header *header = ntff_header(ntff);
    char uuid[QUANTITY_SIZE], graph[16];
    snprintf(graph, sizeof graph, "sg%02" PRIu32, header->core_in_logical);
    json_key(json, "NeffNodes");
    json_open(json, '[');
    json_open(json, '{');
    json_put_text(json, "Name", text_of(header->neff_name));
    json_put_text(json, "Uuid", text_of(format_uuid(header->neff_uuid, uuid)));
    json_key(json, "NodeInfo");
    json_open(json, '{');
    json_key(json, "Graphs");
    json_open(json, '[');
    json_open_row(json, '{');
    json_put_text(json, "Name", text_of(graph));
    json_put_uint(json, "CycleCount", cycles_of(ntff));
    json_close_row(json, '}');
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
    json_close(json, ']');
}

static void put_executions_json(struct json *json, const struct ntff *ntff)
{
    size_t count;
    const struct ntff_execution *items = ntff_executions(ntff, &count);
    json_key(json, "Executions");
    json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open_row(json, '{');
        json_put_uint(json, "Index", items[i].index);
        json_put_uint(json, "Status", items[i].status);
        json_put_uint(json, "StartTicks", items[i].start_ticks);
        json_put_uint(json, "EndTicks", items[i].end_ticks);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* Sections that are not requested are absent, not empty. *loss gets what was damaged, in the file
 * as a whole and in blocks. */
void export_session_json(const struct ntff *ntff, const struct show_options *options,
                         struct output *out, struct ntff_loss *loss)
{
    static const char *const keys[SECTIONS] = {"Errors", "InstructionTrace", "CollectivesTrace",
                                               "DmaTrace"};
    const struct ntff_header *header = ntff_header(ntff);
    struct json json;
    *loss = *ntff_loss(ntff);
    json_begin(&json, out, true);
    json_open(&json, '{');
    json_put_uint(&json, "Version", header->version);
    json_key(&json, "IsPartial");
    json_bool(&json, ntff_is_partial(ntff));
    json_put_uint(&json, "DeviceIndex", header->device_index);
    json_put_uint(&json, "CoreIndex", header->core_index);
    json_put_uint(&json, "Rank", header->rank);
    json_put_uint(&json, "TicksPerMicrosecond", header->ticks_per_us);
    put_nodes_json(&json, ntff);
    put_executions_json(&json, ntff);
    for (unsigned section = 0; section < SECTIONS; section++) {
        if (!is_shown(options, (enum section)section))
            continue;
        json_key(&json, keys[section]);
        json_open(&json, '[');
        put_section(ntff, (enum section)section, out, &json, loss);
        json_close(&json, ']');
    }
    json_close(&json, '}');
}
