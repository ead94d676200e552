/*
 * SourceFile: the text of source files that the profile names, as far as they are below the
 * directories that the user gave.
 */
#include "store/tables/fill.h"
#include "store/tables/profile.h"

#include <string.h>

enum { MAX_TOTAL = 64 << 20 };

struct sources {
    struct filler filler;
    struct idmap seen; /* strings of the catalog */
    uint64_t bytes;
    struct source_root *nki, *framework; /* NULL: not given */
};

static int64_t count_lines(const struct file *file)
{
    int64_t lines = file->size > 0 && file->data[file->size - 1] != '\n';
    for (size_t i = 0; i < file->size; i++)
        lines += file->data[i] == '\n';
    return lines;
}

static void put_file(struct sources *sources, uint32_t name, const char *path, const char *kind)
{
    struct filler *filler = &sources->filler;
    struct file file;
    struct error ignored;
    if (!file_open(&file, path, &ignored))
        return;
    bool fits = file.size <= SOURCE_FILE_MAX_BYTES && sources->bytes + file.size <= MAX_TOTAL;
    if (fits && fill_continue(filler)) {
        sources->bytes += file.size;
        rows_name(&filler->rows, SOURCE_NAME, name);
        fill_word(filler, SOURCE_KIND, text_of(kind));
        rows_text(&filler->rows, SOURCE_PATH, text_of(path));
        rows_int(&filler->rows, SOURCE_LINES, count_lines(&file));
        rows_text(&filler->rows, SOURCE_CONTENT,
                  (struct text){file.data ? (const char *)file.data : "", file.size});
    }
    file_close(&file);
}

/* A name of the catalog; kernels come first, as they may lie among the framework's files. */
static void put_name(struct sources *sources, uint32_t name)
{
    if (name == 0 || idmap_get(&sources->seen, name) != IDMAP_NONE)
        return;
    idmap_put(&sources->seen, name, 0);
    const char *file = catalog_text(sources->filler.catalog, name).data;
    char *nki = source_file_find(sources->nki, file);
    char *framework = nki ? NULL : source_file_find(sources->framework, file);
    if (nki || framework)
        put_file(sources, name, nki ? nki : framework, nki ? "nki" : "framework");
    mem_free(nki);
    mem_free(framework);
}

bool make_source_files(struct profile_maker *maker, struct error *err)
{
    const struct profile_options *options = maker->options;
    if (!options->nki_source_root && !options->framework_source_root)
        return true;
    struct sources sources = {.filler = fill_begin(maker, TABLE_SOURCE_FILES, err),
                              .nki = source_root_open(options->nki_source_root),
                              .framework = source_root_open(options->framework_source_root)};
    const struct catalog *catalog = sources.filler.catalog;
    const struct program *program;
    array_each (program, &catalog->programs) {
        for (size_t i = 0; i < program->frames.count; i++)
            put_name(&sources, program->frames.items[i].file);
        for (size_t i = 0; i < program->operations.count; i++)
            put_name(&sources, program->operations.items[i].file);
    }
    const uint32_t *file;
    array_each (file, &maker->python_files)
        put_name(&sources, *file);
    idmap_free(&sources.seen);
    source_root_close(sources.nki);
    source_root_close(sources.framework);
    return fill_end(&sources.filler);
}
