/*
 * Reads NTFF files: by their index, or frame by frame where the writer did not finish.
 */
#include "ntff/format.h"

#include <inttypes.h>

struct ntff {
    struct file file;
    char *path;
    struct ntff_header header;
    ARRAY(struct ntff_neff) neffs;
    ARRAY(struct ntff_execution) executions;
    ARRAY(struct ntff_block) blocks;
    ARRAY(struct index_entry) places; /* of the blocks */
    bool is_partial;
};

bool ntff_recognise(const void *bytes, size_t size)
{
    return size >= NTFF_MAGIC_SIZE && memcmp(bytes, NTFF_MAGIC, NTFF_MAGIC_SIZE) == 0;
}

static bool read_header(struct ntff *ntff, struct error *err)
{
    struct file_header bytes;
    if (!ntff_recognise(ntff->file.data, ntff->file.size))
        return error_in_file(err, ntff->path, "this is not an NTFF file of Kymo");
    if (ntff->file.size < sizeof bytes)
        return error_at(err, ntff->path, ntff->file.size, "the NTFF file ends inside its header");
    memcpy(&bytes, ntff->file.data, sizeof bytes);
    if (bytes.version < NTFF_OLDEST || bytes.version > NTFF_VERSION)
        return error_in_file(err, ntff->path,
                             "it has version %u; this Kymo reads versions %d to %d", bytes.version,
                             NTFF_OLDEST, NTFF_VERSION);
    if (bytes.crc != crc32_of(0, &bytes, offsetof(struct file_header, crc)) ||
        bytes.header_bytes != NTFF_HEADER_SIZE)
        return error_in_file(err, ntff->path, "the header is damaged");
    ntff->header = (struct ntff_header){.version = bytes.version,
                                        .core_version = bytes.core_version,
                                        .device_index = bytes.device_index,
                                        .core_index = bytes.core_index,
                                        .logical_core = bytes.logical_core,
                                        .core_in_logical = bytes.core_in_logical,
                                        .rank = bytes.rank,
                                        .rank_count = bytes.rank_count,
                                        .ticks_per_us = bytes.ticks_per_us,
                                        .process_id = bytes.process_id,
                                        .is_simulation = bytes.flags & 1,
                                        .computed = bytes.flags & 2,
                                        .dge_notifications = bytes.flags & 4};
    struct ntff_header *header = &ntff->header;
    memcpy(header->neff_uuid, bytes.neff_uuid, sizeof header->neff_uuid);
    memcpy(header->neff_name, bytes.neff_name, sizeof bytes.neff_name);
    memcpy(header->instance_type, bytes.instance_type, sizeof bytes.instance_type - 1);
    memcpy(header->instance_id, bytes.instance_id, sizeof bytes.instance_id - 1);
    struct ntff_neff *first = array_push(&ntff->neffs);
    memcpy(first->uuid, header->neff_uuid, sizeof first->uuid);
    memcpy(first->name, header->neff_name, sizeof first->name);
    return true;
}

/* Whether the frame is inside the file and can be what it says it is. neffs: how many NEFFs there
 * are before it. */
static bool is_plausible(const struct ntff *ntff, const struct index_entry *entry, size_t neffs)
{
    const struct frame *frame = &entry->frame;
    size_t size = ntff->file.size;
    if (entry->offset > size || size - entry->offset < sizeof *frame ||
        frame->payload_bytes > size - entry->offset - sizeof *frame || frame->neff >= neffs)
        return false;
    if (frame->kind == FRAME_NOTIFICATIONS)
        return frame->type < NOTIFICATION_TYPES && frame->count > 0 &&
               frame->count <= NTFF_BLOCK_MAX;
    if (frame->kind == FRAME_EXECUTION)
        return frame->payload_bytes == sizeof(struct frame_execution);
    if (frame->kind == FRAME_NEFF)
        return frame->payload_bytes == sizeof(struct frame_neff);
    return frame->kind == FRAME_INDEX;
}

static const uint8_t *payload_of(const struct ntff *ntff, const struct index_entry *entry)
{
    return ntff->file.data + entry->offset + sizeof entry->frame;
}

/* Whether the frame is there as the entry says, undamaged. */
static bool is_intact(const struct ntff *ntff, const struct index_entry *entry)
{
    return memcmp(ntff->file.data + entry->offset, &entry->frame, sizeof entry->frame) == 0 &&
           frame_crc(&entry->frame, payload_of(ntff, entry)) == entry->frame.crc;
}

static void add_neff(struct ntff *ntff, const struct index_entry *entry)
{
    struct frame_neff bytes;
    struct ntff_neff *neff = array_push(&ntff->neffs);
    memcpy(&bytes, payload_of(ntff, entry), sizeof bytes);
    *neff = (struct ntff_neff){0};
    memcpy(neff->uuid, bytes.uuid, sizeof neff->uuid);
    memcpy(neff->name, bytes.name, sizeof bytes.name);
}

static void add_frame(struct ntff *ntff, const struct index_entry *entry)
{
    const struct frame *frame = &entry->frame;
    if (frame->kind == FRAME_NOTIFICATIONS) {
        *array_push(&ntff->blocks) = (struct ntff_block){.execution = frame->execution,
                                                         .count = frame->count,
                                                         .type = frame->type,
                                                         .unit = frame->unit,
                                                         .first_time = frame->first_time,
                                                         .last_time = frame->last_time,
                                                         .neff = frame->neff};
        *array_push(&ntff->places) = *entry;
    } else if (frame->kind == FRAME_EXECUTION) {
        struct frame_execution bytes;
        memcpy(&bytes, payload_of(ntff, entry), sizeof bytes);
        *array_push(&ntff->executions) = (struct ntff_execution){.index = bytes.index,
                                                                 .neff = frame->neff,
                                                                 .start_ns = bytes.start_ns,
                                                                 .end_ns = bytes.end_ns,
                                                                 .start_ticks = bytes.start_ticks,
                                                                 .end_ticks = bytes.end_ticks,
                                                                 .status = bytes.status};
    } else if (frame->kind == FRAME_NEFF) {
        add_neff(ntff, entry);
    }
}

static bool read_entry(const struct ntff *ntff, uint64_t offset, struct index_entry *entry)
{
    entry->offset = offset;
    if (offset > ntff->file.size || ntff->file.size - offset < sizeof entry->frame)
        return false;
    memcpy(&entry->frame, ntff->file.data + offset, sizeof entry->frame);
    return is_plausible(ntff, entry, ntff->neffs.count);
}

/* False when there is no index: the writer did not come to its end, or bytes were lost. */
static bool read_index(struct ntff *ntff)
{
    struct trailer trailer;
    struct index_entry index;
    if (ntff->file.size < NTFF_HEADER_SIZE + sizeof trailer)
        return false;
    memcpy(&trailer, ntff->file.data + ntff->file.size - sizeof trailer, sizeof trailer);
    if (memcmp(trailer.magic, NTFF_TRAILER, NTFF_MAGIC_SIZE) != 0 ||
        !read_entry(ntff, trailer.index_offset, &index) || index.frame.kind != FRAME_INDEX ||
        index.frame.payload_bytes != (uint64_t)index.frame.count * sizeof(struct index_entry) ||
        !is_intact(ntff, &index))
        return false;
    const uint8_t *at = payload_of(ntff, &index);
    for (int adding = 0; adding < 2; adding++) {
        uint64_t end = NTFF_HEADER_SIZE; /* frames follow each other: none is listed twice */
        size_t neffs = ntff->neffs.count;
        for (uint32_t i = 0; i < index.frame.count; i++) {
            struct index_entry entry;
            memcpy(&entry, at + i * sizeof entry, sizeof entry);
            bool is_whole = entry.offset == end && is_plausible(ntff, &entry, neffs) &&
                            (entry.frame.kind == FRAME_NOTIFICATIONS || is_intact(ntff, &entry));
            if (!is_whole)
                return false;
            end += sizeof entry.frame + entry.frame.payload_bytes;
            neffs += entry.frame.kind == FRAME_NEFF;
            if (adding)
                add_frame(ntff, &entry);
        }
    }
    return true;
}

/* Takes frames until one is torn. */
static void read_frames(struct ntff *ntff)
{
    struct index_entry entry;
    for (uint64_t at = NTFF_HEADER_SIZE; read_entry(ntff, at, &entry) && is_intact(ntff, &entry);
         at += sizeof entry.frame + entry.frame.payload_bytes)
        add_frame(ntff, &entry);
}

struct ntff *ntff_open(const char *path, struct error *err)
{
    struct ntff *ntff = mem_zeroed(1, sizeof *ntff);
    ntff->path = mem_copy_text(path, strlen(path));
    if (!file_open(&ntff->file, path, err) || !read_header(ntff, err)) {
        ntff_close(ntff);
        return NULL;
    }
    ntff->is_partial = !read_index(ntff);
    if (ntff->is_partial)
        read_frames(ntff);
    return ntff;
}

bool ntff_read_block(const struct ntff *ntff, size_t block, struct notification *items,
                     struct error *err)
{
    const struct index_entry *entry = &ntff->places.items[block];
    const struct frame *frame = &entry->frame;
    if (!is_intact(ntff, entry) ||
        !columns_decode(payload_of(ntff, entry), frame->payload_bytes, items, frame->count))
        return error_at(err, ntff->path, entry->offset, "a block of notifications is damaged");
    for (uint32_t i = 0; i < frame->count; i++) {
        items[i].type = frame->type;
        items[i].unit = frame->unit;
    }
    return true;
}

const struct ntff_header *ntff_header(const struct ntff *ntff)
{
    return &ntff->header;
}

const struct ntff_neff *ntff_neffs(const struct ntff *ntff, size_t *count)
{
    *count = ntff->neffs.count;
    return ntff->neffs.items;
}

const struct ntff_execution *ntff_executions(const struct ntff *ntff, size_t *count)
{
    *count = ntff->executions.count;
    return ntff->executions.items;
}

const struct ntff_block *ntff_blocks(const struct ntff *ntff, size_t *count)
{
    *count = ntff->blocks.count;
    return ntff->blocks.items;
}

bool ntff_is_partial(const struct ntff *ntff)
{
    return ntff->is_partial;
}

void ntff_close(struct ntff *ntff)
{
    if (!ntff)
        return;
    array_free(&ntff->neffs);
    array_free(&ntff->executions);
    array_free(&ntff->blocks);
    array_free(&ntff->places);
    file_close(&ntff->file);
    mem_free(ntff->path);
    mem_free(ntff);
}
