/*
 * Reading untrusted ring files.
 */
#include "capture/recorder/ring_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 4096, LONGEST_NUMBER = 10 }; /* records read at once; digits of a lane */

static bool fail(const struct ring_directory *rings, const char *name, const char *problem,
                 struct error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/" RING_DIRECTORY "%s%s", rings->session, *name ? "/" : "",
                 name) >= PATH_MAX)
        snprintf(path, sizeof path, RING_DIRECTORY "/%s", name);
    return error_in_file(err, path, "%s", problem);
}

bool ring_directory_open(struct ring_directory *rings, int session, const char *path,
                         struct error *err)
{
    struct stat above, status;
    *rings = (struct ring_directory){.session = path};
    rings->fd = openat(session, RING_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (rings->fd < 0)
        return fail(rings, "",
                    errno == ELOOP || errno == ENOTDIR ? "not a directory" : strerror(errno), err);
    if (fstat(session, &above) == 0 && fstat(rings->fd, &status) == 0 &&
        above.st_uid == status.st_uid) {
        rings->owner = status.st_uid;
        return true;
    }
    fail(rings, "", "belongs to another user than its directory", err);
    ring_directory_close(rings);
    return false;
}

void ring_directory_close(struct ring_directory *rings)
{
    if (rings->fd >= 0)
        close(rings->fd);
    rings->fd = -1;
}

static const char *problem_of(const struct ring_directory *rings, const struct stat *status,
                              uint64_t least)
{
    if (!S_ISREG(status->st_mode))
        return "not a regular file";
    if (status->st_uid != rings->owner)
        return "belongs to another user than its directory";
    return (uint64_t)status->st_size < least ? "too short for a ring file" : NULL;
}

/* Opening a device can have side effects, so the file type is checked before opening and, because
 * the file may have been replaced, again after. */
int ring_file_open(const struct ring_directory *rings, const char *name, uint64_t least,
                   uint64_t *size, struct error *err)
{
    struct stat status;
    int fd = -1;
    const char *problem = NULL;
    if (fstatat(rings->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        problem = strerror(errno);
    else
        problem = problem_of(rings, &status, least);
    if (!problem) {
        fd = openat(rings->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        problem =
            fd < 0 || fstat(fd, &status) != 0 ? strerror(errno) : problem_of(rings, &status, least);
    }
    if (!problem) {
        *size = (uint64_t)status.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    fail(rings, name, problem, err);
    return -1;
}

bool ring_file_read(int fd, void *to, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

void ring_lane_mapped(struct ring_lane *lane, const struct ring_header *header)
{
    /* The event at which the writer was stopped may have counted its follow-up records already;
     * ring_lane_events looks at that. */
    uint64_t head = __atomic_load_n(&header->head, __ATOMIC_ACQUIRE);
    *lane = (struct ring_lane){.fd = -1};
    memcpy(&lane->header, header, offsetof(struct ring_header, slots));
    lane->header.head = head;
    lane->header.slots = __atomic_load_n(&header->slots, __ATOMIC_RELAXED);
    lane->header.args_head = __atomic_load_n(&header->args_head, __ATOMIC_ACQUIRE);
    lane->header.args_before = __atomic_load_n(&header->args_before, __ATOMIC_ACQUIRE);
    lane->header.args = __atomic_load_n(&header->args, __ATOMIC_ACQUIRE);
    lane->records = (const struct ring_record *)((const uint8_t *)header + RING_HEADER_SIZE);
}

/* Reads the header. */
static const char *ring_problem(struct ring_lane *lane)
{
    const struct ring_header *header = &lane->header;
    if (!ring_file_read(lane->fd, &lane->header, sizeof *header, lane->at)) {
        lane->header.magic = UINT64_MAX; /* not 0, which says something */
        return "cannot read";
    }
    if (header->magic != RING_LANE_MAGIC || header->record_size != sizeof(struct ring_record))
        return "not a ring";
    return header->version == RING_VERSION ? NULL : "the version of the ring is not supported";
}

/* A file that the program was killed while making is a lane without events: it is empty, or has its
 * full size and a header of zeros. */
bool ring_lane_open(struct ring_lane *lane, const struct ring_directory *rings, uint32_t number,
                    uint64_t slots, struct error *err)
{
    char name[32];
    uint64_t size;
    *lane = (struct ring_lane){.first = RING_HEADER_SIZE};
    snprintf(name, sizeof name, "lane_%u", number);
    lane->fd = ring_file_open(rings, name, 0, &size, err);
    if (lane->fd < 0 || size == 0)
        return lane->fd >= 0;
    const struct ring_header *header = &lane->header;
    bool is_short = size < RING_HEADER_SIZE;
    uint64_t room = is_short ? 0 : (size - RING_HEADER_SIZE) / sizeof(struct ring_record);
    const char *problem = is_short ? "too short for a ring file" : ring_problem(lane);
    if (problem && header->magic == 0 && room == slots)
        return true;
    if (!problem && header->number != number)
        problem = "is the ring of another lane";
    if (!problem && header->slots > room)
        problem = "is shorter than its header says";
    if (!problem)
        return true;
    ring_lane_close(lane);
    return fail(rings, name, problem, err);
}

void ring_lane_close(struct ring_lane *lane)
{
    if (lane->fd >= 0 && !lane->is_packed)
        close(lane->fd);
    lane->fd = -1;
}

/* A program that is killed while it makes a pack leaves an empty one. */
bool ring_pack_open(struct ring_pack_file *pack, const struct ring_directory *rings,
                    uint32_t number, struct error *err)
{
    char name[32];
    uint64_t size;
    struct ring_pack header = {0};
    snprintf(name, sizeof name, "pack_%u", number);
    *pack = (struct ring_pack_file){.fd = ring_file_open(rings, name, 0, &size, err)};
    if (pack->fd < 0)
        return false;
    const char *problem = NULL;
    if (size >= sizeof header && !ring_file_read(pack->fd, &header, sizeof header, 0))
        problem = "cannot read";
    else if (size > RING_PACK_SIZE || (header.magic != 0 && header.magic != RING_PACK_MAGIC))
        problem = "not a pack of rings";
    else if (header.magic != 0 && header.version != RING_VERSION)
        problem = "the version of the pack is not supported";
    else if (header.magic != 0 && (header.number != number || header.used > size))
        problem = "is not what its header says";
    if (problem) {
        ring_pack_close(pack);
        return fail(rings, name, problem, err);
    }
    pack->end = header.magic != 0 ? header.used : 0;
    return true;
}

void ring_pack_close(struct ring_pack_file *pack)
{
    if (pack->fd >= 0)
        close(pack->fd);
    pack->fd = -1;
}

uint64_t ring_lane_packed(struct ring_lane *lane, const struct ring_pack_file *pack, uint64_t at)
{
    const struct ring_header *header = &lane->header;
    *lane = (struct ring_lane){
        .fd = pack->fd, .is_packed = true, .at = at, .first = at + sizeof *header};
    if (lane->first > pack->end || ring_problem(lane) != NULL)
        return 0;
    uint64_t records = header->head < header->slots ? header->head : header->slots;
    if (records > (pack->end - lane->first) / sizeof(struct ring_record))
        return 0;
    return lane->first + records * sizeof(struct ring_record);
}

/* The event at which the writer was stopped may have counted its follow-up records already. */
uint64_t ring_events(const struct ring_header *header, uint64_t head)
{
    uint64_t args_head = __atomic_load_n(&header->args_head, __ATOMIC_ACQUIRE);
    uint64_t args =
        __atomic_load_n(args_head > head ? &header->args_before : &header->args, __ATOMIC_ACQUIRE);
    return head - (args < head ? args : 0);
}

uint64_t ring_lane_events(const struct ring_lane *lane)
{
    return ring_events(&lane->header, lane->header.head);
}

uint64_t ring_lost_events(const struct ring_session *session)
{
    uint64_t drops = __atomic_load_n(&session->drops, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&session->lost_events, __ATOMIC_RELAXED) +
           session->dropped[drops % 2].events;
}

static uint64_t kept_records(uint64_t slots, uint64_t head)
{
    uint64_t most = slots > RING_GUARD ? slots - RING_GUARD : 0;
    return head < most ? head : most;
}

/* How many of the records that begin at `slot` are in a hole of the file, where nothing was ever
 * written: a file can be made far larger than what is in it. */
static uint64_t in_hole(const struct ring_lane *lane, uint64_t slot, uint64_t count)
{
    off_t at = (off_t)(lane->first + slot * sizeof(struct ring_record));
    off_t data = lseek(lane->fd, at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? count : 0;
    uint64_t hole = (uint64_t)(data - at) / sizeof(struct ring_record);
    return hole < count ? hole : count;
}

/* How many of the records from `first` on the writer may have replaced since the header was read.
 */
static bool replaced_since(const struct ring_lane *lane, uint64_t first, uint64_t *replaced)
{
    struct ring_header now;
    if (!ring_file_read(lane->fd, &now, sizeof now, lane->at))
        return false;
    uint64_t oldest = now.head - kept_records(now.slots, now.head);
    *replaced = oldest > first ? oldest - first : 0;
    return true;
}

/* Records first to first + count, which are contiguous. */
static bool read_piece(const struct ring_lane *lane, struct columns *columns,
                       struct ring_record *buffer, uint64_t first, uint64_t count)
{
    uint64_t slot = first % lane->header.slots, replaced;
    if (!ring_file_read(lane->fd, buffer, count * sizeof *buffer,
                        lane->first + slot * sizeof *buffer) ||
        !replaced_since(lane, first, &replaced))
        return false;
    if (replaced > 0)
        columns_gap(columns);
    if (replaced < count)
        columns_add(columns, buffer + replaced, count - replaced);
    return true;
}

static bool read_file(const struct ring_lane *lane, struct columns *columns)
{
    uint64_t slots = lane->header.slots, head = lane->header.head;
    struct ring_record *buffer = malloc(PIECE * sizeof *buffer);
    bool ok = buffer != NULL;
    for (uint64_t left = kept_records(slots, head); left > 0 && ok;) {
        uint64_t slot = (head - left) % slots;
        uint64_t count = left < slots - slot ? left : slots - slot;
        uint64_t hole = in_hole(lane, slot, count);
        if (hole > 0) {
            columns_gap(columns);
            left -= hole;
            continue;
        }
        count = count < PIECE ? count : PIECE;
        ok = read_piece(lane, columns, buffer, head - left, count);
        left -= count;
    }
    free(buffer);
    return ok;
}

bool ring_lane_read(const struct ring_lane *lane, struct columns *columns)
{
    if (!lane->records)
        return read_file(lane, columns);
    uint64_t slots = lane->header.slots, head = lane->header.head;
    uint64_t left = kept_records(slots, head);
    if (left == 0)
        return true;
    uint64_t slot = (head - left) % slots, behind = slots - slot;
    columns_add(columns, lane->records + slot, left < behind ? left : behind);
    if (left > behind)
        columns_add(columns, lane->records, left - behind);
    return true;
}

static bool number_of(const char *name, const char *prefix, uint32_t *number)
{
    size_t before = strlen(prefix);
    if (strncmp(name, prefix, before) != 0)
        return false;
    const char *digits = name + before;
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > LONGEST_NUMBER || digits[count] || (digits[0] == '0' && count > 1))
        return false;
    unsigned long long value = strtoull(digits, NULL, 10);
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

bool ring_lane_number(const char *name, uint32_t *number)
{
    return number_of(name, "lane_", number);
}

bool ring_pack_number(const char *name, uint32_t *number)
{
    return number_of(name, "pack_", number);
}

bool ring_is_known(const char *name)
{
    static const char *const names[] = {"session", "names", "cpu_util.pb", "host_mem.pb",
                                        "gpu_trace.pb"};
    uint32_t ignored;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return ring_lane_number(name, &ignored) || ring_pack_number(name, &ignored);
}
