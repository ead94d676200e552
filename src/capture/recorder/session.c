/*
 * Converts rings to session files: names and lanes, then the events lane by lane, then the counts.
 */
#include "capture/recorder/session.h"

#include "capture/recorder/columns.h"
#include "capture/recorder/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_INFO = 4096 };

struct writer {
    struct session_input *input;
    const struct session_output *output;
    struct clock_map clock;
    struct columns_names names;
    struct encode_file file;
    struct columns *columns;
    int64_t end_ns;
};

static const char *const file_names[RECORD_FILES] = {[RECORD_EVENTS] = "ntrace.pb",
                                                     [RECORD_INFO] = "trace_info.pb",
                                                     [RECORD_CPU] = "cpu_util.pb",
                                                     [RECORD_MEMORY] = "host_mem.pb",
                                                     [RECORD_GPU] = "gpu_trace.pb"};

static bool open_output(struct writer *writer, enum record_file file, struct error *err)
{
    const struct session_output *output = writer->output;
    if (output->directory)
        return encode_open(&writer->file, output->directory, file_names[file], err);
    return encode_open_fd(&writer->file, output->files[file], file_names[file], err);
}

static uint64_t saturated_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
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
    to = encode_fixed64(to, 5, (uint64_t)clock_map_ns(&writer->clock, header->start_ticks));
    to = encode_fixed64(
        to, 6, header->end_ticks ? (uint64_t)clock_map_ns(&writer->clock, header->end_ticks) : 0);
    to = encode_number(to, 7, header->place);
    encode_used(&writer->file, encode_end(begun, to));
}

static void write_events(struct writer *writer, size_t index)
{
    struct session_input *input = writer->input;
    struct session_lane *lane = &input->lanes[index];
    struct ring_lane ring;
    struct error err;
    if (!session_open_lane(input, lane, &ring, &err)) {
        session_note_skipped(input, &err);
        return;
    }
    lane->recorded = ring_lane_events(&ring);
    columns_begin(writer->columns, (uint32_t)index);
    if (!ring_lane_read(&ring, writer->columns)) {
        error_set(&err, "lane_%u cannot be read to its end", lane->number);
        session_note_skipped(input, &err);
    }
    lane->kept = columns_end(writer->columns);
    if (lane->recorded < lane->kept) /* only a damaged file says so */
        lane->recorded = lane->kept;
    input->recorded = saturated_sum(input->recorded, lane->recorded);
    input->kept += lane->kept;
    ring_lane_close(&ring);
}

/* Lanes without a valid file are left out. */
static void write_lanes(struct writer *writer)
{
    struct session_input *input = writer->input;
    size_t count = 0;
    for (size_t i = 0; i < input->lane_count; i++) {
        struct ring_lane ring;
        struct error err;
        if (!session_open_lane(input, &input->lanes[i], &ring, &err)) {
            session_note_skipped(input, &err);
            continue;
        }
        if (ring.header.magic != 0) {
            write_lane(writer, &ring.header);
            input->lanes[count++] = input->lanes[i];
        }
        ring_lane_close(&ring);
    }
    input->lane_count = count;
    for (size_t i = 0; i < count; i++)
        write_events(writer, i);
    input->recorded = saturated_sum(input->recorded, ring_lost_events(input->session));
}

static bool write_ntrace(struct writer *writer, struct error *err)
{
    if (!open_output(writer, RECORD_EVENTS, err))
        return false;
    writer->columns = columns_new(&writer->file, &writer->clock, &writer->names);
    uint8_t *to = encode_room(&writer->file, 64);
    to = encode_text(to, ENCODE_FORMAT, "kymo.ntrace");
    encode_used(&writer->file, encode_number(to, 1, SESSION_VERSION));
    if (!writer->columns || !write_names(writer)) {
        columns_free(writer->columns);
        encode_discard(&writer->file);
        return error_set(err, "out of memory while writing a capture");
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

/* The samplers write whole messages, but the last one may be cut off on a full disk. Field number 0
 * is invalid: the rest is not the sampler's. */
static size_t whole_fields(const uint8_t *data, size_t size)
{
    size_t whole = 0, at = 0;
    while (at < size) {
        uint64_t tag = read_number(data, size, &at), value = read_number(data, size, &at);
        if ((tag & 7) == ENCODE_BYTES && value <= size - at)
            at += value;
        else if ((tag & 7) != ENCODE_VARINT)
            break;
        if (tag >> 3 == 0)
            break;
        whole = at;
    }
    return whole;
}

/* Copies the whole messages and returns their size. Samples are small: a message that does not fit
 * is not one. */
static uint64_t copy_samples(struct writer *writer, int from, uint64_t size)
{
    enum { WINDOW = 1 << 20 };
    uint8_t *window = malloc(WINDOW);
    uint64_t at = 0;
    while (window && at < size) {
        size_t got = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
        size_t whole = ring_file_read(from, window, got, at) ? whole_fields(window, got) : 0;
        if (whole == 0)
            break;
        encode_write(&writer->file, window, whole);
        at += whole;
    }
    free(window);
    return at;
}

static bool skip_samples(struct writer *writer, const struct error *problem)
{
    session_note_skipped(writer->input, problem);
    return false;
}

/* A sampler's file is copied as it is. *is_there: whether there is one. */
static bool write_samples(struct writer *writer, enum record_file file, bool *is_there,
                          struct error *err)
{
    const struct ring_directory *rings = &writer->input->rings;
    const char *name = file_names[file];
    struct error problem;
    struct stat status;
    uint64_t size;
    *is_there = fstatat(rings->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*is_there)
        return true;
    int from = ring_file_open(rings, name, 0, &size, &problem);
    if (from < 0) {
        *is_there = skip_samples(writer, &problem);
        return true;
    }
    bool ok = open_output(writer, file, err);
    if (ok && size > 0 && copy_samples(writer, from, size) == 0) {
        error_set(&problem, "%s has no samples", name);
        *is_there = skip_samples(writer, &problem);
        encode_discard(&writer->file);
    } else {
        ok = ok && encode_commit(&writer->file, err);
    }
    close(from);
    return ok;
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

static void write_artifacts(struct writer *writer, const bool is_there[static RECORD_FILES])
{
    static const char *const kinds[RECORD_FILES] = {[RECORD_EVENTS] = "ntrace",
                                                    [RECORD_CPU] = "cpu_util",
                                                    [RECORD_MEMORY] = "host_mem",
                                                    [RECORD_GPU] = "gpu_trace"};
    for (size_t i = 0; i < RECORD_FILES; i++)
        if (kinds[i] && is_there[i])
            write_artifact(&writer->file, kinds[i], file_names[i]);
    /* Profiles and programs of devices that a runtime has put beside the session's own files. */
    int fd = openat(writer->input->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !entries)
        close(fd);
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
    to = encode_number(to, 21, session->rank);
    to = encode_number(to, 22, session->world_size);
    to = encode_fixed64(to, 7, (uint64_t)writer->clock.piece[0].ns);
    encode_used(&writer->file, to);
}

static void write_counts(struct writer *writer)
{
    const struct session_input *input = writer->input;
    uint8_t *to = encode_room(&writer->file, 128);
    if (!to)
        return;
    to = encode_fixed64(to, 8, (uint64_t)writer->end_ns);
    to = encode_number(to, 15, input->recorded);
    to = encode_number(to, 16, input->kept);
    to = encode_number(to, 17, input->recorded - input->kept);
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

static bool write_info(struct writer *writer, const bool is_there[static RECORD_FILES],
                       struct error *err)
{
    if (!open_output(writer, RECORD_INFO, err))
        return false;
    write_who(writer);
    write_clock(writer);
    write_counts(writer);
    write_artifacts(writer, is_there);
    return encode_commit(&writer->file, err);
}

/* Neither events nor samples were asked for, as for device profiles alone. */
static bool is_empty(const struct session_input *input)
{
    struct stat status;
    for (size_t i = 0; i < RECORD_FILES; i++)
        if (fstatat(input->rings.fd, file_names[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
            return false;
    return input->session->level == 0;
}

bool session_write(struct session_input *input, const struct session_output *output,
                   struct error *err)
{
    if (output->directory && is_empty(input))
        return true;
    struct writer *writer = session_list_lanes(input) ? calloc(1, sizeof *writer) : NULL;
    if (!writer)
        return error_set(err, "out of memory while writing a capture");
    writer->input = input;
    writer->output = output;
    clock_map_make(&writer->clock, input->session);
    bool is_there[RECORD_FILES] = {[RECORD_EVENTS] = true};
    bool ok = write_ntrace(writer, err) &&
              write_samples(writer, RECORD_CPU, &is_there[RECORD_CPU], err) &&
              write_samples(writer, RECORD_MEMORY, &is_there[RECORD_MEMORY], err) &&
              write_samples(writer, RECORD_GPU, &is_there[RECORD_GPU], err) &&
              write_info(writer, is_there, err);
    free(writer->names.number);
    free(writer);
    return ok;
}

/* The directory is the one the program made; a link in its place is somebody else's. */
static int open_session(const char *directory)
{
    return open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool session_finish(const char *directory, struct session_input *input, struct error *err)
{
    input->directory = open_session(directory);
    if (input->directory < 0)
        return error_in_file(err, directory, "cannot open: %s", strerror(errno));
    bool ok = ring_directory_open(&input->rings, input->directory, directory, err);
    if (ok) {
        struct encode_directory place = {.fd = input->directory, .path = directory};
        ok = session_write(input, &(struct session_output){.directory = &place}, err);
        ring_directory_close(&input->rings);
    }
    close(input->directory);
    return ok;
}

static void remove_ring_file(const struct ring_directory *rings, const char *name)
{
    struct stat status;
    if (ring_is_known(name) && fstatat(rings->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == rings->owner)
        unlinkat(rings->fd, name, 0);
}

void session_remove_rings_at(int directory, const struct ring_directory *rings)
{
    /* First: without it, nothing takes the remaining files for a capture. */
    remove_ring_file(rings, "session");
    int fd = openat(rings->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !entries)
        close(fd);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        remove_ring_file(rings, entry->d_name);
    if (entries)
        closedir(entries);
    unlinkat(directory, RING_DIRECTORY, AT_REMOVEDIR);
}

void session_remove_rings(const char *directory)
{
    struct ring_directory rings;
    struct error ignored;
    int fd = open_session(directory);
    if (fd < 0)
        return;
    if (ring_directory_open(&rings, fd, directory, &ignored)) {
        session_remove_rings_at(fd, &rings);
        ring_directory_close(&rings);
    }
    close(fd);
}
