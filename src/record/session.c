/*
 * From rings to session files: names and lanes first, then the events lane by lane, then what there
 * is to say about them.
 */
#include "record/session.h"

#include "record/columns.h"
#include "record/lane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SESSION_VERSION = 1, LONGEST_INFO = 4096 };

struct writer {
    struct session_input *input;
    struct clock_map clock;
    struct columns_names names;
    struct encode_file file;
    struct columns *columns;
    uint64_t recorded, kept;
    int64_t end_ns;
};

/* A ring that is mapped for the time it is read. */
struct mapped {
    const struct ring_header *header;
    void *base; /* NULL when it was mapped already */
    size_t size;
};

static bool map_lane(struct mapped *mapped, const char *directory, const struct session_lane *lane)
{
    *mapped = (struct mapped){.header = lane->header};
    if (lane->header)
        return true;
    char rings[PATH_MAX - 32], path[PATH_MAX];
    snprintf(rings, sizeof rings, "%s/rings", directory);
    lane_path(path, rings, lane->number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool ok = fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= RING_HEADER_SIZE;
    if (ok) {
        mapped->size = (size_t)status.st_size;
        mapped->base = mmap(NULL, mapped->size, PROT_READ, MAP_SHARED, fd, 0);
        ok = mapped->base != MAP_FAILED;
    }
    if (fd >= 0)
        close(fd);
    if (!ok)
        return false;
    mapped->header = mapped->base;
    const struct ring_header *header = mapped->header;
    uint64_t room = (mapped->size - RING_HEADER_SIZE) / sizeof(struct ring_record);
    if (header->magic == RING_LANE_MAGIC && header->version == RING_VERSION &&
        header->record_size == sizeof(struct ring_record) && header->slots <= room)
        return true;
    munmap(mapped->base, mapped->size);
    return false;
}

static void unmap_lane(const struct mapped *mapped)
{
    if (mapped->base)
        munmap(mapped->base, mapped->size);
}

/* Gives the names new numbers, one after the other, and writes them. */
static bool write_names(struct writer *writer)
{
    const uint8_t *base = (const uint8_t *)writer->input->names;
    uint64_t used = __atomic_load_n(&writer->input->names->used, __ATOMIC_ACQUIRE);
    used = used < writer->input->names_size ? used : writer->input->names_size;
    writer->names.count = (size_t)used / 8;
    writer->names.number = calloc(writer->names.count + 1, sizeof *writer->names.number);
    if (!writer->names.number)
        return false;
    for (uint64_t at = sizeof(struct ring_names); at + sizeof(struct ring_name) <= used;) {
        const struct ring_name *name = (const struct ring_name *)(base + at);
        if (name->size > used - at - sizeof *name)
            break;
        writer->names.number[at / 8] =
            columns_add_name(&writer->file, &writer->names, name, (const char *)(name + 1));
        at += (sizeof *name + name->size + 7) & ~(uint64_t)7;
    }
    return true;
}

static void write_lane(struct writer *writer, const struct ring_header *header)
{
    uint8_t *to = encode_room(&writer->file, 512);
    if (!to)
        return;
    uint8_t *begun = to = encode_begin(to, 3);
    to = encode_number(to, 1, header->kind);
    to = encode_chars(to, 2, header->name, RING_LANE_NAME);
    to = encode_number(to, 3, header->thread);
    if (header->core != UINT32_MAX)
        to = encode_varint(encode_tag(to, 4, ENCODE_VARINT), header->core);
    uint64_t end_ticks = __atomic_load_n(&header->end_ticks, __ATOMIC_RELAXED);
    to = encode_fixed64(to, 5, (uint64_t)clock_map_ns(&writer->clock, header->start_ticks));
    to = encode_fixed64(to, 6, end_ticks ? (uint64_t)clock_map_ns(&writer->clock, end_ticks) : 0);
    encode_used(&writer->file, encode_end(begun, to));
}

static void write_events(struct writer *writer, size_t index, const struct ring_header *header)
{
    struct session_lane *lane = &writer->input->lanes[index];
    struct columns_lane ring = {
        .records = (const struct ring_record *)((const uint8_t *)header + RING_HEADER_SIZE),
        .slots = __atomic_load_n(&header->slots, __ATOMIC_RELAXED),
        .head = __atomic_load_n(&header->head, __ATOMIC_ACQUIRE),
        .number = (uint32_t)index};
    lane->recorded = lane_events(header, ring.head);
    lane->kept = columns_write(writer->columns, &ring);
    if (lane->recorded < lane->kept) /* only a damaged file says so */
        lane->recorded = lane->kept;
    writer->recorded += lane->recorded;
    writer->kept += lane->kept;
}

/* Counted as lost already; the program was killed before it removed the file. */
static bool is_dropped(const struct session_input *input, const struct session_lane *lane)
{
    uint64_t drops = __atomic_load_n(&input->session->drops, __ATOMIC_ACQUIRE);
    return input->session->dropped[drops % 2].lane == (uint64_t)lane->number + 1;
}

/* Lanes whose file is gone or is none are left out. */
static void write_lanes(struct writer *writer)
{
    struct session_input *input = writer->input;
    struct mapped mapped;
    size_t count = 0;
    for (size_t i = 0; i < input->lane_count; i++)
        if (!is_dropped(input, &input->lanes[i]) &&
            map_lane(&mapped, input->directory, &input->lanes[i])) {
            write_lane(writer, mapped.header);
            unmap_lane(&mapped);
            input->lanes[count++] = input->lanes[i];
        }
    input->lane_count = count;
    for (size_t i = 0; i < count; i++)
        if (map_lane(&mapped, input->directory, &input->lanes[i])) {
            write_events(writer, i, mapped.header);
            unmap_lane(&mapped);
        }
}

static bool write_ntrace(struct writer *writer, struct error *err)
{
    if (!encode_open(&writer->file, writer->input->directory, "ntrace.pb", err))
        return false;
    writer->columns = columns_new(&writer->file, &writer->clock, &writer->names);
    uint8_t *to = encode_room(&writer->file, 64);
    to = encode_text(to, ENCODE_FORMAT, "kymo.ntrace");
    encode_used(&writer->file, encode_number(to, 1, SESSION_VERSION));
    if (!writer->columns || !write_names(writer)) {
        columns_free(writer->columns);
        encode_discard(&writer->file);
        return error_set(err, "there is no memory to write a capture");
    }
    write_lanes(writer);
    writer->end_ns = columns_last_ns(writer->columns);
    columns_free(writer->columns);
    return encode_commit(&writer->file, err);
}

static uint64_t read_number(const uint8_t *data, size_t size, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < size && shift < 64; shift += 7) {
        value |= (uint64_t)(data[*at] & 0x7F) << shift;
        if (data[(*at)++] < 0x80)
            break;
    }
    return value;
}

/* The samplers write whole messages, but the last one may be cut off on a full disk. */
static size_t whole_fields(const uint8_t *data, size_t size)
{
    size_t whole = 0, at = 0;
    while (at < size) {
        uint64_t wire = read_number(data, size, &at) & 7, value = read_number(data, size, &at);
        if (wire == ENCODE_BYTES && value <= size - at)
            at += value;
        else if (wire != ENCODE_VARINT)
            break;
        whole = at;
    }
    return whole;
}

/* A sampler's file has been written in rings/ as it is to be; whether there is one. */
static bool place_samples(const char *directory, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX];
    if (snprintf(from, sizeof from, "%s/rings/%s", directory, name) >= PATH_MAX ||
        snprintf(to, sizeof to, "%s/%s", directory, name) >= PATH_MAX)
        return false;
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        size_t whole = data == MAP_FAILED ? size : whole_fields(data, size);
        if (data != MAP_FAILED)
            munmap(data, size);
        if (whole < size) {
            int ignored = truncate(from, (off_t)whole); /* else it keeps its ragged end */
            (void)ignored;
        }
    }
    if (fd >= 0)
        close(fd);
    return rename(from, to) == 0 || access(to, F_OK) == 0;
}

static void write_clock(struct writer *writer)
{
    const struct ring_session *session = writer->input->session;
    uint64_t samples = __atomic_load_n(&session->samples, __ATOMIC_ACQUIRE);
    samples = samples < RING_CLOCK_SAMPLES ? samples : RING_CLOCK_SAMPLES;
    uint8_t *to = encode_room(&writer->file, (size_t)samples * 64 + 32);
    if (!to)
        return;
    uint8_t *clock = to = encode_begin(to, 14);
    to = encode_number(to, 1, session->clock);
    for (uint64_t i = 0; i < samples; i++) {
        uint8_t *begun = to = encode_begin(to, 2);
        to = encode_fixed64(to, 1, session->sample[i].ticks);
        to = encode_number(to, 2, session->sample[i].window);
        to = encode_fixed64(to, 3, (uint64_t)session->sample[i].monotonic_ns);
        to = encode_fixed64(to, 4, (uint64_t)session->sample[i].realtime_ns);
        encode_end(begun, to);
    }
    if (samples > 0) {
        int64_t last = clock_map_ns(&writer->clock, session->sample[samples - 1].ticks);
        writer->end_ns = last > writer->end_ns ? last : writer->end_ns;
    }
    encode_used(&writer->file, encode_end(clock, to));
}

static void write_artifact(struct encode_file *file, const char *kind, const char *name)
{
    uint8_t *to = encode_room(file, strlen(kind) + strlen(name) + 32);
    if (!to)
        return;
    uint8_t *begun = to = encode_begin(to, 20);
    to = encode_text(to, 1, kind);
    to = encode_text(to, 2, name);
    encode_used(file, encode_end(begun, to));
}

/* Profiles and programs of devices that a runtime has put beside the session's own files. */
static void write_artifacts(struct writer *writer)
{
    const char *directory = writer->input->directory;
    write_artifact(&writer->file, "ntrace", "ntrace.pb");
    if (place_samples(directory, "cpu_util.pb"))
        write_artifact(&writer->file, "cpu_util", "cpu_util.pb");
    if (place_samples(directory, "host_mem.pb"))
        write_artifact(&writer->file, "host_mem", "host_mem.pb");
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && (strcmp(dot, ".ntff") == 0 || strcmp(dot, ".neff") == 0))
            write_artifact(&writer->file, dot + 1, entry->d_name);
    }
    if (entries)
        closedir(entries);
}

static void write_who(struct writer *writer)
{
    const struct ring_session *session = writer->input->session;
    uint8_t *to = encode_room(&writer->file, LONGEST_INFO);
    if (!to)
        return;
    to = encode_text(to, ENCODE_FORMAT, "kymo.trace_info");
    to = encode_number(to, 1, SESSION_VERSION);
    to = encode_chars(to, 2, session->instance, sizeof session->instance);
    to = encode_chars(to, 3, session->host, sizeof session->host);
    to = encode_number(to, 4, session->pid);
    to = encode_chars(to, 5, session->process_name, sizeof session->process_name);
    to = encode_chars(to, 6, session->program, sizeof session->program);
    to = encode_number(to, 9, session->level);
    to = encode_number(to, 10, session->lane_records);
    to = encode_number(to, 11, writer->input->recovered);
    to = encode_number(to, 12, session->cpus);
    to = encode_number(to, 13, session->memory_bytes);
    to = encode_fixed64(to, 7, (uint64_t)writer->clock.piece[0].ns);
    encode_used(&writer->file, to);
}

static void write_counts(struct writer *writer)
{
    const struct session_input *input = writer->input;
    uint64_t recorded = writer->recorded + lanes_lost(input->session);
    uint8_t *to = encode_room(&writer->file, 128);
    if (!to)
        return;
    to = encode_fixed64(to, 8, (uint64_t)writer->end_ns);
    to = encode_number(to, 15, recorded);
    to = encode_number(to, 16, writer->kept);
    to = encode_number(to, 17, recorded - writer->kept);
    to = encode_number(to, 18, __atomic_load_n(&input->names->lost, __ATOMIC_RELAXED));
    encode_used(&writer->file, to);
    for (size_t i = 0; i < input->lane_count; i++) {
        const struct session_lane *lane = &input->lanes[i];
        to = encode_room(&writer->file, 64);
        if (!to)
            return;
        uint8_t *begun = to = encode_begin(to, 19);
        to = encode_number(to, 1, lane->recorded);
        to = encode_number(to, 2, lane->kept);
        to = encode_number(to, 3, lane->recorded - lane->kept);
        encode_used(&writer->file, encode_end(begun, to));
    }
}

static bool write_info(struct writer *writer, struct error *err)
{
    if (!encode_open(&writer->file, writer->input->directory, "trace_info.pb", err))
        return false;
    write_who(writer);
    write_clock(writer);
    write_counts(writer);
    write_artifacts(writer);
    return encode_commit(&writer->file, err);
}

static int by_number(const void *a, const void *b)
{
    const struct session_lane *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

bool session_write(struct session_input *input, struct error *err)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_set(err, "there is no memory to write a capture");
    writer->input = input;
    if (input->lane_count > 0)
        qsort(input->lanes, input->lane_count, sizeof *input->lanes, by_number);
    clock_map_make(&writer->clock, input->session);
    bool ok = write_ntrace(writer, err) && write_info(writer, err);
    free(writer->names.number);
    free(writer);
    return ok;
}

void session_remove_rings(const char *directory)
{
    char rings[PATH_MAX - 300], path[PATH_MAX];
    snprintf(rings, sizeof rings, "%s/rings", directory);
    snprintf(path, sizeof path, "%s/session", rings);
    unlink(path); /* first: without it the others are no capture that could be recovered by half */
    DIR *entries = opendir(rings);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        snprintf(path, sizeof path, "%s/%s", rings, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (entries)
        closedir(entries);
    rmdir(rings);
}
