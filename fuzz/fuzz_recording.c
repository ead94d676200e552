/*
 * Fuzz target: any input as a recording's events, or as the rings of a killed program, through
 * everything `kymo view` and `kymo info` do with one. Input that begins with "KYMORING" is rings:
 * pieces of files, each with its file, size and offset.
 */
#include "pipeline.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING_FILES = 8, MAX_FILE_SIZE = 128 << 10 };

struct piece {
    uint8_t file, unused;
    uint16_t size;
    uint32_t offset;
};

static const char *const ring_files[RING_FILES] = {
    "session", "names", "lane_0", "lane_1", "cpu_util.pb", "host_mem.pb", "gpu_trace.pb", "pack_0"};
static char directory[64];

static void remove_directory(void)
{
    char path[128];
    for (size_t i = 0; i < RING_FILES; i++) {
        snprintf(path, sizeof path, "%s/rings/%s", directory, ring_files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/rings", directory);
    rmdir(path);
    rmdir(directory);
}

static void open_files(int files[static RING_FILES])
{
    char path[128];
    if (!directory[0]) {
        snprintf(directory, sizeof directory, "/tmp/kymo-fuzz-XXXXXX");
        if (!mkdtemp(directory))
            abort();
        snprintf(path, sizeof path, "%s/rings", directory);
        mkdir(path, 0700);
        atexit(remove_directory);
    }
    for (size_t i = 0; i < RING_FILES; i++) {
        snprintf(path, sizeof path, "%s/rings/%s", directory, ring_files[i]);
        files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (files[i] < 0)
            abort();
    }
}

static void write_rings(const uint8_t *data, size_t size)
{
    int files[RING_FILES];
    struct piece piece;
    open_files(files);
    while (size >= sizeof piece) {
        memcpy(&piece, data, sizeof piece);
        data += sizeof piece;
        size -= sizeof piece;
        size_t used = piece.size < size ? piece.size : size;
        if (pwrite(files[piece.file % RING_FILES], data, used, piece.offset % MAX_FILE_SIZE) < 0)
            abort();
        data += used;
        size -= used;
    }
    for (size_t i = 0; i < RING_FILES; i++)
        close(files[i]);
}

static void try_rings(const uint8_t *data, size_t size, struct pool *pool)
{
    struct capture capture;
    struct source *source;
    struct error err;
    write_rings(data, size);
    if (capture_find(&capture, directory, &err) && import_capture(&capture, pool, &source, &err))
        run_pipeline(source, pool);
    capture_free(&capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char rings[] = "KYMORING";
    static struct pool *pool;
    if (!pool)
        pool = pool_create(1);
    struct error err;
    struct source *source;
    if (size >= sizeof rings - 1 && memcmp(data, rings, sizeof rings - 1) == 0)
        try_rings(data + sizeof rings - 1, size - (sizeof rings - 1), pool);
    else if (import_recording_bytes("fuzzed", data, size, &source, &err))
        run_pipeline(source, pool);
    return 0;
}
