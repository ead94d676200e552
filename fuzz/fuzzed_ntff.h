/*
 * Shared by the targets that read NTFF files: the file is opened from memory, in a block of its
 * exact size, and its checksums are corrected first, so that decoders see the damage.
 */
#ifndef KYMO_FUZZ_FUZZED_NTFF_H
#define KYMO_FUZZ_FUZZED_NTFF_H

#include "neuron/profile_file/format.h"

#include <stdlib.h>

/* Replace file_open and file_close, with the linker's --wrap. */
bool __wrap_file_open(struct file *file, const char *path, struct error *err);
void __wrap_file_close(struct file *file);

static struct file fuzzed;

bool __wrap_file_open(struct file *file, const char *path, struct error *err)
{
    (void)path, (void)err;
    *file = fuzzed;
    return true;
}

void __wrap_file_close(struct file *file)
{
    *file = (struct file){0};
}

static void correct_header(uint8_t *file)
{
    struct file_header header;
    memcpy(&header, file, sizeof header);
    memcpy(header.magic, NTFF_MAGIC, NTFF_MAGIC_SIZE);
    header.version = NTFF_VERSION;
    header.header_bytes = NTFF_HEADER_SIZE;
    header.crc = crc32_of(0, &header, offsetof(struct file_header, crc));
    memcpy(file, &header, sizeof header);
}

/* An entry of the index gets the head of the frame that it names. */
static void correct_entries(uint8_t *file, size_t at, const struct ntff_frame *index)
{
    for (size_t i = 0; i + sizeof(struct index_entry) <= index->payload_bytes;
         i += sizeof(struct index_entry)) {
        struct index_entry entry;
        uint8_t *place = file + at + sizeof *index + i;
        memcpy(&entry, place, sizeof entry);
        if (entry.offset > at || at - entry.offset < sizeof entry.frame)
            continue;
        memcpy(place + offsetof(struct index_entry, frame), file + entry.offset,
               sizeof entry.frame);
    }
}

static void correct_frames(uint8_t *file, size_t size)
{
    for (size_t at = NTFF_HEADER_SIZE; size - at >= sizeof(struct ntff_frame);) {
        struct ntff_frame frame;
        memcpy(&frame, file + at, sizeof frame);
        if (frame.payload_bytes > size - at - sizeof frame)
            return;
        if (frame.kind == FRAME_INDEX)
            correct_entries(file, at, &frame);
        frame.crc = frame_crc(&frame, file + at + sizeof frame);
        memcpy(file + at, &frame, sizeof frame.crc);
        at += sizeof frame + frame.payload_bytes;
    }
}

/* Free the file's data when it is no longer read. */
static void fuzzed_file(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size ? size : 1);
    memcpy(file, data, size);
    if (size >= NTFF_HEADER_SIZE) {
        correct_header(file);
        correct_frames(file, size);
    }
    fuzzed = (struct file){file, size};
}

#endif
