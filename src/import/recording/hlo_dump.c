/*
 * A dump has many files for each program. The one that ran is
 * module_0012.jit_step.sm_9.0_gpu_after_optimizations.hlo.pb, where 12 is its id in events.
 */
#include "import/recording/hlo_dump.h"

#include "import/hlo.h"
#include "import/json_file.h"
#include "import/paths.h"

#include <stdio.h>
#include <stdlib.h>

/* The id of an optimized program by its file's name. */
static bool program_id(const char *name, uint64_t *id)
{
    static const char prefix[] = "module_";
    char *end;
    if (strncmp(name, prefix, strlen(prefix)) != 0 ||
        !text_ends(text_of(name), TEXT("after_optimizations.hlo.pb")))
        return false;
    *id = strtoull(name + strlen(prefix), &end, 10);
    return *end == '.' && end > name + strlen(prefix);
}

static bool read_program(struct catalog *catalog, uint32_t host, const char *path, uint64_t id)
{
    struct file file;
    struct error ignored;
    if (!file_open(&file, path, &ignored))
        return false;
    uint8_t *kept = arena_alloc(&catalog->arena, file.size + 1);
    memcpy(kept, file.data, file.size);
    bool ok = hlo_import(catalog, host, STRING_NONE, id, kept, file.size);
    file_close(&file);
    if (ok) {
        struct program *program = &catalog->programs.items[catalog->programs.count - 1];
        struct text name = catalog_text(catalog, program->name);
        char *label = path_format("%.*s(%llu)", (int)name.size, name.data, (unsigned long long)id);
        program->label = catalog_string(catalog, text_of(label));
        mem_free(label);
    }
    return ok;
}

void hlo_dump_read(struct catalog *catalog, uint32_t host, struct text session)
{
    char *directory = path_format("%.*s/hlo", (int)session.size, session.data);
    path_list files = {0};
    struct error ignored;
    char **file;
    uint64_t id;
    if (file_is_directory(directory) && paths_list(directory, &files, &ignored))
        array_each (file, &files)
            if (program_id(path_name(*file), &id) && !read_program(catalog, host, *file, id))
                import_message(catalog, host, true, "hlo/%s is damaged or cannot be read",
                               path_name(*file));
    paths_free(&files);
    mem_free(directory);
}
