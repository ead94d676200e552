/*
 * Identifies files that are not captures by their first bytes, for error messages.
 */
#include "import/content.h"

#include "neuron/program/neff.h"

#include "base/wire/wire.h"
#include "import/paths.h"
#include "sql/sql.h"

#define READABLE                                                                                   \
    "Kymo reads XPlane files (*.xplane.pb), Chrome traces and Neuron traces and profiles "         \
    "(*.json), each also as .gz or .zst, kymo inspect recordings, device profiles (*.ntff), "      \
    "directories of these, and "                                                                   \
    "directories of profile tables (*.parquet)"

#define RAW_DEVICE_PROFILES                                                                        \
    "Kymo reads device profiles (NTFF) made with its own runtime and compiler; for others it "     \
    "reads the JSON or Parquet files that the Neuron tools make from them"
#define LONELY_NEFF "a NEFF is the executed program; name its profile instead, an NTFF file"

static const struct {
    struct text start;
    const char *name;
} known_starts[] = {
    {{"\x89PNG\r\n\x1a\n", 8}, "PNG image"},
    {{"\xff\xd8\xff", 3}, "JPEG image"},
    {{"GIF8", 4}, "GIF image"},
    {{"%PDF-", 5}, "PDF document"},
    {{"\x7f"
      "ELF",
      4},
     "ELF program or library"},
    {{"PK\x03\x04", 4}, "zip archive"},
    {{"PK\x05\x06", 4}, "empty zip archive"},
    {{"PAR1", 4}, "Parquet file"},
    {{"SQLite format 3", 15}, "SQLite database"},
    {{"\x89HDF\r\n\x1a\n", 8}, "HDF5 file"},
    {{"\x93NUMPY", 6}, "NumPy array"},
    {{"BZh", 3}, "bzip2 archive"},
    {{"\xfd"
      "7zXZ",
      5},
     "xz archive"},
    {{"7z\xbc\xaf", 4}, "7-Zip archive"},
    {{"!<arch>\n", 8}, "static library"},
    {{"\x80\x02", 2}, "Python pickle"},
    {{"\x80\x03", 2}, "Python pickle"},
    {{"\x80\x04", 2}, "Python pickle"},
    {{"\x80\x05", 2}, "Python pickle"},
    {{"<!DOCTYPE html", 14}, "HTML page"},
    {{"<!doctype html", 14}, "HTML page"},
    {{"<html", 5}, "HTML page"},
    {{"<?xml", 5}, "XML file"},
    {{"#!", 2}, "script"},
};

size_t content_head(const char *path, const struct file *file,
                    uint8_t head[static CONTENT_HEAD_SIZE])
{
    struct error ignored;
    size_t size;
    if (file->size == 0)
        return 0;
    struct stream *stream = stream_open(path, file->data, file->size);
    stream_read(stream, head, CONTENT_HEAD_SIZE, &size, &ignored);
    stream_close(stream);
    return size;
}

static bool is_tar(const uint8_t *head, size_t size)
{
    enum { MAGIC_AT = 257 };
    return size > MAGIC_AT + 5 && memcmp(head + MAGIC_AT, "ustar", 5) == 0;
}

/* Whether it is text: UTF-8 with a few printable and no control characters. The head may end within
 * a character. */
static bool is_text(const uint8_t *head, size_t size)
{
    enum { MIN_PRINTABLE = 4, MAX_CHARACTER = 4 };
    size_t printable = 0;
    for (size_t i = 0; i < size; i++) {
        if ((head[i] < ' ' && !strchr("\t\n\r\f\033", head[i])) || head[i] == 0 || head[i] == 0x7f)
            return false;
        printable += head[i] > ' ';
    }
    return printable >= MIN_PRINTABLE &&
           text_utf8_prefix((const char *)head, size) + MAX_CHARACTER > size;
}

static bool is_json(const uint8_t *head, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    return at < size && (head[at] == '{' || head[at] == '[');
}

static bool is_protobuf(const uint8_t *head, size_t size)
{
    struct pb_reader in = pb_read(head, size);
    struct pb_field field;
    while (pb_next(&in, &field))
        ;
    return !in.problem && size < CONTENT_HEAD_SIZE;
}

const char *content_kind(const uint8_t *head, size_t size)
{
    struct text text = {(const char *)head, size};
    for (size_t i = 0; i < sizeof known_starts / sizeof *known_starts; i++)
        if (text_starts(text, known_starts[i].start))
            return known_starts[i].name;
    if (is_tar(head, size))
        return "tar archive";
    if (!is_text(head, size))
        return NULL;
    return is_json(head, size) ? "JSON without trace events" : "text file";
}

static bool ends_in_any(const char *path, const char *const *ends)
{
    for (; *ends; ends++)
        if (text_ends(text_of(path), text_of(*ends)))
            return true;
    return false;
}

static bool is_raw_device_profile(const char *path)
{
    return ends_in_any(path, (const char *const[]){".ntff", ".neff", NULL});
}

/* Formats recognized only by file name, and the fallback. */
static const char *name_of_binary(const char *path, const uint8_t *head, size_t size)
{
    if (ends_in_any(path, (const char *const[]){".pftrace", ".perfetto-trace", NULL}))
        return "Perfetto trace";
    if (ends_in_any(path, (const char *const[]){".nsys-rep", ".ncu-rep", ".qdrep", NULL}))
        return "Nsight report";
    return is_protobuf(head, size) ? "binary data, possibly a protobuf message of another type"
                                   : "binary data of an unknown kind";
}

bool content_refuse(const char *path, const uint8_t *head, size_t size, struct error *err)
{
    if (neff_recognize(head, size))
        return error_in_file(err, path, LONELY_NEFF);
    if (is_raw_device_profile(path))
        return error_in_file(err, path, "%s" RAW_DEVICE_PROFILES,
                             size == 0 ? "the file is empty; " : "");
    if (size == 0)
        return error_in_file(err, path, "the file is empty; " READABLE);
    const char *name = content_kind(head, size);
    if (name && text_equal(text_of(name), TEXT("Parquet file")))
        return error_in_file(
            err, path,
            "a single Parquet file; to read profile tables, name the directory that "
            "holds SystemProfileEvents.parquet");
    return error_in_file(err, path, "not a capture (%s); " READABLE,
                         name ? name : name_of_binary(path, head, size));
}

/* Describes one of the files in a directory. */
static const char *name_of_file(const char *path)
{
    struct file file;
    struct error ignored;
    if (file_is_directory(path))
        return "directory";
    if (!file_open(&file, path, &ignored))
        return "not readable";
    uint8_t *head = mem_alloc(CONTENT_HEAD_SIZE);
    size_t size = content_head(path, &file, head);
    const char *name = size == 0 ? "empty" : content_kind(head, size);
    if (!name)
        name = name_of_binary(path, head, size);
    mem_free(head);
    file_close(&file);
    return name;
}

/* Reports the most helpful of the possible reasons, in this order; without any, it names one file
 * and what that looks like. Always returns false. */
bool content_refuse_directory(const char *path, struct error *err)
{
    path_list entries = {0};
    char **entry;
    const char *first = NULL;
    bool has_raw = false, has_tables = false, is_dataset = false;
    if (!paths_list(path, &entries, err))
        return false;
    array_each (entry, &entries) {
        has_raw |= is_raw_device_profile(*entry);
        has_tables |= text_ends(text_of(*entry), TEXT(".parquet"));
        is_dataset |= strcmp(path_name(*entry), DATASET_FILE) == 0;
        if (!first || (file_is_directory(first) && !file_is_directory(*entry)))
            first = *entry;
    }
    if (!first)
        error_in_file(err, path, "the directory is empty; " READABLE);
    else if (is_dataset)
        error_in_file(err, path,
                      "this is a dataset of many ranks: kymo serve shows its runs, and kymo fleet "
                      "report finds their problems");
    else if (has_raw)
        error_in_file(err, path, "no captures found; " RAW_DEVICE_PROFILES);
    else if (has_tables)
        error_in_file(err, path,
                      "no captures found: the directory has Parquet files, but not "
                      "SystemProfileEvents.parquet, which every processed profile has");
    else
        error_in_file(err, path, "no captures found (%.60s: %s); " READABLE, path_name(first),
                      name_of_file(first));
    paths_free(&entries);
    return false;
}
