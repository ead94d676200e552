/*
 * Shared by the targets: everything `kymo view` and `kymo info` do with a profile, and a check that
 * exporting and importing it again gives the same profile.
 */
#ifndef KYMO_FUZZ_PIPELINE_H
#define KYMO_FUZZ_PIPELINE_H

#include "export/export.h"
#include "import/import.h"

static void write_all(struct source *source, struct pool *pool, const struct analysis *analysis)
{
    const struct text_style style = {.width = 100, .top = 5};
    const info_device_list no_devices = {0};
    struct error err;
    struct output out;
    output_memory(&out);
    export_summary_text(analysis, &style, &out);
    export_summary_json(analysis, false, &out);
    export_info_text(analysis, &no_devices, &style, &out);
    export_info_json(analysis, &no_devices, true, &out);
    export_json(analysis, source, pool, &(struct json_options){0}, &out, &err);
    output_discard(&out);
}

static uint64_t count_events(const struct source *source)
{
    uint64_t events = 0;
    const struct track *track;
    array_each (track, &source->catalog.tracks)
        events += track->events;
    return events;
}

/* The output is valid JSON whatever the input. */
static void read_back(struct source *source, struct pool *pool, const struct analysis *analysis)
{
    struct error err;
    struct output out;
    output_memory(&out);
    if (!export_json(analysis, source, pool, &(struct json_options){0}, &out, &err))
        __builtin_trap();
    struct json_reader in = json_read((struct text){out.data, out.size});
    struct json_value value;
    if (!json_read_value(&in, &value) || text_utf8_prefix(out.data, out.size) != out.size)
        __builtin_trap();
    struct source *again;
    if (!import_explorer_bytes("again", (const uint8_t *)out.data, out.size, &again, &err) ||
        !source_read(again, &sink_discard, pool, &err) ||
        count_events(again) != count_events(source))
        __builtin_trap();
    source_close(again);
    output_discard(&out);
}

/* Runs everything and closes the source. */
static void run_pipeline(struct source *source, struct pool *pool)
{
    struct analysis analysis;
    struct error err;
    if (!analyze(&analysis, source, pool, &err))
        __builtin_trap(); /* the first pass must reject what the second cannot read */
    write_all(source, pool, &analysis);
    read_back(source, pool, &analysis);
    analysis_free(&analysis);
    source_close(source);
}

#endif
