/*
 * Fuzz target: any bytes as an XPlane file, through everything `kymo view` and `kymo info` do with
 * one.
 */
#include "export/export.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(struct source *source, struct pool *pool, const struct analysis *analysis)
{
    const struct text_style style = {.width = 100, .top = 5};
    struct error err;
    struct output out;
    output_memory(&out);
    export_summary_text(analysis, &style, &out);
    export_summary_json(analysis, false, &out);
    export_info_text(analysis, &style, &out);
    export_info_json(analysis, true, &out);
    export_json(analysis, source, pool, false, &out, &err);
    output_discard(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pool *pool;
    if (!pool)
        pool = pool_create(1);
    struct error err;
    struct source *source;
    struct analysis analysis;
    if (!import_xplane_bytes("fuzzed", data, size, pool, &source, &err))
        return 0;
    if (analyze(&analysis, source, pool, &err)) {
        write_all(source, pool, &analysis);
        analysis_free(&analysis);
    }
    source_close(source);
    return 0;
}
