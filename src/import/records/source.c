/*
 * The source shared by importers of records.
 */
#include "import/records/records.h"

#include <stdatomic.h>

static bool read_files(struct source *base, struct sink *sink, struct pool *pool, struct error *err)
{
    (void)pool;
    struct record_source *source = (struct record_source *)base;
    struct pusher pusher;
    bool ok = true;
    atomic_store(&base->parts, source->files.count);
    atomic_store(&base->parts_done, 0);
    pusher_begin(&pusher, &base->catalog, source->expected, sink);
    for (uint32_t i = 0; i < source->files.count && ok; i++) {
        ok = source->read_file(source, i, &pusher, err);
        atomic_fetch_add(&base->parts_done, 1);
    }
    return pusher_end(&pusher, ok, err);
}

void record_source_init(struct record_source *source, const char *format, const char *const *keys,
                        uint32_t key_count)
{
    source->source.read = read_files;
    catalog_init(&source->source.catalog);
    source->source.catalog.format = format;
    lane_table_init(&source->lanes);
    record_add_keys(&source->source.catalog, keys, key_count);
}

bool record_source_finish(struct record_source *source, bool ok, struct source **result)
{
    struct catalog *catalog = &source->source.catalog;
    if (!ok) {
        source_close(&source->source);
        return false;
    }
    json_files_align(catalog, &source->files);
    source->expected = mem_zeroed(catalog->tracks.count, sizeof *source->expected);
    for (size_t i = 0; i < catalog->tracks.count; i++)
        source->expected[i] = catalog->tracks.items[i].events;
    *result = &source->source;
    return true;
}

void record_source_free(struct record_source *source)
{
    json_files_free(&source->files);
    lane_table_free(&source->lanes);
    idmap_free(&source->types);
    mem_free(source->expected);
    catalog_free(&source->source.catalog);
}
