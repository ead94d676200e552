/*
 * `kymo info` of a device profile: header, executions, notifications of each type and unit.
 */
#include "base/wire/wire.h"
#include "export/export.h"
#include "export/lines.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const type_names[NOTIFICATION_TYPES] = {
    "instruction", "notify", "semaphore", "error", "dma", "throttle", "collective"};

enum { UNITS = 256 };

/* Notifications of one type and unit. */
struct group {
    uint64_t count, blocks, first_time, last_time;
};

struct groups {
    struct group items[NOTIFICATION_TYPES][UNITS];
    struct group all;
};

static void add_block(struct group *group, const struct ntff_block *block)
{
    if (group->blocks == 0 || block->first_time < group->first_time)
        group->first_time = block->first_time;
    if (group->blocks == 0 || block->last_time > group->last_time)
        group->last_time = block->last_time;
    group->blocks++;
    group->count += block->count;
}

static struct groups *group_blocks(const struct ntff *ntff)
{
    size_t count;
    const struct ntff_block *blocks = ntff_blocks(ntff, &count);
    struct groups *groups = mem_zeroed(1, sizeof *groups);
    for (size_t i = 0; i < count; i++) {
        add_block(&groups->items[blocks[i].type][blocks[i].unit], &blocks[i]);
        add_block(&groups->all, &blocks[i]);
    }
    return groups;
}

static double ticks_to_ps(const struct ntff *ntff, uint64_t ticks)
{
    uint32_t per_us = ntff_header(ntff)->ticks_per_us;
    return per_us > 0 ? (double)ticks * 1e6 / per_us : 0;
}

/* A session may have several NEFFs; all are named, the header's first. Damage is a line of its own,
 * so that it is not missed. */
static void put_header_text(const struct ntff *ntff, const struct group *all, struct output *out)
{
    const struct ntff_header *header = ntff_header(ntff);
    char text[160], count[QUANTITY_SIZE], span[QUANTITY_SIZE];
    size_t neffs;
    const struct ntff_neff *neff = ntff_neffs(ntff, &neffs);
    for (size_t i = 0; i < neffs; i++) {
        put_labeled(out, "NEFF", neff[i].name);
        put_labeled(out, "uuid", format_uuid(neff[i].uuid, text));
    }
    snprintf(text, sizeof text, "%s, %s", header->instance_type, header->instance_id);
    put_labeled(out, "instance", text);
    snprintf(text, sizeof text, "%u of device %u (generation %u), logical core %u",
             header->core_index, header->device_index, header->core_version, header->logical_core);
    put_labeled(out, "core", text);
    snprintf(text, sizeof text, "%u of %u, process %u", header->rank, header->rank_count,
             header->process_id);
    put_labeled(out, "rank", text);
    snprintf(text, sizeof text, "%s, %s", header->is_simulation ? "simulated" : "measured",
             header->computed ? "with arithmetic" : "timing only");
    put_labeled(out, "made by", text);
    snprintf(text, sizeof text, "%s notifications over %s%s", format_count(all->count, count),
             format_ps(ticks_to_ps(ntff, all->last_time - all->first_time), span),
             ntff_is_partial(ntff) ? "; the file is partial: its writer did not finish" : "");
    put_labeled(out, "contents", text);
    char loss[NTFF_LOSS_SIZE];
    if (ntff_loss(ntff)->places > 0)
        put_labeled(out, "damage", ntff_loss_text(ntff_loss(ntff), loss));
}

/* The NEFF is shown only if there are several. Times of day are masked to be positive, since they
 * come from the file. */
static void put_executions_text(const struct ntff *ntff, const struct text_style *style,
                                struct output *out)
{
    static const struct column columns[] = {{"execution", false, false},
                                            {"started", true, false},
                                            {"device time", false, false},
                                            {"status", false, false},
                                            {"NEFF", true, false}};
    size_t count, neff_count;
    const struct ntff_execution *items = ntff_executions(ntff, &count);
    const struct ntff_neff *neffs = ntff_neffs(ntff, &neff_count);
    bool with_neffs = neff_count > 1;
    struct table table = table_begin(columns, with_neffs ? 5 : 4);
    for (size_t i = 0; i < count; i++) {
        char when[QUANTITY_SIZE];
        table_format(&table, "%u", items[i].index);
        table_text(&table, text_of(format_epoch((int64_t)(items[i].start_ns & INT64_MAX), when)));
        table_ps(&table, ticks_to_ps(ntff, items[i].end_ticks - items[i].start_ticks));
        table_format(&table, "%u", items[i].status);
        if (with_neffs)
            table_text(&table, text_of(neffs[items[i].neff].name));
    }
    put_heading(out, style, "Executions");
    table_end(&table, style, out);
}

/* Units are engines, or numbered. */
static void add_unit(struct table *table, unsigned type, unsigned unit)
{
    bool of_engine =
        type == NOTIFICATION_TRACE || type == NOTIFICATION_NOTIFY || type == NOTIFICATION_EVENT;
    if (of_engine && unit < ENGINE_COUNT)
        table_text(table, text_of(hardware_engine_name((enum engine)unit)));
    else
        table_format(table, "%u", unit);
}

/* Reads the heads of blocks only, never the notifications: it is as fast for a file of any size. */
void export_ntff_text(const struct ntff *ntff, const struct text_style *style, struct output *out)
{
    static const struct column columns[] = {{"type", true, false},
                                            {"unit", true, false},
                                            {"notifications", false, false},
                                            {"from", false, false},
                                            {"to", false, false}};
    struct groups *groups = group_blocks(ntff);
    size_t executions;
    put_header_text(ntff, &groups->all, out);
    ntff_executions(ntff, &executions);
    if (executions > 0)
        put_executions_text(ntff, style, out);
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (unsigned type = 0; type < NOTIFICATION_TYPES; type++)
        for (unsigned unit = 0; unit < UNITS; unit++) {
            const struct group *group = &groups->items[type][unit];
            if (group->blocks == 0)
                continue;
            table_text(&table, text_of(type_names[type]));
            add_unit(&table, type, unit);
            table_count(&table, group->count);
            table_ps(&table, ticks_to_ps(ntff, group->first_time));
            table_ps(&table, ticks_to_ps(ntff, group->last_time));
        }
    if (groups->all.blocks > 0) {
        put_heading(out, style, "Notifications");
        table_end(&table, style, out);
    }
    mem_free(groups);
}

/* Names of fields follow struct ntff_header; new ones may be added, none is renamed. */
static void put_header_json(struct json *json, const struct ntff *ntff)
{
    const struct ntff_header *header = ntff_header(ntff);
    char uuid[QUANTITY_SIZE];
    json_put_text(json, "format", TEXT("ntff"));
    json_put_uint(json, "version", header->version);
    json_key(json, "is_partial");
    json_bool(json, ntff_is_partial(ntff));
    json_put_uint(json, "damaged_bytes", ntff_loss(ntff)->bytes);
    json_put_text(json, "neff_name", text_of(header->neff_name));
    json_put_text(json, "neff_uuid", text_of(format_uuid(header->neff_uuid, uuid)));
    json_put_text(json, "instance_type", text_of(header->instance_type));
    json_put_text(json, "instance_id", text_of(header->instance_id));
    json_put_uint(json, "core_version", header->core_version);
    json_put_uint(json, "device_index", header->device_index);
    json_put_uint(json, "core_index", header->core_index);
    json_put_uint(json, "logical_core", header->logical_core);
    json_put_uint(json, "core_in_logical", header->core_in_logical);
    json_put_uint(json, "rank", header->rank);
    json_put_uint(json, "rank_count", header->rank_count);
    json_put_uint(json, "ticks_per_us", header->ticks_per_us);
    json_put_uint(json, "process_id", header->process_id);
    json_key(json, "is_simulation");
    json_bool(json, header->is_simulation);
    json_key(json, "computed");
    json_bool(json, header->computed);
    json_key(json, "dge_notifications");
    json_bool(json, header->dge_notifications);
}

static void put_neffs_json(struct json *json, const struct ntff *ntff)
{
    size_t count;
    const struct ntff_neff *items = ntff_neffs(ntff, &count);
    char uuid[QUANTITY_SIZE];
    json_key(json, "neffs");
    json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open_row(json, '{');
        json_put_text(json, "name", text_of(items[i].name));
        json_put_text(json, "uuid", text_of(format_uuid(items[i].uuid, uuid)));
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_executions_json(struct json *json, const struct ntff *ntff)
{
    size_t count;
    const struct ntff_execution *items = ntff_executions(ntff, &count);
    json_key(json, "executions");
    json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open_row(json, '{');
        json_put_uint(json, "index", items[i].index);
        json_put_uint(json, "neff", items[i].neff);
        json_put_uint(json, "start_ns", items[i].start_ns);
        json_put_uint(json, "end_ns", items[i].end_ns);
        json_put_uint(json, "start_ticks", items[i].start_ticks);
        json_put_uint(json, "end_ticks", items[i].end_ticks);
        json_put_uint(json, "status", items[i].status);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* The same content as the text. Times stay in ticks, with ticks_per_us in the header. */
void export_ntff_json(const struct ntff *ntff, struct output *out)
{
    struct groups *groups = group_blocks(ntff);
    struct json json;
    json_begin(&json, out, true);
    json_open(&json, '{');
    put_header_json(&json, ntff);
    put_neffs_json(&json, ntff);
    put_executions_json(&json, ntff);
    json_key(&json, "notifications");
    json_open(&json, '[');
    for (unsigned type = 0; type < NOTIFICATION_TYPES; type++)
        for (unsigned unit = 0; unit < UNITS; unit++) {
            const struct group *group = &groups->items[type][unit];
            if (group->blocks == 0)
                continue;
            json_open_row(&json, '{');
            json_put_text(&json, "type", text_of(type_names[type]));
            json_put_uint(&json, "unit", unit);
            json_put_uint(&json, "count", group->count);
            json_put_uint(&json, "first_time", group->first_time);
            json_put_uint(&json, "last_time", group->last_time);
            json_close_row(&json, '}');
        }
    json_close(&json, ']');
    json_close(&json, '}');
    output_char(out, '\n');
    mem_free(groups);
}
