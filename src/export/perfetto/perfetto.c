/*
 * Perfetto export: a native trace for ui.perfetto.dev and trace_processor. All packets belong to
 * one sequence and all strings of the catalog are interned up front, so workers encode events
 * concurrently without coordination. A slice is written as begin and end together: the reader sorts
 * packets by timestamp, stably, which is correct as long as the events of a track are sorted by
 * start, longer first.
 */
#include "export/perfetto/packets.h"

enum { PARTS_TOGETHER = 8 };

/* Buffers the packets of a batch of an unsorted lane. */
static void buffer_packets(struct perfetto *perfetto, const struct batch *batch,
                           struct output *buffer, uint64_t *ends)
{
    struct lane_tracks *lane = &perfetto->lanes[batch->track];
    pthread_mutex_lock(&perfetto->lock);
    uint64_t base = lane->packets.count;
    array_reserve(&lane->packets, base + buffer->size);
    memcpy(lane->packets.items + base, buffer->data, buffer->size);
    lane->packets.count += buffer->size;
    pthread_mutex_unlock(&perfetto->lock);
    for (uint32_t i = 0; i < batch->count; i++) {
        lane->starts[batch->first + i] = base + (i ? ends[i - 1] : 0);
        lane->ends[batch->first + i] = base + ends[i];
    }
}

static bool write_packets(struct perfetto *perfetto, const char *data, size_t size,
                          struct error *err)
{
    output_write(perfetto->out, data, size);
    if (perfetto->out->failed)
        *err = perfetto->out->error;
    return !perfetto->out->failed;
}

/* Encoding is concurrent, writing in the order of the source. Lanes that are not in time order are
 * set aside instead, to be written at the end. */
static bool take_batch(struct sink *base, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    struct perfetto *perfetto = (struct perfetto *)base;
    struct output *buffer = &perfetto->buffers[worker], own, *out = buffer;
    uint64_t ends[BATCH_EVENTS];
    bool waits = perfetto->lanes[batch->track].starts != NULL;
    if (waits)
        output_memory(out = &own);
    bool is_gpu = perfetto_is_gpu_lane(perfetto, batch->track);
    for (uint32_t event = 0; event < batch->count; event++) {
        if (is_gpu)
            perfetto_put_gpu_event(perfetto, out, batch, event);
        else if (batch->has_values)
            perfetto_put_sample(perfetto, out, batch, event);
        else
            perfetto_put_event(perfetto, out, batch, event);
        ends[event] = out->size;
    }
    if (waits) {
        buffer_packets(perfetto, batch, out, ends);
        output_discard(&own);
    }
    if (!batch->last)
        return true;
    if (!sequencer_wait(&perfetto->turn, batch->sequence))
        return error_set(err, "%s", ""); /* another part failed and reports why */
    bool ok = write_packets(perfetto, buffer->data, buffer->size, err);
    buffer->size = 0;
    sequencer_pass(&perfetto->turn);
    return ok;
}

static void cancel(struct sink *base)
{
    sequencer_cancel(&((struct perfetto *)base)->turn);
}

/* Writes the buffered packets of unsorted lanes in time order. */
static bool write_unsorted(struct perfetto *perfetto, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < perfetto->catalog->tracks.count; i++) {
        struct lane_tracks *lane = &perfetto->lanes[i];
        const uint64_t *order = perfetto->analysis->lanes[i].order;
        uint64_t count = perfetto->catalog->tracks.items[i].events;
        for (uint64_t k = 0; ok && lane->starts && k < count; k++)
            ok = write_packets(perfetto, lane->packets.items + lane->starts[order[k]],
                               lane->ends[order[k]] - lane->starts[order[k]], err);
        array_free(&lane->packets);
    }
    return ok;
}

/* Derived rows of modules and operations. */
static bool write_runs(struct perfetto *perfetto, struct error *err)
{
    const struct analysis *analysis = perfetto->analysis;
    struct output *out = &perfetto->buffers[0];
    bool ok = true;
    for (size_t i = 0; ok && i < analysis->rows.count; i++) {
        const struct derived_row *row = &analysis->rows.items[i];
        end_stack *stacks = mem_zeroed(MAX_TRACKS + 1, sizeof *stacks);
        uint64_t first = perfetto->next_uuid;
        uint32_t count = 0;
        char name[64];
        size_t size = derived_row_name(analysis, row, name);
        for (size_t k = 0; ok && k < row->events.count; k++) {
            const struct row_event *run = &row->events.items[k];
            uint32_t before = count;
            uint32_t track = perfetto_assign_track(stacks, &count, run->start_ps,
                                                   add_saturated(run->start_ps, run->duration_ps));
            if (count > before)
                perfetto_put_track(out, first + track, perfetto_process(perfetto, row->lane),
                                   (struct text){name, size}, perfetto->groups.of_lane[row->lane],
                                   TRACK_DERIVED);
            perfetto_put_run(perfetto, out, first + track, run);
            if (out->size > MAX_INTERNED_BYTES || k + 1 == row->events.count) {
                ok = write_packets(perfetto, out->data, out->size, err);
                out->size = 0;
            }
        }
        perfetto->next_uuid += count;
        for (size_t k = 0; k <= MAX_TRACKS; k++)
            array_free(&stacks[k]);
        mem_free(stacks);
    }
    return ok;
}

/* Everything events refer to: clocks, interned strings, processes, tracks. */
static bool write_preamble(struct perfetto *perfetto, struct error *err)
{
    struct output *out = &perfetto->buffers[0];
    perfetto_put_clocks(perfetto, out);
    perfetto_put_strings(perfetto, out);
    for (size_t i = 0; i < perfetto->groups.primary.count; i++)
        perfetto_put_process(out, i + 1, perfetto->groups.primary.items[i].label);
    perfetto->next_uuid = perfetto->groups.primary.count + 1;
    for (uint32_t i = 0; i < perfetto->catalog->tracks.count; i++) {
        perfetto->lanes[i].first = perfetto->next_uuid;
        perfetto->next_uuid += perfetto->lanes[i].count;
        perfetto_put_lane(perfetto, out, i);
    }
    if (perfetto->options->has_gpu_stages)
        perfetto_put_gpu_counters(perfetto, out);
    bool ok = write_packets(perfetto, out->data, out->size, err);
    out->size = 0;
    return ok;
}

static void release(struct perfetto *perfetto, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++)
        output_discard(&perfetto->buffers[i]);
    for (size_t i = 0; i < perfetto->catalog->tracks.count; i++) {
        mem_free(perfetto->lanes[i].of_event);
        mem_free(perfetto->lanes[i].starts);
        mem_free(perfetto->lanes[i].ends);
        array_free(&perfetto->lanes[i].packets);
    }
    mem_free(perfetto->buffers);
    mem_free(perfetto->lanes);
    mem_free(perfetto->locations);
    groups_free(&perfetto->groups);
    sequencer_destroy(&perfetto->turn);
    pthread_mutex_destroy(&perfetto->lock);
}

/* The preamble must come first, as events refer to its strings and tracks. Everything it allocates
 * is released here, also on failure. */
bool export_perfetto(const struct analysis *analysis, struct source *source, struct pool *pool,
                     const struct perfetto_options *options, struct output *out, struct error *err)
{
    const struct catalog *catalog = analysis->catalog;
    unsigned workers = pool_workers(pool);
    struct perfetto perfetto = {
        .sink = {.batch = take_batch, .cancel = cancel, .together = PARTS_TOGETHER},
        .analysis = analysis,
        .catalog = catalog,
        .options = options,
        .out = out,
        .epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns,
    };
    perfetto.lanes = mem_zeroed(catalog->tracks.count, sizeof *perfetto.lanes);
    perfetto.locations = locations_of(catalog);
    perfetto.buffers = mem_alloc(workers * sizeof *perfetto.buffers);
    for (unsigned i = 0; i < workers; i++)
        output_memory(&perfetto.buffers[i]);
    perfetto_find_places(&perfetto);
    groups_make(&perfetto.groups, catalog, &options->primary, &options->secondary);
    sequencer_init(&perfetto.turn);
    pthread_mutex_init(&perfetto.lock, NULL);
    pool_run(pool, catalog->tracks.count, perfetto_plan, &perfetto);
    if (options->devices)
        device_work_find(&perfetto.device_work, options->devices, catalog->tracks.count);
    if (options->has_flows && options->devices)
        device_flows_find(&perfetto.device_flows, options->devices);
    bool ok = write_preamble(&perfetto, err) && source_read(source, &perfetto.sink, pool, err) &&
              write_unsorted(&perfetto, err) && write_runs(&perfetto, err);
    array_free(&perfetto.device_flows);
    device_work_free(&perfetto.device_work);
    release(&perfetto, workers);
    return ok;
}
