/*
 * Reads HLO modules that are kept with a profile.
 */
#include "report/xprof/modules.h"

#include "base/wire/wire.h"
#include "report/xprof/embedded_queries.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOUND_LABEL, FOUND_FILE, FOUND_OFFSET, FOUND_SIZE, FOUND_WANTED };

/* A frame of a file of the profile, which is not trusted to name one outside of it. */
static bool read_frame(const char *directory, const char *name, uint64_t offset, uint64_t size,
                       uint8_t **frame, struct error *err)
{
    struct stat status;
    if (strchr(name, '/'))
        return error_set(err, "HloModule names a file outside of the profile");
    char *path = path_format("%s/%s", directory, name);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool ok = file >= 0 && fstat(file, &status) == 0;
    if (!ok)
        error_in_file(err, path, "%s", strerror(errno));
    else if (offset > (uint64_t)status.st_size || size > (uint64_t)status.st_size - offset)
        ok = error_in_file(err, path, "a module lies beyond its end");
    *frame = ok ? mem_alloc((size_t)size + 1) : NULL;
    for (size_t done = 0; ok && done < size;) {
        ssize_t got = pread(file, *frame + done, (size_t)size - done, (off_t)(offset + done));
        ok = got > 0 || error_in_file(err, path, "cannot be read");
        done += ok ? (size_t)got : 0;
    }
    if (file >= 0)
        close(file);
    mem_free(path);
    return ok;
}

static bool unpack_module(struct kept_module *kept, const uint8_t *frame, size_t size,
                          struct error *err)
{
    return stream_unpack(kept->label, frame, size, &kept->bytes, &kept->size, err) &&
           hlo_module_read(&kept->module, kept->bytes, kept->size, err);
}

static bool load_row(struct kept_module *kept, const struct tool_run *run,
                     const struct sql_result *found, struct error *err)
{
    struct text label = sql_value(found, 0, FOUND_LABEL), name = sql_value(found, 0, FOUND_FILE);
    uint64_t size = (uint64_t)cell_number(sql_value(found, 0, FOUND_SIZE));
    if (!text_equal(sql_value(found, 0, FOUND_WANTED), TEXT("true")))
        return error_set(err, "no module '%s' is kept with the profile", run->options->module);
    kept->label = mem_copy_text(label.data, label.size);
    char *file = mem_copy_text(name.data, name.size);
    uint8_t *frame = NULL;
    bool ok =
        read_frame(run->options->directory, file,
                   (uint64_t)cell_number(sql_value(found, 0, FOUND_OFFSET)), size, &frame, err) &&
        unpack_module(kept, frame, (size_t)size, err);
    mem_free(frame);
    mem_free(file);
    return ok;
}

bool module_load(struct kept_module *kept, struct tool_run *run, bool *is_there, struct error *err)
{
    struct sql_result *found = NULL;
    size_t rows = 0;
    *kept = (struct kept_module){0};
    bool ok = tool_query(&found, run, xprof_sql_module, err) && sql_next(found, &rows, err);
    *is_there = ok && rows > 0;
    if (*is_there)
        ok = load_row(kept, run, found, err);
    sql_free(found);
    return ok;
}

void module_free(struct kept_module *kept)
{
    hlo_module_free(&kept->module);
    mem_free(kept->bytes);
    mem_free(kept->label);
}
