/*
 * Writes NTFF files: one open block for each type and unit, which is written when it is full or its
 * execution ends. Written blocks are readable whatever happens to the writer.
 */
#include "neuron/profile_file/format.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { UNITS = 256 };

struct open_block {
    uint32_t count;
    struct notification items[NTFF_BLOCK_MAX];
};

struct ntff_writer {
    int fd;
    char *path;
    uint64_t offset; /* bytes written */
    uint32_t execution, neff;
    ARRAY(struct ntff_neff) neffs; /* the header's, and those of frames */
    bool failed;
    struct error error;
    struct open_block *blocks[NOTIFICATION_TYPES][UNITS]; /* NULL until needed */
    ARRAY(struct index_entry) entries;
    /* A frame: its head, then its payload. */
    uint8_t buffer[sizeof(struct ntff_frame) + COLUMNS_MAX_BYTES];
};

static void write_bytes(struct ntff_writer *writer, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size > 0 && !writer->failed) {
        ssize_t written = write(writer->fd, at, size);
        if (written < 0 && errno != EINTR) {
            error_in_file(&writer->error, writer->path, "cannot write: %s", strerror(errno));
            writer->failed = true;
        } else if (written > 0) {
            at += written;
            size -= (size_t)written;
            writer->offset += (size_t)written;
        }
    }
}

uint32_t frame_crc(const struct ntff_frame *frame, const void *payload)
{
    uint32_t crc =
        crc32_of(0, (const uint8_t *)frame + sizeof frame->crc, sizeof *frame - sizeof frame->crc);
    return crc32_of(crc, payload, frame->payload_bytes);
}

/* The payload is in the buffer already: one write, so that a killed writer leaves few torn
 * frames. */
static void write_frame(struct ntff_writer *writer, struct ntff_frame *frame)
{
    frame->crc = frame_crc(frame, writer->buffer + sizeof *frame);
    memcpy(writer->buffer, frame, sizeof *frame);
    *array_push(&writer->entries) = (struct index_entry){writer->offset, *frame};
    write_bytes(writer, writer->buffer, sizeof *frame + frame->payload_bytes);
}

static void write_block(struct ntff_writer *writer, uint8_t type, uint8_t unit)
{
    struct open_block *block = writer->blocks[type][unit];
    if (!block || block->count == 0)
        return;
    struct ntff_frame frame = {.kind = FRAME_NOTIFICATIONS,
                               .type = type,
                               .unit = unit,
                               .count = block->count,
                               .execution = writer->execution,
                               .neff = writer->neff,
                               .first_time = UINT64_MAX};
    for (uint32_t i = 0; i < block->count; i++) {
        uint64_t time = block->items[i].time;
        frame.first_time = time < frame.first_time ? time : frame.first_time;
        frame.last_time = time > frame.last_time ? time : frame.last_time;
    }
    frame.payload_bytes =
        (uint32_t)columns_encode(block->items, block->count, writer->buffer + sizeof frame);
    write_frame(writer, &frame);
    block->count = 0;
}

/* Texts are cut to their fields; those of the instance keep a NUL at their end, the NEFF's name may
 * use all bytes. */
static void write_header(struct ntff_writer *writer, const struct ntff_header *header)
{
    struct file_header bytes = {.version = NTFF_VERSION,
                                .header_bytes = NTFF_HEADER_SIZE,
                                .core_version = header->core_version,
                                .device_index = header->device_index,
                                .core_index = header->core_index,
                                .logical_core = header->logical_core,
                                .core_in_logical = header->core_in_logical,
                                .rank = header->rank,
                                .rank_count = header->rank_count,
                                .ticks_per_us = header->ticks_per_us,
                                .process_id = header->process_id};
    memcpy(bytes.magic, NTFF_MAGIC, NTFF_MAGIC_SIZE);
    memcpy(bytes.neff_uuid, header->neff_uuid, sizeof bytes.neff_uuid);
    bytes.flags = (header->is_simulation ? 1u : 0) | (header->computed ? 2u : 0) |
                  (header->dge_notifications ? 4u : 0);
    memcpy(bytes.instance_type, header->instance_type,
           strnlen(header->instance_type, sizeof bytes.instance_type - 1));
    memcpy(bytes.instance_id, header->instance_id,
           strnlen(header->instance_id, sizeof bytes.instance_id - 1));
    memcpy(bytes.neff_name, header->neff_name, strnlen(header->neff_name, sizeof bytes.neff_name));
    bytes.crc = crc32_of(0, &bytes, offsetof(struct file_header, crc));
    write_bytes(writer, &bytes, sizeof bytes);
}

struct ntff_writer *ntff_create(const char *path, const struct ntff_header *header,
                                struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        error_in_file(err, path, "cannot write: %s", strerror(errno));
        return NULL;
    }
    struct ntff_writer *writer = mem_zeroed(1, sizeof *writer);
    writer->fd = fd;
    writer->path = mem_copy_text(path, strlen(path));
    write_header(writer, header);
    struct ntff_neff *first = array_push(&writer->neffs);
    *first = (struct ntff_neff){0};
    memcpy(first->uuid, header->neff_uuid, sizeof first->uuid);
    memcpy(first->name, header->neff_name, strnlen(header->neff_name, sizeof first->name - 1));
    return writer;
}

static void write_neff(struct ntff_writer *writer, const struct ntff_neff *neff)
{
    struct frame_neff payload = {0};
    struct ntff_frame frame = {.kind = FRAME_NEFF, .payload_bytes = sizeof payload};
    memcpy(payload.uuid, neff->uuid, sizeof payload.uuid);
    memcpy(payload.name, neff->name, strnlen(neff->name, sizeof payload.name));
    memcpy(writer->buffer + sizeof frame, &payload, sizeof payload);
    write_frame(writer, &frame);
    *array_push(&writer->neffs) = *neff;
}

void ntff_use_neff(struct ntff_writer *writer, const struct ntff_neff *neff)
{
    const struct ntff_neff *known = writer->neffs.items;
    uint32_t i = 0;
    while (i < writer->neffs.count && (memcmp(known[i].uuid, neff->uuid, sizeof neff->uuid) != 0 ||
                                       strcmp(known[i].name, neff->name) != 0))
        i++;
    if (i == writer->neffs.count)
        write_neff(writer, neff);
    writer->neff = i;
}

void ntff_begin(struct ntff_writer *writer, uint32_t execution)
{
    writer->execution = execution;
}

void ntff_push(struct ntff_writer *writer, const struct notification *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct notification *item = &items[i];
        assert(item->type < NOTIFICATION_TYPES && item->phase < NTFF_PHASES);
        struct open_block **block = &writer->blocks[item->type][item->unit];
        if (!*block) {
            *block = mem_alloc(sizeof **block);
            (*block)->count = 0;
        }
        (*block)->items[(*block)->count++] = *item;
        if ((*block)->count == NTFF_BLOCK_MAX)
            write_block(writer, item->type, item->unit);
    }
}

static void write_blocks(struct ntff_writer *writer)
{
    for (unsigned type = 0; type < NOTIFICATION_TYPES; type++)
        for (unsigned unit = 0; unit < UNITS; unit++)
            write_block(writer, (uint8_t)type, (uint8_t)unit);
}

void ntff_end(struct ntff_writer *writer, const struct ntff_execution *execution)
{
    const struct frame_execution payload = {execution->index,       execution->status,
                                            execution->start_ns,    execution->end_ns,
                                            execution->start_ticks, execution->end_ticks};
    struct ntff_frame frame = {.kind = FRAME_EXECUTION,
                               .payload_bytes = sizeof payload,
                               .execution = execution->index,
                               .neff = writer->neff};
    write_blocks(writer);
    memcpy(writer->buffer + sizeof frame, &payload, sizeof payload);
    write_frame(writer, &frame);
}

static void write_index(struct ntff_writer *writer)
{
    struct ntff_trailer trailer = {.index_offset = writer->offset};
    struct ntff_frame frame = {.kind = FRAME_INDEX,
                               .payload_bytes =
                                   (uint32_t)(writer->entries.count * sizeof(struct index_entry)),
                               .count = (uint32_t)writer->entries.count};
    memcpy(trailer.magic, NTFF_TRAILER, NTFF_MAGIC_SIZE);
    frame.crc = frame_crc(&frame, writer->entries.items);
    write_bytes(writer, &frame, sizeof frame);
    write_bytes(writer, writer->entries.items, frame.payload_bytes);
    write_bytes(writer, &trailer, sizeof trailer);
}

bool ntff_finish(struct ntff_writer *writer, struct error *err)
{
    write_blocks(writer);
    write_index(writer);
    if (close(writer->fd) != 0 && !writer->failed) {
        error_in_file(&writer->error, writer->path, "cannot write: %s", strerror(errno));
        writer->failed = true;
    }
    bool ok = !writer->failed;
    if (!ok)
        *err = writer->error;
    for (unsigned type = 0; type < NOTIFICATION_TYPES; type++)
        for (unsigned unit = 0; unit < UNITS; unit++)
            mem_free(writer->blocks[type][unit]);
    array_free(&writer->entries);
    array_free(&writer->neffs);
    mem_free(writer->path);
    mem_free(writer);
    return ok;
}
