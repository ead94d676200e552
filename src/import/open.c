/*
 * Opens captures: determines the format of their files and has each format's importer read its own.
 */
#include "import/chrome/chrome.h"
#include "import/content.h"
#include "import/formats.h"
#include "import/merged/merged.h"
#include "import/neuron_explorer/explorer.h"
#include "import/neuron_systrace/systrace.h"
#include "import/ntff/device_source.h"
#include "import/recording/recording.h"
#include "import/xplane/xplane.h"

#include <stdio.h>

bool is_xplane_name(const char *name)
{
    struct text text = text_of(name);
    return text_ends(text, TEXT(".xplane.pb")) || text_ends(text, TEXT(".xplane.pb.gz")) ||
           text_ends(text, TEXT(".xplane.pb.zst"));
}

/* If the first bytes do not identify it, scan the keys of the whole file: a long list may precede
 * the key that does. */
enum json_format format_of_json(const char *path, const struct file *file)
{
    uint8_t *head = mem_alloc(CONTENT_HEAD_SIZE);
    size_t size = content_head(path, file, head);
    enum json_format format = json_recognize(head, size);
    mem_free(head);
    bool is_plain = stream_kind_of(file->data, file->size) == STREAM_PLAIN;
    bool is_undecided = format == JSON_FORMAT_UNKNOWN || format == JSON_FORMAT_OTHER;
    if (is_undecided && is_plain && file->size > CONTENT_HEAD_SIZE) {
        format = json_recognize(file->data, file->size);
        file_release(file, file->data, file->size);
    }
    return format;
}

/* By content; otherwise by name, unless it begins like JSON, which a protobuf message never
 * does. */
static bool is_xplane(const char *path, const struct file *file)
{
    uint8_t *head = mem_alloc(CONTENT_HEAD_SIZE);
    size_t size = content_head(path, file, head);
    bool is_json = size > 0 && (head[0] == '{' || head[0] == '[');
    bool is_space = xplane_recognize(head, size) || (is_xplane_name(path) && !is_json);
    mem_free(head);
    return is_space;
}

enum format format_of(const char *path, const struct file *file)
{
    static const enum format formats[] = {
        [JSON_FORMAT_NONE] = FORMAT_UNKNOWN,
        [JSON_FORMAT_OTHER] = FORMAT_UNKNOWN,
        [JSON_FORMAT_UNKNOWN] = FORMAT_CHROME,
        [JSON_FORMAT_CHROME] = FORMAT_CHROME,
        [JSON_FORMAT_SYSTEM_TRACE] = FORMAT_SYSTEM_TRACE,
        [JSON_FORMAT_EXPLORER] = FORMAT_EXPLORER,
        [JSON_FORMAT_DEVICE_PROFILE] = FORMAT_EXPLORER,
    };
    if (session_recognize(file->data, file->size) != SESSION_NONE)
        return FORMAT_RECORDING;
    if (ntff_recognize(file->data, file->size))
        return FORMAT_NTFF;
    return is_xplane(path, file) ? FORMAT_XPLANE : formats[format_of_json(path, file)];
}

bool format_refuse(const char *path, const struct file *file, struct error *err)
{
    uint8_t *head = mem_alloc(CONTENT_HEAD_SIZE);
    content_refuse(path, head, content_head(path, file, head), err);
    mem_free(head);
    return false;
}

/* The format of each of a capture's files. */
static bool find_formats(const struct capture *capture, enum format *formats, struct error *err)
{
    for (size_t i = 0; i < capture->files.count; i++) {
        const struct capture_file *input = &capture->files.items[i];
        struct file file = {0};
        if (!input->is_rings && !file_open(&file, input->path, err))
            return false;
        formats[i] = input->is_rings ? FORMAT_RECORDING : format_of(input->path, &file);
        bool ok = formats[i] != FORMAT_UNKNOWN || format_refuse(input->path, &file, err);
        file_close(&file);
        if (!ok)
            return false;
    }
    return true;
}

static bool can_be_merged(enum format format)
{
    return format != FORMAT_NTFF && format != FORMAT_EXPLORER;
}

/* Device profiles and processed profiles are not merged with others. */
static bool check_formats(const struct capture *capture, const enum format *formats,
                          struct error *err)
{
    for (size_t i = 1; i < capture->files.count; i++)
        if (formats[i] != formats[0] && !(can_be_merged(formats[i]) && can_be_merged(formats[0])))
            return error_in_file(err, capture->files.items[i].path,
                                 "differs in format from %s, and the two cannot be merged",
                                 capture->files.items[0].path);
    return true;
}

static bool import_format(enum format format, const struct capture *capture, struct pool *pool,
                          struct source **source, struct error *err)
{
    switch (format) {
    case FORMAT_CHROME:
        return import_chrome(capture, pool, source, err);
    case FORMAT_SYSTEM_TRACE:
        return import_system_trace(capture, pool, source, err);
    case FORMAT_RECORDING:
        return import_recording(capture, pool, source, err);
    case FORMAT_NTFF:
        return import_device(capture, pool, source, err);
    case FORMAT_EXPLORER:
        return import_explorer(capture, pool, source, err);
    default:
        return import_xplane(capture, pool, source, err);
    }
}

/* Opens the files of one format, if there are any. */
static bool open_part(const struct capture *capture, const enum format *formats, enum format format,
                      struct pool *pool, source_list *parts, struct error *err)
{
    struct capture part = *capture;
    struct source *source;
    memset(&part.files, 0, sizeof part.files);
    for (size_t i = 0; i < capture->files.count; i++)
        if (formats[i] == format)
            *array_push(&part.files) = capture->files.items[i];
    bool ok = part.files.count == 0 || import_format(format, &part, pool, &source, err);
    if (ok && part.files.count > 0) {
        *array_push(parts) = source;
        ok = catalog_check(&source->catalog, 0, part.files.items[0].path, err);
    }
    array_free(&part.files);
    return ok;
}

static bool open_parts(const struct capture *capture, const enum format *formats, struct pool *pool,
                       struct source **source, struct error *err)
{
    source_list parts = {0};
    bool ok = true;
    for (enum format format = FORMAT_UNKNOWN + 1; format < FORMATS && ok; format++)
        ok = open_part(capture, formats, format, pool, &parts, err);
    if (ok) {
        merged_leave_out(&parts);
        *source = merged_open(&parts);
    }
    for (size_t i = 0; i < parts.count; i++)
        source_close(parts.items[i]);
    array_free(&parts);
    return ok;
}

/* Symbols of C++ are shown as names; the tables keep both. What is left out of a name ("…") may be
 * all that tells two symbols apart: a checksum of the symbol does then. */
static void show_names(struct catalog *catalog)
{
    char name[MANGLED_MAX + sizeof " [01234567]"];
    for (size_t i = 0; i < catalog->types.count; i++) {
        struct event_type *type = &catalog->types.items[i];
        size_t size = type->display_name == STRING_NONE
                          ? mangled_read(catalog_text(catalog, type->name), name)
                          : 0;
        if (size > 0 && memmem(name, size, "…", strlen("…"))) {
            struct text symbol = catalog_text(catalog, type->name);
            size += (size_t)snprintf(name + size, sizeof name - size, " [%08x]",
                                     crc32_of(0, symbol.data, symbol.size));
        }
        if (size > 0)
            type->display_name = catalog_string(catalog, (struct text){name, size});
    }
}

bool import_capture(const struct capture *capture, struct pool *pool, struct source **source,
                    struct error *err)
{
    if (capture->tables) {
        if (!import_tables(capture, pool, source, err))
            return false;
        bool is_within = catalog_check(&(*source)->catalog, 0, capture->tables, err);
        if (!is_within)
            source_close(*source);
        return is_within;
    }
    enum format *formats = mem_alloc(capture->files.count * sizeof *formats);
    bool ok = find_formats(capture, formats, err) && check_formats(capture, formats, err) &&
              open_parts(capture, formats, pool, source, err);
    mem_free(formats);
    if (ok)
        show_names(&(*source)->catalog);
    return ok;
}
