/*
 * XPlane export: a profile as JAX's profiler writes it, for XProf, TensorBoard and jaxlib. Profiles
 * from XPlane files are written back unchanged, event by event and stat by stat.
 */
#include "export/xplane/writer_passes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_NAME = 200, MAX_PATH = 4096 };

#define SUFFIX ".xplane.pb"

static void space_init(struct xspace *space, struct source *source)
{
    *space = (struct xspace){.source = source, .catalog = &source->catalog};
    space->is_copy = strcmp(source->catalog.format, "xplane") == 0;
    space->key_unknown =
        space->is_copy ? intern_find(&source->catalog.strings, TEXT("?")) : INTERN_NONE;
    if (!space->is_copy)
        space->key_value = catalog_key(&source->catalog, TEXT("value"));
    space->lacks_value = mem_zeroed(source->catalog.tracks.count, sizeof *space->lacks_value);
}

static void space_free(struct xspace *space)
{
    struct xspace_plane *plane;
    array_each (plane, &space->planes) {
        idmap_free(&plane->stats);
        array_free(&plane->stat_ids);
        idmap_free(&plane->types);
        mem_free((char *)plane->front.data);
        mem_free((char *)plane->back.data);
    }
    array_free(&space->planes);
    array_free(&space->lines);
    mem_free(space->line_of);
    mem_free((void *)space->lacks_value);
    char **block;
    array_each (block, &space->blocks)
        mem_free(*block);
    array_free(&space->blocks);
    array_free(&space->chunks);
}

/* All passes except writing. */
static bool space_make(struct xspace *space, struct source *source, struct xspace_guest *guest,
                       struct pool *pool, struct error *err)
{
    xspace_uses uses = {0};
    space_init(space, source);
    space->guest = guest;
    xspace_xprof_init(space);
    xspace_lay_out(space);
    bool ok = xspace_survey(space, pool, &uses, err);
    if (ok)
        xspace_name(space, &uses);
    array_free(&uses);
    return ok && xspace_encode(space, pool, err);
}

static bool write_whole(struct source *source, struct xspace_guest *guest, struct pool *pool,
                        uint64_t max_bytes, struct output *out, struct error *err)
{
    struct xspace space;
    struct xspace_plan plan = {0};
    size_t hosts = source->catalog.hosts.count;
    if (hosts > 1)
        return error_set(
            err,
            "the capture has %zu hosts, but an XPlane file holds one; write to a directory instead",
            hosts);
    bool ok = space_make(&space, source, guest, pool, err) &&
              xspace_plan_files(&space, max_bytes, &plan, err);
    if (ok && plan.files.count > 1)
        ok = error_set(err,
                       "the file would exceed the %llu bytes that XPlane readers accept; write to "
                       "a directory, which gets several files",
                       (unsigned long long)max_bytes);
    ok = ok && xspace_write(&space, &plan, 0, out, err);
    xspace_plan_free(&plan);
    space_free(&space);
    return ok;
}

bool export_xplane(struct source *source, struct pool *pool, uint64_t max_bytes, struct output *out,
                   struct error *err)
{
    return write_whole(source, NULL, pool, max_bytes, out, err);
}

bool export_xplane_with(struct source *source, const char *other, struct pool *pool,
                        uint64_t max_bytes, struct output *out, struct error *err)
{
    struct xspace_guest guest;
    const struct catalog *catalog = &source->catalog;
    if (strcmp(catalog->format, "xplane") == 0)
        return error_set(err, "the capture is XPlane; only recordings can be merged with another");
    if (catalog->hosts.count != 1 || catalog->hosts.items[0].start_epoch_ns == TIME_UNSET)
        return error_set(err, "only a recording of one process can be merged with another capture");
    bool ok = xspace_guest_open(&guest, other, err) &&
              write_whole(source, &guest, pool, max_bytes, out, err);
    xspace_guest_close(&guest);
    return ok;
}

/* As if merged with an empty capture that begins at the clock's zero. XLA merges planes of equal
 * names, and lines of equal ids in them. */
bool export_xplane_plugin(struct source *source, struct pool *pool, uint64_t max_bytes,
                          struct output *out, struct error *err)
{
    struct xspace_guest guest = {.plane = XSPACE_NO_PLANE, .suffix = " (Kymo)"};
    return write_whole(source, &guest, pool, max_bytes, out, err);
}

/* The files written for a session. */
struct session_files {
    const char *directory;
    struct intern names; /* the empty string, then the files written so far, in order */
};

static void path_of(const struct session_files *files, uint32_t name, char path[MAX_PATH])
{
    snprintf(path, MAX_PATH, "%s/%s", files->directory, intern_text(&files->names, name).data);
}

/* A host name as a file name, without suffix. */
static int clean_name(struct text host, char name[static MAX_NAME + 1])
{
    size_t size = host.size < MAX_NAME ? host.size : MAX_NAME;
    size = text_utf8_prefix(host.data, size);
    for (size_t i = 0; i < size; i++) {
        bool is_bad = (unsigned char)host.data[i] < ' ' || host.data[i] == '/' ||
                      host.data[i] == 0x7F || (i == 0 && host.data[i] == '.');
        name[i] = host.data[i];
        if (is_bad)
            name[i] = '_';
    }
    name[size] = '\0';
    return size > 0 ? (int)size : snprintf(name, MAX_NAME + 1, "host");
}

/* "host.xplane.pb", then "host_1.xplane.pb" and so on. */
static uint32_t take_name(struct session_files *files, struct text host)
{
    char clean[MAX_NAME + 1], name[MAX_NAME + 64];
    clean_name(host, clean);
    int size = snprintf(name, sizeof name, "%s" SUFFIX, clean);
    for (unsigned i = 1;
         intern_find(&files->names, (struct text){name, (size_t)size}) != INTERN_NONE; i++)
        size = snprintf(name, sizeof name, "%s_%u" SUFFIX, clean, i);
    return intern_add(&files->names, (struct text){name, (size_t)size});
}

static bool write_file(const struct xspace *space, const struct xspace_plan *plan, size_t number,
                       const char *path, struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    if (xspace_write(space, plan, number, &out, err))
        return output_commit(&out, err);
    output_discard(&out);
    return false;
}

static bool write_files(const struct xspace *space, const struct xspace_plan *plan,
                        struct session_files *files, struct error *err)
{
    const struct catalog *catalog = space->catalog;
    char path[MAX_PATH];
    for (size_t i = 0; i < plan->files.count; i++) {
        const struct host *host = &catalog->hosts.items[plan->files.items[i].host];
        uint32_t name = take_name(files, catalog_text(catalog, host->name));
        path_of(files, name, path);
        if (write_file(space, plan, i, path, err))
            continue;
        while (--name > 0) { /* remove the incomplete session */
            path_of(files, name, path);
            unlink(path);
        }
        return false;
    }
    return true;
}

/* Removes files of an earlier session: readers would merge them with the new ones. */
static void remove_old_files(const struct session_files *files)
{
    DIR *stream = opendir(files->directory);
    const struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        struct text name = text_of(entry->d_name);
        if (text_ends(name, TEXT(SUFFIX)) && intern_find(&files->names, name) == INTERN_NONE)
            unlinkat(dirfd(stream), entry->d_name, 0);
    }
    if (stream)
        closedir(stream);
}

bool export_xplane_session(struct source *source, struct pool *pool, uint64_t max_bytes,
                           const char *directory, struct error *err)
{
    struct xspace space;
    struct xspace_plan plan = {0};
    struct session_files files = {.directory = directory};
    intern_init(&files.names);
    bool ok = space_make(&space, source, NULL, pool, err) &&
              xspace_plan_files(&space, max_bytes, &plan, err) &&
              write_files(&space, &plan, &files, err);
    if (ok)
        remove_old_files(&files);
    xspace_plan_free(&plan);
    intern_free(&files.names);
    space_free(&space);
    return ok;
}
