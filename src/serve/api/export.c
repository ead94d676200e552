/*
 * GET export: the profile as a tar archive of its files, a table as CSV, or the profile in a format
 * of another tool. The first two are streamed, so size does not matter; the others are written to a
 * file first, by a child process that reads the profile like a capture.
 */
#include "serve/api/handlers.h"

#include "export/export.h"
#include "serve/jobs/children.h"
#include "store/tables/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAR_BLOCK = 512 };

/* A file of a tar archive, opened in advance so that its content cannot change under the header. */
struct packed_file {
    char header[TAR_BLOCK];
    int fd;
    uint64_t size, padded;
};

struct archive {
    ARRAY(struct packed_file) files;
    uint64_t size;
    size_t at;           /* index of the current file */
    uint64_t file_start; /* its offset in the archive */
};

static void archive_free(void *context)
{
    struct archive *archive = context;
    struct packed_file *file;
    array_each (file, &archive->files)
        close(file->fd);
    array_free(&archive->files);
    mem_free(archive);
}

/* POSIX ustar; sizes that do not fit in 11 octal digits are binary, the GNU extension. */
static void fill_header(struct packed_file *file, const char *folder, const char *name,
                        int64_t modified)
{
    char *header = file->header;
    snprintf(header, 100, "%.40s/%.50s", folder, name);
    snprintf(header + 100, 8, "%07o", 0644);
    snprintf(header + 108, 8, "%07o", 0);
    snprintf(header + 116, 8, "%07o", 0);
    if (file->size >> 33) {
        header[124] = (char)0x80;
        for (int i = 0; i < 8; i++)
            header[135 - i] = (char)(file->size >> (8 * i));
    } else {
        snprintf(header + 124, 12, "%011llo", (unsigned long long)file->size);
    }
    snprintf(header + 136, 12, "%011llo", (unsigned long long)modified & 077777777777ull);
    header[156] = '0';
    memcpy(header + 257, "ustar", sizeof "ustar");
    header[263] = header[264] = '0';
    memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
}

static bool archive_add(struct archive *archive, const struct opened *opened, const char *name)
{
    char *path = path_format("%s/%s", opened_directory(opened), name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | (opened_is_rank(opened) ? 0 : O_NOFOLLOW));
    struct stat status;
    mem_free(path);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    struct packed_file *file = array_push(&archive->files);
    *file = (struct packed_file){.fd = fd, .size = (uint64_t)status.st_size};
    file->padded = TAR_BLOCK + ((file->size + TAR_BLOCK - 1) & ~(uint64_t)(TAR_BLOCK - 1));
    fill_header(file, "profile", name, (int64_t)status.st_mtim.tv_sec);
    archive->size += file->padded;
    return true;
}

/* MHD asks for ascending positions, so the current file only moves forward. A file that became
 * shorter ends the response with an error: the header has already promised its size. */
static ssize_t archive_read(void *context, uint64_t position, char *buffer, size_t size)
{
    struct archive *archive = context;
    while (archive->at < archive->files.count &&
           position >= archive->file_start + archive->files.items[archive->at].padded)
        archive->file_start += archive->files.items[archive->at++].padded;
    if (archive->at == archive->files.count) { /* end of archive: two zero blocks */
        uint64_t left = archive->size - position;
        size = size < left ? size : (size_t)left;
        memset(buffer, 0, size);
        return size ? (ssize_t)size : MHD_CONTENT_READER_END_OF_STREAM;
    }
    const struct packed_file *file = &archive->files.items[archive->at];
    uint64_t inside = position - archive->file_start;
    if (inside < TAR_BLOCK) {
        size_t left = (size_t)(TAR_BLOCK - inside);
        size = size < left ? size : left;
        memcpy(buffer, file->header + inside, size);
        return (ssize_t)size;
    }
    uint64_t offset = inside - TAR_BLOCK;
    if (offset < file->size) {
        uint64_t left = file->size - offset;
        ssize_t got = pread(file->fd, buffer, size < left ? size : (size_t)left, (off_t)offset);
        return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    uint64_t left = file->padded - inside;
    size = size < left ? size : (size_t)left;
    memset(buffer, 0, size);
    return (ssize_t)size;
}

/* Replaces characters that are unsafe in a quoted header value. */
static void put_file_name(struct reply *reply, const char *name, const char *ending)
{
    char clean[256];
    size_t size = 0;
    for (; *name && size < 200; name++)
        clean[size++] = *name > ' ' && *name < 0x7f && !strchr("\"\\/%;", *name) ? *name : '_';
    clean[size] = '\0';
    reply_header(reply, "Content-Disposition", "attachment; filename=\"%s%s\"", clean, ending);
}

static void export_archive(struct request *request, struct reply *reply, struct opened *opened)
{
    struct archive *archive = mem_zeroed(1, sizeof *archive);
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        char *name = path_format("%s.parquet", table_schemas[i].name);
        archive_add(archive, opened, name);
        mem_free(name);
    }
    archive_add(archive, opened, TIMELINE_FILE);
    archive_add(archive, opened, SUMMARY_FILE);
    archive_add(archive, opened, MODULES_FILE);
    archive->size += (uint64_t)2 * TAR_BLOCK;
    reply->type = "application/x-tar";
    put_file_name(reply, request->subject->name, ".tar");
    reply->response = MHD_create_response_from_callback(archive->size, STREAM_CHUNK, archive_read,
                                                        archive, archive_free);
}

/* A table being streamed as CSV. */
struct csv {
    struct profile_query query;
    struct opened *opened;
    struct sql_result *result;
    struct output chunk;
    size_t sent; /* bytes of chunk */
    bool is_over, is_failed;
};

static void csv_free(void *context)
{
    struct csv *csv = context;
    sql_free(csv->result);
    profile_query_end(&csv->query);
    close_profile(csv->opened);
    output_discard(&csv->chunk);
    mem_free(csv);
}

static ssize_t csv_read(void *context, uint64_t position, char *buffer, size_t size)
{
    (void)position;
    struct csv *csv = context;
    struct error err;
    while (csv->sent == csv->chunk.size && !csv->is_over) {
        size_t rows = 0;
        csv->chunk.size = csv->sent = 0;
        csv->is_failed = !sql_next(csv->result, &rows, &err);
        csv->is_over = rows == 0;
        export_csv_rows(csv->result, rows, &csv->chunk);
    }
    size_t left = csv->chunk.size - csv->sent;
    if (left == 0)
        return csv->is_failed ? MHD_CONTENT_READER_END_WITH_ERROR
                              : MHD_CONTENT_READER_END_OF_STREAM;
    size = size < left ? size : left;
    memcpy(buffer, csv->chunk.data + csv->sent, size);
    csv->sent += size;
    return (ssize_t)size;
}

static bool is_table(const char *name)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (strcmp(table_schemas[i].name, name) == 0)
            return true;
    return false;
}

/* Keeps the profile open until the last row was sent. */
static void export_csv(struct request *request, struct reply *reply, struct opened *opened)
{
    const char *table = request_argument(request, "table");
    struct output sql;
    if (!table || !is_table(table) || !has_table(opened, table)) {
        reply_error(reply, table ? MHD_HTTP_NOT_FOUND : MHD_HTTP_BAD_REQUEST,
                    "table must name a table of the profile");
        return;
    }
    struct csv *csv = mem_zeroed(1, sizeof *csv);
    if (!profile_query_begin(&csv->query, opened, request, QUERY_EXPORT, reply)) {
        mem_free(csv);
        return;
    }
    csv->opened = opened_hold(opened);
    output_memory(&csv->chunk);
    output_memory(&sql);
    output_format(&sql, "FROM \"%s\"", table);
    csv->result = profile_query_run(&csv->query, &sql, reply);
    output_discard(&sql);
    if (!csv->result) {
        csv_free(csv);
        return;
    }
    export_csv_header(csv->result, &csv->chunk);
    reply->type = "text/csv; charset=utf-8";
    put_file_name(reply, table, ".csv");
    reply->response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_CHUNK, csv_read, csv, csv_free);
}

/* A format of another tool, and the command that writes it. */
struct tool_format {
    const char *name, *ending, *type;
    const char *command, *option; /* of `kymo view`: its --output-format */
};
static const struct tool_format tool_formats[] = {
    {"perfetto", ".pftrace", "application/octet-stream", "view", "perfetto"},
    {"json", ".json", "application/json", "view", "json"},
    {"xplane", ".xplane.pb", "application/octet-stream", "convert", NULL},
};

static const struct tool_format *find_format(const char *name)
{
    for (size_t i = 0; name && i < sizeof tool_formats / sizeof *tool_formats; i++)
        if (strcmp(tool_formats[i].name, name) == 0)
            return &tool_formats[i];
    return NULL;
}

/* Writes the file with a command; returns why it failed, or NULL. */
static char *write_file(const struct request *request, const struct tool_format *format,
                        const char *profile, const char *folder, const char *path)
{
    char threads[24];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(threads, sizeof threads, "%ld", cores > 1 ? cores / 2 : 1);
    const char *view[] = {"kymo", "view",   "--output-format", format->option, "--output-file",
                          path,   "--jobs", threads,           "--",           profile,
                          NULL};
    const char *convert[] = {"kymo", "convert", "--jobs", threads, "--", profile, path, NULL};
    return child_run(format->option ? view : convert, folder, request_is_abandoned, request);
}

static void send_file(struct reply *reply, const char *path, const struct tool_format *format)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) != 0) {
        if (fd >= 0)
            close(fd);
        reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "cannot read the exported file: %s",
                    strerror(errno));
        return;
    }
    reply->type = format->type;
    reply->response = MHD_create_response_from_fd64((uint64_t)status.st_size, fd);
}

/* Holds a query slot while the child process writes, which bounds concurrent exports. The temporary
 * folder is gone before the response is sent; its file lives on through the open descriptor. */
static void export_for_tool(struct request *request, struct reply *reply, struct opened *opened,
                            const struct tool_format *format)
{
    struct profile_query slot;
    struct error err;
    if (!profile_query_begin(&slot, opened, request, QUERY_EXPORT, reply))
        return;
    char *exports = path_format("%s/exports", request->server->data_path);
    char *folder = path_format("%s/XXXXXX", exports);
    if (!make_directories(exports, &err)) {
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    } else if (!mkdtemp(folder)) {
        reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "cannot create %s: %s", folder,
                    strerror(errno));
    } else {
        char *path = path_format("%s/profile%s", folder, format->ending);
        char *reason = write_file(request, format, opened_directory(opened), folder, path);
        if (reason)
            reply_error(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "cannot export: %s", reason);
        else
            send_file(reply, path, format);
        if (reply->response)
            put_file_name(reply, request->subject->name, format->ending);
        folder_remove(folder); /* the open file stays readable */
        mem_free(reason);
        mem_free(path);
    }
    mem_free(folder);
    mem_free(exports);
    profile_query_end(&slot);
}

void get_export(struct request *request, struct reply *reply)
{
    const char *format = request_argument(request, "format");
    struct opened *opened = request->subject->opened;
    if (format && strcmp(format, "csv") == 0)
        export_csv(request, reply, opened);
    else if (format && strcmp(format, "parquet-tar") == 0)
        export_archive(request, reply, opened);
    else if (find_format(format))
        export_for_tool(request, reply, opened, find_format(format));
    else
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "format must be parquet-tar, perfetto, json, xplane, or csv with a table");
}
