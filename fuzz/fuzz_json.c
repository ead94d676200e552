/*
 * Fuzz target: any bytes as a Chrome trace, through everything `kymo view` and `kymo info` do with
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

/* What comes out is JSON, whatever went in. */
static void read_back(struct source *source, struct pool *pool, const struct analysis *analysis)
{
    struct error err;
    struct output out;
    output_memory(&out);
    if (!export_json(analysis, source, pool, false, &out, &err))
        __builtin_trap();
    struct json_reader in = json_read((struct text){out.data, out.size});
    struct json_value value;
    if (!json_read_value(&in, &value) || text_utf8_prefix(out.data, out.size) != out.size)
        __builtin_trap();
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
    if (!import_chrome_bytes("fuzzed", data, size, pool, &source, &err))
        return 0;
    if (!analyze(&analysis, source, pool, &err))
        __builtin_trap(); /* the first pass refuses what the second cannot read */
    write_all(source, pool, &analysis);
    read_back(source, pool, &analysis);
    analysis_free(&analysis);
    source_close(source);
    return 0;
}
