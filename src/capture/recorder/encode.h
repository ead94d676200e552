/*
 * Protobuf for the recorder: numbers into a buffer that the caller knows to be large enough, and a
 * file that takes buffers. It allocates nothing while it writes and never exits, because it runs
 * inside other programs; everything else uses src/base/wire.
 */
#ifndef KYMO_CAPTURE_RECORDER_ENCODE_H
#define KYMO_CAPTURE_RECORDER_ENCODE_H

#include "base/base.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { ENCODE_LONGEST = 10 }; /* bytes of a varint */
enum {
    ENCODE_NAME = 32,
    ENCODE_SUFFIX = 32
}; /* of files, and what is added while they are parts */
enum { ENCODE_FORMAT = 31 };  /* the field all session files begin with: what they are */
enum { SESSION_VERSION = 1 }; /* of session files, in field 1; fields that are added keep it */
enum encode_wire { ENCODE_VARINT = 0, ENCODE_FIXED64 = 1, ENCODE_BYTES = 2, ENCODE_FIXED32 = 5 };

static inline uint8_t *encode_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static inline uint64_t encode_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline uint8_t *encode_tag(uint8_t *to, uint32_t number, enum encode_wire wire)
{
    return encode_varint(to, number << 3 | (uint32_t)wire);
}

/* Fields; those that have their default are left out. */
static inline uint8_t *encode_number(uint8_t *to, uint32_t number, uint64_t value)
{
    return value ? encode_varint(encode_tag(to, number, ENCODE_VARINT), value) : to;
}

static inline uint8_t *encode_fixed64(uint8_t *to, uint32_t number, uint64_t value)
{
    to = encode_tag(to, number, ENCODE_FIXED64);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static inline uint8_t *encode_float(uint8_t *to, uint32_t number, float value)
{
    to = encode_tag(to, number, ENCODE_FIXED32);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

/* Up to the first NUL, or all of it where there is none. */
static inline uint8_t *encode_chars(uint8_t *to, uint32_t number, const char *text, size_t most)
{
    size_t size = strnlen(text, most);
    to = encode_varint(encode_tag(to, number, ENCODE_BYTES), size);
    memcpy(to, text, size);
    return to + size;
}

static inline uint8_t *encode_text(uint8_t *to, uint32_t number, const char *text)
{
    return encode_chars(to, number, text, strlen(text));
}

/* A message, a text or a packed column whose length is not known yet: five bytes are kept for it
 * and filled with a padded varint, which every reader accepts. */
enum { ENCODE_LENGTH = 5 };
static inline uint8_t *encode_begin(uint8_t *to, uint32_t number)
{
    return encode_tag(to, number, ENCODE_BYTES) + ENCODE_LENGTH;
}

static inline uint8_t *encode_end(uint8_t *begun, uint8_t *end)
{
    size_t size = (size_t)(end - begun);
    for (int i = ENCODE_LENGTH; i > 0; i--, size >>= 7)
        begun[-i] = (uint8_t)((size & 0x7F) | (i > 1 ? 0x80 : 0));
    return end;
}

/* Where files go: an open directory, and its path for messages. */
struct encode_directory {
    int fd;
    const char *path;
    bool sync; /* a file is on the disk before it has its name */
};

/* An output file: written under a random name and renamed when complete, or written to a
 * descriptor. */
struct encode_file {
    int fd, directory; /* directory: -1 for a descriptor of the caller's, which stays open */
    bool sync;
    char path[PATH_MAX]; /* for messages */
    char name[ENCODE_NAME], temporary[ENCODE_NAME + ENCODE_SUFFIX];
    uint8_t *buffer;
    size_t size; /* bytes in the buffer */
    uint64_t written, limit;
    int problem; /* errno of the first failure */
};

bool encode_open(struct encode_file *file, const struct encode_directory *directory,
                 const char *name, struct error *err);
/* A file that is open and empty already. */
bool encode_open_fd(struct encode_file *file, int fd, const char *path, struct error *err);
/* Whether this is the temporary name of a file that a killed program left behind. */
bool encode_is_part(const char *name);
/* Buffer space for this many bytes; NULL after a write error or when it does not fit. */
uint8_t *encode_room(struct encode_file *file, size_t size);
static inline void encode_used(struct encode_file *file, const uint8_t *end)
{
    file->size = (size_t)(end - file->buffer);
}
/* Bytes from elsewhere. */
void encode_write(struct encode_file *file, const void *data, size_t size);
bool encode_commit(struct encode_file *file, struct error *err);
void encode_discard(struct encode_file *file);

#endif
