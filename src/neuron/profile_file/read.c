/*
 * Reads NTFF files: by their index, or frame by frame where the writer did not finish or the index
 * is damaged.
 */
#include "neuron/profile_file/format.h"

#include <inttypes.h>

struct ntff {
    struct file file;
    char *path;
    struct ntff_header header;
    ARRAY(struct ntff_neff) neffs;
    ARRAY(struct ntff_execution) executions;
    ARRAY(struct ntff_block) blocks;
    ARRAY(struct index_entry) places; /* of the blocks */
    struct ntff_loss loss;
    bool is_partial;
};

bool ntff_recognize(const void *bytes, size_t size)
{
    return size >= NTFF_MAGIC_SIZE && memcmp(bytes, NTFF_MAGIC, NTFF_MAGIC_SIZE) == 0;
}

/* The version is checked before the checksum, so that a newer file is not called damaged. The
 * header's NEFF becomes the first of the list. */
static bool read_header(struct ntff *ntff, struct error *err)
{
    struct file_header bytes;
    if (!ntff_recognize(ntff->file.data, ntff->file.size))
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

/* Whether the frame is inside the file and plausible. neffs: the number of NEFFs before it. */
static bool is_plausible(const struct ntff *ntff, const struct index_entry *entry, size_t neffs)
{
    const struct ntff_frame *frame = &entry->frame;
    size_t size = ntff->file.size;
    if (entry->offset > size || size - entry->offset < sizeof *frame ||
        frame->payload_bytes > size - entry->offset - sizeof *frame || frame->neff >= neffs ||
        frame->zero != 0)
        return false;
    if (frame->kind == FRAME_NOTIFICATIONS)
        return frame->type < NOTIFICATION_TYPES && frame->count > 0 &&
               frame->count <= NTFF_BLOCK_MAX && frame->payload_bytes <= COLUMNS_MAX_BYTES;
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

/* Whether the frame is as the entry says, and undamaged. */
static bool is_intact(const struct ntff *ntff, const struct index_entry *entry)
{
    return memcmp(ntff->file.data + entry->offset, &entry->frame, sizeof entry->frame) == 0 &&
           frame_crc(&entry->frame, payload_of(ntff, entry)) == entry->frame.crc;
}

static uint64_t frame_bytes(const struct index_entry *entry)
{
    return sizeof entry->frame + entry->frame.payload_bytes;
}

static void add_damage(struct ntff *ntff, uint64_t offset, uint64_t bytes)
{
    ntff_loss_add(&ntff->loss, &(struct ntff_loss){.places = 1, .offset = offset, .bytes = bytes});
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

/* The frame was checked before: its payload is inside the file and has the size of its kind. `gap`
 * shows readers which blocks damage separates. */
static void add_frame(struct ntff *ntff, const struct index_entry *entry)
{
    const struct ntff_frame *frame = &entry->frame;
    if (frame->kind == FRAME_NOTIFICATIONS) {
        *array_push(&ntff->blocks) = (struct ntff_block){.execution = frame->execution,
                                                         .count = frame->count,
                                                         .type = frame->type,
                                                         .unit = frame->unit,
                                                         .first_time = frame->first_time,
                                                         .last_time = frame->last_time,
                                                         .neff = frame->neff,
                                                         .gap = ntff->loss.places,
                                                         .offset = entry->offset,
                                                         .bytes = frame_bytes(entry)};
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

static bool has_trailer(const struct ntff *ntff, struct ntff_trailer *trailer)
{
    if (ntff->file.size < NTFF_HEADER_SIZE + sizeof *trailer)
        return false;
    memcpy(trailer, ntff->file.data + ntff->file.size - sizeof *trailer, sizeof *trailer);
    return memcmp(trailer->magic, NTFF_TRAILER, NTFF_MAGIC_SIZE) == 0;
}

/* The index of a file, if it has one that is complete. */
static bool find_index(const struct ntff *ntff, struct index_entry *index)
{
    struct ntff_trailer trailer;
    return has_trailer(ntff, &trailer) && read_entry(ntff, trailer.index_offset, index) &&
           index->frame.kind == FRAME_INDEX &&
           index->frame.payload_bytes ==
               (uint64_t)index->frame.count * sizeof(struct index_entry) &&
           is_intact(ntff, index);
}

/* Whether the frames' positions in the index are plausible: they follow each other, and none is
 * listed twice. */
static bool is_index_plausible(const struct ntff *ntff, const struct index_entry *index)
{
    uint64_t end = NTFF_HEADER_SIZE;
    size_t neffs = ntff->neffs.count;
    for (uint32_t i = 0; i < index->frame.count; i++) {
        struct index_entry entry;
        memcpy(&entry, payload_of(ntff, index) + i * sizeof entry, sizeof entry);
        if (entry.offset != end || !is_plausible(ntff, &entry, neffs))
            return false;
        end += frame_bytes(&entry);
        neffs += entry.frame.kind == FRAME_NEFF;
    }
    return true;
}

/* False without an index: the writer did not finish, or bytes were lost. */
static bool read_index(struct ntff *ntff)
{
    struct index_entry index;
    if (!find_index(ntff, &index) || !is_index_plausible(ntff, &index))
        return false;
    for (uint32_t i = 0; i < index.frame.count; i++) {
        struct index_entry entry;
        memcpy(&entry, payload_of(ntff, &index) + i * sizeof entry, sizeof entry);
        if (entry.frame.kind == FRAME_NOTIFICATIONS || is_intact(ntff, &entry)) {
            add_frame(ntff, &entry);
            continue;
        }
        add_damage(ntff, entry.offset, frame_bytes(&entry));
        if (entry.frame.kind == FRAME_NEFF) /* later frames refer to it by number */
            *array_push(&ntff->neffs) = (struct ntff_neff){0};
    }
    return true;
}

/* The next frame from this offset on; the file's size if there is none. work: bytes whose checksum
 * may still be computed, so that bytes that look like frames everywhere take no more than linear
 * time. */
static uint64_t find_frame(const struct ntff *ntff, uint64_t at, uint64_t *work,
                           struct index_entry *entry)
{
    for (; at < ntff->file.size; at++) {
        if (!read_entry(ntff, at, entry))
            continue;
        if (frame_bytes(entry) > *work)
            break;
        *work -= frame_bytes(entry);
        if (is_intact(ntff, entry))
            return at;
    }
    return ntff->file.size;
}

/* Whether a killed writer leaves such an end: less than a frame. */
static bool is_torn_frame(const struct ntff *ntff, uint64_t at)
{
    struct ntff_frame frame;
    uint64_t left = ntff->file.size - at;
    if (left < sizeof frame)
        return true;
    memcpy(&frame, ntff->file.data + at, sizeof frame);
    return frame.kind >= FRAME_NOTIFICATIONS && frame.kind <= FRAME_NEFF && frame.zero == 0 &&
           frame.payload_bytes > left - sizeof frame;
}

/* Takes all complete frames. */
static void read_frames(struct ntff *ntff)
{
    enum { LEAST_WORK = 1 << 20 };
    struct index_entry entry;
    struct ntff_trailer trailer;
    uint64_t size = ntff->file.size, work = 2 * size + LEAST_WORK;
    uint64_t at = NTFF_HEADER_SIZE, end;
    bool has_index = false;
    for (; (end = find_frame(ntff, at, &work, &entry)) < size; at = end + frame_bytes(&entry)) {
        if (end > at)
            add_damage(ntff, at, end - at);
        add_frame(ntff, &entry);
        has_index |= entry.frame.kind == FRAME_INDEX;
    }
    bool is_whole = has_index && size - at >= sizeof trailer;
    ntff->is_partial = !is_whole && !has_trailer(ntff, &trailer);
    if (at < size && (!ntff->is_partial || !is_torn_frame(ntff, at)))
        add_damage(ntff, at, size - at);
}

struct ntff *ntff_open(const char *path, struct error *err)
{
    struct ntff *ntff = mem_zeroed(1, sizeof *ntff);
    ntff->path = mem_copy_text(path, strlen(path));
    if (!file_open(&ntff->file, path, err) || !read_header(ntff, err)) {
        ntff_close(ntff);
        return NULL;
    }
    if (!read_index(ntff))
        read_frames(ntff);
    return ntff;
}

bool ntff_read_block(const struct ntff *ntff, size_t block, struct notification *items,
                     struct error *err)
{
    const struct index_entry *entry = &ntff->places.items[block];
    const struct ntff_frame *frame = &entry->frame;
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

struct ntff_loss ntff_block_loss(const struct ntff_block *block)
{
    return (struct ntff_loss){.places = 1,
                              .offset = block->offset,
                              .bytes = block->bytes,
                              .notifications = block->count,
                              .first_execution = block->execution,
                              .last_execution = block->execution};
}

bool ntff_is_partial(const struct ntff *ntff)
{
    return ntff->is_partial;
}

const struct ntff_loss *ntff_loss(const struct ntff *ntff)
{
    return &ntff->loss;
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
