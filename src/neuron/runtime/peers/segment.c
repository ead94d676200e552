/*
 * Segments are mapped once, larger than they will be; the file grows as needed. They cannot shrink,
 * so that a reader never finds a page gone.
 */
#include "neuron/runtime/peers/segment.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = 4096 };
static const uint64_t window = UINT64_C(16)
                               << 30; /* of addresses; pages are as large as the file */

void segment_open(struct segment *segment)
{
    *segment = (struct segment){.file = -1};
    pthread_mutex_init(&segment->lock, NULL);
    int file = memfd_create("kymo-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return;
    void *memory = MAP_FAILED;
    if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0 && ftruncate(file, ALIGNMENT) == 0 &&
        getrandom(segment->nonce, SEGMENT_NONCE, 0) == SEGMENT_NONCE)
        memory = mmap(NULL, window, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        close(file);
        return;
    }
    segment->file = file;
    segment->memory = memory;
    segment->size = ALIGNMENT;
    memcpy(segment->memory, segment->nonce, SEGMENT_NONCE);
}

void segment_close(struct segment *segment)
{
    if (segment->file >= 0) {
        munmap(segment->memory, window);
        close(segment->file);
    }
    mem_free(segment->blocks);
    pthread_mutex_destroy(&segment->lock);
}

/* Pages are there when this returns true, so that writing to them does not fail. */
static bool grow(struct segment *segment, uint64_t size)
{
    if (size > window ||
        fallocate(segment->file, 0, (off_t)segment->size, (off_t)(size - segment->size)) != 0)
        return false;
    segment->size = size;
    return true;
}

static void insert(struct segment *segment, size_t at, struct segment_block block)
{
    if (segment->block_count == segment->block_capacity)
        segment->blocks = array_grown(segment->blocks, &segment->block_capacity,
                                      segment->block_count + 1, sizeof *segment->blocks);
    memmove(&segment->blocks[at + 1], &segment->blocks[at],
            (segment->block_count - at) * sizeof *segment->blocks);
    segment->blocks[at] = block;
    segment->block_count++;
}

static void erase(struct segment *segment, size_t at)
{
    segment->block_count--;
    memmove(&segment->blocks[at], &segment->blocks[at + 1],
            (segment->block_count - at) * sizeof *segment->blocks);
}

/* The first free block that is large enough; else one at the end, where the last one grows if it is
 * free. */
static bool find_block(struct segment *segment, uint64_t size, size_t *found)
{
    size_t count = segment->block_count;
    for (size_t i = 0; i < count; i++)
        if (segment->blocks[i].readers == 0 && segment->blocks[i].size >= size) {
            *found = i;
            return true;
        }
    bool extends = count > 0 && segment->blocks[count - 1].readers == 0;
    uint64_t place = extends ? segment->blocks[count - 1].place : segment->size;
    if (!grow(segment, place + size))
        return false;
    if (extends)
        segment->blocks[count - 1].size = size;
    else
        insert(segment, count, (struct segment_block){place, size, 0});
    *found = extends ? count - 1 : count;
    return true;
}

uint64_t segment_put(struct segment *segment, const uint8_t *bytes, uint64_t size, uint32_t readers)
{
    if (segment->file < 0 || size > window / 2)
        return SEGMENT_NOWHERE;
    uint64_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, place = SEGMENT_NOWHERE;
    size_t at;
    pthread_mutex_lock(&segment->lock);
    if (find_block(segment, rounded, &at)) {
        struct segment_block *block = &segment->blocks[at];
        place = block->place;
        uint64_t rest = block->size - rounded;
        block->size = rounded;
        block->readers = readers;
        if (rest > 0)
            insert(segment, at + 1, (struct segment_block){place + rounded, rest, 0});
    }
    pthread_mutex_unlock(&segment->lock);
    if (place != SEGMENT_NOWHERE)
        memcpy(segment->memory + place, bytes, size);
    return place;
}

/* With the lock held: joins free neighbors. */
static void join(struct segment *segment, size_t at)
{
    struct segment_block *blocks = segment->blocks;
    if (at + 1 < segment->block_count && blocks[at + 1].readers == 0) {
        blocks[at].size += blocks[at + 1].size;
        erase(segment, at + 1);
    }
    if (at > 0 && blocks[at - 1].readers == 0) {
        blocks[at - 1].size += blocks[at].size;
        erase(segment, at);
    }
}

bool segment_free(struct segment *segment, uint64_t place)
{
    pthread_mutex_lock(&segment->lock);
    size_t low = 0, high = segment->block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segment->blocks[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = low < segment->block_count && segment->blocks[low].place == place &&
                    segment->blocks[low].readers > 0;
    if (is_there && --segment->blocks[low].readers == 0)
        join(segment, low);
    pthread_mutex_unlock(&segment->lock);
    return is_there;
}

/* ---- Of other processes -------------------------------------------------------------------- */

/* Values from another process are checked: it may name any file. */
static bool is_segment(int file, const uint8_t nonce[static SEGMENT_NONCE])
{
    struct stat status;
    uint8_t found[SEGMENT_NONCE];
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(file, &status) == 0 &&
           S_ISREG(status.st_mode) && status.st_size >= ALIGNMENT &&
           pread(file, found, sizeof found, 0) == sizeof found &&
           memcmp(found, nonce, sizeof found) == 0;
}

bool mapping_open(struct segment_mapping *mapping, uint32_t process, uint32_t file,
                  const uint8_t nonce[static SEGMENT_NONCE])
{
    char path[64];
    *mapping = (struct segment_mapping){.file = -1};
    snprintf(path, sizeof path, "/proc/%u/fd/%u", process, file);
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0)
        return false;
    void *memory = is_segment(opened, nonce) ? mmap(NULL, window, PROT_READ, MAP_SHARED, opened, 0)
                                             : MAP_FAILED;
    if (memory == MAP_FAILED) {
        close(opened);
        return false;
    }
    mapping->file = opened;
    mapping->memory = memory;
    return true;
}

void mapping_close(struct segment_mapping *mapping)
{
    if (mapping->file >= 0) {
        munmap((void *)mapping->memory, window);
        close(mapping->file);
    }
    mapping->file = -1;
}

const uint8_t *mapping_at(struct segment_mapping *mapping, uint64_t place, uint64_t size)
{
    struct stat status;
    if (mapping->file < 0 || place > window || size > window - place)
        return NULL;
    if (place + size > mapping->known_size && fstat(mapping->file, &status) == 0)
        mapping->known_size = (uint64_t)status.st_size;
    return place + size <= mapping->known_size ? mapping->memory + place : NULL;
}
