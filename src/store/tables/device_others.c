/*
 * The remaining tables of device profiles: semaphores, dependencies, errors, throttling,
 * executions, the NEFF, metrics; and the list of device profiles of a system profile.
 */
#include "store/tables/device_tables.h"

#include <inttypes.h>
#include <math.h>

static uint32_t source_of(const struct device_at *at, const struct device_update *update)
{
    if (update->block != NO_INDEX) {
        uint32_t block = at->execution->blocks.items[update->block].block;
        return at->names->queues[at->program->blocks[block].queue];
    }
    return update->collective != NO_INDEX ? at->names->collective
                                          : at->names->engines[update->engine];
}

/* The end of a DMA block or collective always adds on completion. An instruction that names
 * another semaphore cleared this one. */
void put_updates(struct filler *filler, const struct device_at *at)
{
    for (size_t i = 0; i < at->execution->updates.count && fill_continue(filler); i++) {
        const struct device_update *update = &at->execution->updates.items[i];
        const struct instruction *code = NULL;
        struct record *record = fill_record(filler);
        mem_touched(sizeof *update);
        if (update->instruction != NO_INDEX)
            code = &at->program->code[update->engine][at->execution->instructions[update->engine]
                                                          .items[update->instruction]
                                                          .pc];
        bool is_done = update->block != NO_INDEX || update->collective != NO_INDEX;
        bool is_clear = code && code->update_semaphore != update->semaphore;
        record_put(record, UPDATE_TIMESTAMP, whole_ns(update->time_ps));
        record_put(record, UPDATE_ID, at->names->semaphores[update->semaphore]);
        record_put(record, UPDATE_VALUE, (int32_t)update->value);
        record_put(record, UPDATE_UPDATE_SOURCE, source_of(at, update));
        if (is_done || code)
            record_put(record, UPDATE_UPDATE_OPERATION_TYPE,
                       at->names->update_kinds[is_done    ? UPDATE_ADD
                                               : is_clear ? UPDATE_SET
                                                          : code->update_kind]);
        if (is_done || (code && !is_clear))
            record_put(record, UPDATE_UPDATE_TRIGGER_TIMING,
                       at->names->update_times[is_done ? UPDATE_AT_COMPLETE : code->update_time]);
        record_put(record, UPDATE_PCORE_IDX, at->physical_core);
        record_put(record, UPDATE_RANK, at->rank);
    }
}

/* --- Flow --- */
/* Order binds only where nothing else came later. */
static void put_edges(struct filler *filler, const struct device_at *at, struct device_item item)
{
    struct device_edge edges[DEVICE_MAX_EDGES];
    size_t count = device_predecessors(at->dependencies, item, edges);
    int64_t last = INT64_MIN, id, from;
    uint32_t table, from_table;
    for (size_t i = 0; i < count; i++)
        last = edges[i].release_ps > last ? edges[i].release_ps : last;
    if (!device_item_id(at, item, &id, &table))
        return;
    int64_t start = device_item_span(at->execution, item).start_ps;
    for (size_t i = 0; i < count; i++) {
        bool is_order = edges[i].kind == EDGE_ORDER || edges[i].kind == EDGE_RING;
        if ((is_order && edges[i].release_ps < last) ||
            !device_item_id(at, edges[i].from, &from, &from_table) || from == id)
            continue;
        struct record *record = fill_record(filler);
        record_put(record, FLOW_IN, from);
        record_put(record, FLOW_OUT, id);
        record_put(record, FLOW_IN_TABLE, from_table);
        record_put(record, FLOW_OUT_TABLE, table);
        record_put(record, FLOW_TYPE, at->names->edges[edges[i].kind]);
        record_put(record, FLOW_GAP, whole_ns(sub_saturated(start, edges[i].release_ps)));
        (void)fill_continue(filler);
    }
}

void put_dependencies(struct filler *filler, const struct device_at *at)
{
    const struct device_execution *execution = at->execution;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (size_t i = 0; i < execution->instructions[e].count && !filler->failed; i++) {
            mem_touched(sizeof(struct device_instruction));
            put_edges(filler, at, (struct device_item){ITEM_INSTRUCTION, (uint8_t)e, (uint32_t)i});
        }
    for (size_t i = 0; i < execution->blocks.count && !filler->failed; i++)
        put_edges(filler, at, (struct device_item){ITEM_BLOCK, 0, (uint32_t)i});
    for (size_t i = 0; i < execution->collectives.count && !filler->failed; i++)
        put_edges(filler, at, (struct device_item){ITEM_COLLECTIVE, 0, (uint32_t)i});
}

/* --- Errors, throttling --- */
void put_errors(struct filler *filler, const struct device_at *at)
{
    char text[DEVICE_ERROR_SIZE];
    uint32_t lane = device_lane_of(at->core, DEVICE_LANE_ERRORS, 0, 0);
    int64_t first_id = at->execution->errors.count > 0 ? device_first_id(at, lane) : 0;
    for (size_t i = 0; i < at->execution->errors.count && fill_continue(filler); i++) {
        const struct device_error *error = &at->execution->errors.items[i];
        fill_word(filler, DEVICE_ERROR_DESCRIPTION,
                  text_of(device_error_name((enum error_kind)error->kind)));
        fill_int(filler, DEVICE_ERROR_ERROR_TYPE_ID, error->kind);
        fill_format(filler, DEVICE_ERROR_METADATA, "%s",
                    device_error_text(at->program, error, text));
        fill_format(filler, DEVICE_ERROR_METADATA_HEX, "%02x%08" PRIx32 "%08" PRIx32, error->unit,
                    error->at, error->detail);
        fill_int(filler, DEVICE_ERROR_PCORE_IDX, at->physical_core);
        fill_int(filler, DEVICE_ERROR_TIMESTAMP, whole_ns(error->time_ps));
        fill_word(filler, DEVICE_ERROR_TYPE, TEXT("Custom Notification"));
        fill_int(filler, DEVICE_ERROR_RANK, at->rank);
        fill_int(filler, DEVICE_ERROR_ID, first_id + (int64_t)i);
    }
}

void put_throttles(struct filler *filler, const struct device_at *at)
{
    for (size_t i = 0; i < at->execution->throttles.count && fill_continue(filler); i++) {
        const struct device_throttle *throttle = &at->execution->throttles.items[i];
        fill_int(filler, THROTTLE_DURATION, whole_ns(throttle->end_ps - throttle->start_ps));
        fill_int(filler, THROTTLE_K, throttle->rate);
        fill_int(filler, THROTTLE_N, 1024);
        fill_int(filler, THROTTLE_TIMESTAMP, whole_ns(throttle->start_ps));
        fill_word(filler, THROTTLE_TYPE,
                  text_of(device_throttle_name((enum throttle_kind)throttle->kind)));
        fill_int(filler, THROTTLE_PCORE_IDX, at->physical_core);
        fill_int(filler, THROTTLE_RANK, at->rank);
    }
}

/* One row for each kind, if anything was throttled at all. Rates are in 1024ths of the full
 * one. */
static void put_throttle_sums(struct filler *filler, const struct device_at *at)
{
    const struct device_sums *sums = &at->core->analysis->sums;
    for (unsigned i = 0; i <= THROTTLE_ACTIVITY_1 && sums->throttles > 0; i++) {
        double total = (double)sums->total_ps;
        double left = 0; /* time that is lost, in whole */
        for (uint32_t k = 0; k < at->core->execution_count; k++) {
            const struct device_execution *execution = &at->core->executions[k];
            for (size_t n = 0; n < execution->throttles.count; n++)
                if (execution->throttles.items[n].kind == i)
                    left += (double)(execution->throttles.items[n].end_ps -
                                     execution->throttles.items[n].start_ps) *
                            (1024.0 - execution->throttles.items[n].rate) / 1024.0;
        }
        fill_int(filler, THROTTLE_SUM_NC_IDX, ntff_header(at->core->profile->ntff)->core_index);
        fill_word(filler, THROTTLE_SUM_THROTTLE_TYPE,
                  text_of(device_throttle_name((enum throttle_kind)i)));
        fill_int(filler, THROTTLE_SUM_THROTTLE_ACTIVE_TIME_NS, whole_ns(sums->throttled_ps[i]));
        fill_real(filler, THROTTLE_SUM_THROTTLE_ACTIVE_TIME_PERCENT,
                  (double)sums->throttled_ps[i] / total);
        fill_real(filler, THROTTLE_SUM_MAX_ACHIEVABLE_UTIL_WITH_THROTTLING_PERCENT,
                  1 - left / total);
        fill_int(filler, THROTTLE_SUM_RANK, at->rank);
    }
}

bool make_throttle_sums(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_THROTTLE_SUM, put_throttle_sums, err);
}

/* --- Executions, the NEFF, metrics --- */
void put_execution(struct filler *filler, const struct device_at *at)
{
    const struct device_execution *execution = at->execution;
    uint64_t rows = execution->transfers.count + execution->blocks.count +
                    execution->updates.count + execution->cc_steps.count +
                    execution->collectives.count + execution->errors.count;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        rows += execution->instructions[e].count;
    fill_int(filler, EXECUTION_EXECUTION_INDEX,
             (int32_t)at->core->profile->spans[at->number].index);
    fill_word(filler, EXECUTION_NEFF_NAME,
              text_of(neff_info(at->core->profile->neff)->header.name));
    fill_int(filler, EXECUTION_EXECUTION_START_TS, whole_ns(execution->start_ps));
    fill_int(filler, EXECUTION_EXECUTION_END_TS, whole_ns(execution->end_ps));
    fill_int(filler, EXECUTION_NUM_SUBGRAPHS, neff_info(at->core->profile->neff)->program_count);
    fill_int(filler, EXECUTION_ROW_COUNT, (int64_t)rows);
    fill_int(filler, EXECUTION_RANK, at->rank);
}

/* The columns are the vendor's. Files without logical cores have a logical core size of 0. */
static void put_neff(struct filler *filler, const struct device_at *at)
{
    const struct neff_info *info = neff_info(at->core->profile->neff);
    const struct neff_header *header = &info->header;
    char uuid[QUANTITY_SIZE], hash[2 * sizeof header->hash + 1];
    for (size_t i = 0; i < sizeof header->hash; i++)
        for (unsigned k = 0; k < 2; k++)
            hash[2 * i + k] = "0123456789abcdef"[header->hash[i] >> (k ? 0 : 4) & 15];
    fill_word(filler, NEFF_NETWORK_NAME, text_of(header->name));
    fill_word(filler, NEFF_UUID, text_of(format_uuid(header->uuid, uuid)));
    fill_word(filler, NEFF_HASH, (struct text){hash, 2 * sizeof header->hash});
    fill_format(filler, NEFF_ENABLED_FEATURES, "0x%" PRIx64, header->feature_bits);
    fill_int(filler, NEFF_HEADER_SIZE, (int64_t)header->header_size);
    fill_int(filler, NEFF_DATA_SIZE, (int64_t)header->data_size);
    fill_int(filler, NEFF_MAJOR_VERSION, (int64_t)header->version_major);
    fill_int(filler, NEFF_MINOR_VERSION, (int64_t)header->version_minor);
    fill_format(filler, NEFF_PACKAGE_VERSION, "%" PRIu64, header->package_version);
    fill_word(filler, NEFF_BUILD_VERSION, text_of(header->build_version));
    fill_int(filler, NEFF_CC_PARTICIPANT_COUNT, info->worker_count);
    fill_int(filler, NEFF_NEURONCORE_COUNT, header->core_count);
    fill_int(filler, NEFF_LOGICAL_NEURONCORE_COUNT,
             header->logical_core_size ? header->core_count / header->logical_core_size : 0);
    fill_int(filler, NEFF_PCORE_COUNT_PER_LNC, header->logical_core_size);
    fill_int(filler, NEFF_RANK, at->rank);
}

bool make_neff_headers(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_NEFF, put_neff, err);
}

static void put_hbm_types(struct filler *filler, const struct device_at *at)
{
    const struct ntff_header *header = ntff_header(at->core->profile->ntff);
    struct device_hbm_use uses[DEVICE_HBM_TYPES];
    device_hbm_usage(at->program, uses);
    for (size_t i = 0; i < DEVICE_HBM_TYPES; i++) {
        fill_int(filler, HBM_TYPE_NEURON_DEVICE_IDX, header->device_index);
        fill_int(filler, HBM_TYPE_NEURONCORE_IDX, header->core_index);
        fill_word(filler, HBM_TYPE_USAGE_TYPE, text_of(uses[i].type));
        fill_int(filler, HBM_TYPE_USAGE_BYTES, (int64_t)uses[i].bytes);
        fill_int(filler, HBM_TYPE_RANK, at->rank);
    }
}

bool make_hbm_types(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_HBM_TYPE, put_hbm_types, err);
}

static void put_summary(struct filler *filler, const struct device_at *at)
{
    const struct device_metrics *metrics = &at->core->analysis->metrics;
    const struct device_metric *metric;
    size_t column = 0;
    for (; (metric = device_metric_at(column)); column++) {
        if (metric->is_integer)
            fill_int(filler, column, device_metric_integer(metrics, metric));
        else
            fill_real(filler, column, device_metric_real(metrics, metric));
    }
    fill_int(filler, column, at->rank);
}

bool make_device_summary(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_SUMMARY, put_summary, err);
}

bool make_device_profiles(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_DEVICE_PROFILE, err);
    for (size_t i = 0; i < maker->options->device_profile_count && fill_continue(&filler); i++) {
        const struct device_profile_entry *entry = &maker->options->device_profiles[i];
        fill_word(&filler, DEVICE_PROFILE_DEVICE_PROFILE_NAME, text_of(entry->name));
        fill_word(&filler, DEVICE_PROFILE_INSTANCE_ID, text_of(entry->instance));
        fill_int(&filler, DEVICE_PROFILE_PROCESS_ID, entry->process);
        fill_int(&filler, DEVICE_PROFILE_NC_ID, entry->core);
        fill_null(&filler, DEVICE_PROFILE_SESSION_ID);
        fill_null(&filler, DEVICE_PROFILE_MODEL_ID);
        fill_word(&filler, DEVICE_PROFILE_MODEL_NAME, text_of(entry->model));
        fill_int(&filler, DEVICE_PROFILE_LNC_IDX, entry->logical_core);
    }
    return fill_end(&filler);
}
