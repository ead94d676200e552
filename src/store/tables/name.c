/*
 * Default names of profiles: a hash of the captured files and of the store version, so profiles in
 * an older format are not reused.
 */
#include "store/tables/schema.h"
#include "store/tables/workspace.h"

#include <stdio.h>

enum { CHUNK_SIZE = 4 << 20, STORE_VERSION = 1 };

struct hashing {
    struct file file;
    uint64_t *chunks;
};

static bool hash_chunk(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct hashing *hashing = context;
    const uint8_t *data = hashing->file.data + index * CHUNK_SIZE;
    size_t left = hashing->file.size - index * CHUNK_SIZE;
    size_t size = left < CHUNK_SIZE ? left : CHUNK_SIZE;
    hashing->chunks[index] = hash_content(data, size, 0);
    file_release(&hashing->file, data, size);
    return true;
}

bool content_name(char kind, const char *const *paths, size_t count, struct text settings,
                  struct pool *pool, char name[static CONTENT_NAME_SIZE], struct error *err)
{
    uint64_t state[3];
    for (uint64_t k = 0; k < 3; k++)
        state[k] = hash_content(settings.data, settings.size, STORE_VERSION + k);
    for (size_t i = 0; i < count; i++) {
        struct hashing hashing;
        if (!file_open(&hashing.file, paths[i], err))
            return false;
        size_t chunks = (hashing.file.size + CHUNK_SIZE - 1) / CHUNK_SIZE;
        hashing.chunks = mem_alloc(chunks * sizeof *hashing.chunks);
        pool_run(pool, chunks, hash_chunk, &hashing);
        for (size_t k = 0; k < 3; k++)
            state[k] = hash_content(hashing.chunks, chunks * sizeof *hashing.chunks, state[k]);
        mem_free(hashing.chunks);
        file_close(&hashing.file);
    }
    snprintf(name, CONTENT_NAME_SIZE, "%c_%016llx%016llx%08llx", kind, (unsigned long long)state[0],
             (unsigned long long)state[1], (unsigned long long)(state[2] >> 32));
    return true;
}
