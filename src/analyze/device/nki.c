/*
 * Which instructions come from NKI kernels: those whose source is below the kernels' directory.
 */
#include "analyze/device/device.h"

/* Whether a path names something in a directory: "kernels" contains "kernels/softmax.py". */
static bool is_inside(const char *file, const char *directory)
{
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/')
        size--;
    return strncmp(file, directory, size) == 0 && (file[size] == '/' || file[size] == '\0');
}

static bool is_nki(const char *file, const char *directory, struct source_root *root)
{
    if (is_inside(file, directory))
        return true;
    char *found = source_file_find(root, file);
    mem_free(found);
    return found != NULL;
}

bool *device_nki_origins(const struct core_program *program, const char *directory)
{
    if (!directory)
        return NULL;
    struct source_root *root = source_root_open(directory);
    bool *origins = mem_zeroed(program->origin_count, sizeof *origins);
    ARRAY(bool) known = {0}; /* by file */
    struct intern files;
    intern_init(&files);
    *array_push(&known) = false; /* of "": none */
    for (uint32_t i = 0; i < program->origin_count; i++) {
        const char *file = program->origins[i].file;
        uint32_t id = intern_add(&files, text_of(file));
        if (id == known.count)
            *array_push(&known) = is_nki(file, directory, root);
        origins[i] = known.items[id];
    }
    source_root_close(root);
    intern_free(&files);
    array_free(&known);
    return origins;
}
