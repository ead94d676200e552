/*
 * Leftover rings of a killed program: examining them and converting them to session files.
 */
#include "capture/recorder/record.h"

#include "capture/recorder/owner.h"
#include "capture/recorder/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ENDING_MS = 10000, PAUSE_MS = 10 };

/* The rings of one session, open. Session and names are copies: files can change. */
struct left_over {
    int directory;
    struct ring_directory rings;
    struct ring_session session;
    struct session_input input;
    struct ring_names *names;
};

static bool fail(const struct left_over *left, const char *name, const char *problem,
                 struct error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" RECORD_RINGS "/%s", left->rings.session, name);
    return error_in_file(err, path, "%s", problem);
}

/* If unknown, it counts as running. */
static bool is_running(const struct left_over *left)
{
    return owner_state(&left->session) != OWNER_DEAD;
}

static bool read_session(struct left_over *left, struct error *err)
{
    uint64_t size;
    int fd = ring_file_open(&left->rings, "session", sizeof left->session, &size, err);
    if (fd < 0)
        return false;
    bool is_read = ring_file_read(fd, &left->session, sizeof left->session, 0);
    close(fd);
    if (!is_read)
        return fail(left, "session", "cannot read", err);
    if (left->session.magic != RING_SESSION_MAGIC)
        return fail(left, "session", "not a file of a capture", err);
    if (left->session.version == RING_VERSION)
        return true;
    char problem[96];
    snprintf(problem, sizeof problem, "version %u is not supported; this program reads version %d",
             left->session.version, RING_VERSION);
    return fail(left, "session", problem, err);
}

static void left_over_close(struct left_over *left)
{
    ring_directory_close(&left->rings);
    if (left->directory >= 0)
        close(left->directory);
    mem_free(left->names);
    session_free_lanes(&left->input);
    mem_free(left);
}

/* NULL when there is none. */
static struct left_over *left_over_open(const char *directory, struct error *err)
{
    struct left_over *left = mem_zeroed(1, sizeof *left);
    left->rings.fd = -1;
    left->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (left->directory < 0)
        error_in_file(err, directory, "cannot open: %s", strerror(errno));
    else if (ring_directory_open(&left->rings, left->directory, directory, err) &&
             read_session(left, err))
        return left;
    left_over_close(left);
    return NULL;
}

/* A copy of the used part. The file is not trusted: its size and the format's maximum bound what
 * its header says. */
static bool read_names(struct left_over *left, struct error *err)
{
    uint64_t size;
    struct ring_names header;
    int fd = ring_file_open(&left->rings, "names", sizeof header, &size, err);
    if (fd < 0)
        return false;
    const char *problem = NULL;
    if (!ring_file_read(fd, &header, sizeof header, 0)) {
        problem = "cannot read";
    } else if (header.magic != RING_NAMES_MAGIC) {
        problem = "not a file of a capture";
    } else { /* the file has its full size from the start; only its beginning is used */
        uint64_t used = header.used < size ? header.used : size;
        used = used < RING_NAMES_SIZE ? used : RING_NAMES_SIZE;
        used = used > sizeof header ? used : sizeof header;
        left->names = mem_alloc((size_t)used);
        if (!ring_file_read(fd, left->names, (size_t)used, 0))
            problem = "cannot read";
        left->names->used = used;
        left->input.names = left->names;
        left->input.names_size = (size_t)used;
    }
    close(fd);
    return !problem || fail(left, "names", problem, err);
}

static bool find_lanes(struct left_over *left, struct error *err)
{
    struct session_input *input = &left->input;
    int fd = openat(left->rings.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (!entries) {
        fail(left, ".", strerror(errno), err);
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(entries));) {
        uint32_t number;
        if (ring_lane_number(entry->d_name, &number))
            session_add_lane(input, number, NULL);
        else if (ring_pack_number(entry->d_name, &number))
            session_add_pack(input, number);
        if (input->lane_count + input->pack_count > SESSION_MOST_LANES)
            ok = fail(left, entry->d_name, "is one lane more than a capture can have", err);
    }
    closedir(entries);
    return ok;
}

static bool left_over_write(struct left_over *left, const struct session_output *output,
                            struct error *err)
{
    left->input.directory = left->directory;
    left->input.rings = left->rings;
    left->input.session = &left->session;
    left->input.recovered = true;
    return read_names(left, err) && find_lanes(left, err) &&
           session_write(&left->input, output, err);
}

static void summarize(const struct left_over *left, struct record_summary *summary)
{
    *summary = (struct record_summary){
        .process = left->session.pid,
        .start_ns = left->session.samples > 0 ? left->session.sample[0].realtime_ns : 0,
        .is_running = is_running(left),
        .recorded = left->input.recorded,
        .kept = left->input.kept,
        .skipped = left->input.skipped,
        .first_skipped = left->input.first_skipped};
}

bool record_is_left_over(const char *directory)
{
    char path[PATH_MAX];
    struct stat status;
    return snprintf(path, sizeof path, "%s/" RECORD_RINGS "/session", directory) < PATH_MAX &&
           lstat(path, &status) == 0;
}

bool record_examine(const char *directory, struct record_summary *summary, struct error *err)
{
    struct left_over *left = left_over_open(directory, err);
    if (!left)
        return false;
    summarize(left, summary);
    left_over_close(left);
    return true;
}

bool record_convert(const char *directory, const int files[static RECORD_FILES],
                    struct record_summary *summary, struct error *err)
{
    struct left_over *left = left_over_open(directory, err);
    if (!left)
        return false;
    bool ok = left_over_write(left, &(struct session_output){.files = files}, err);
    summarize(left, summary);
    left_over_close(left);
    return ok;
}

/* Part files of a program that was killed while it wrote its session files. */
static void remove_parts(const struct left_over *left)
{
    int fd = openat(left->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !entries)
        close(fd);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        struct stat status;
        if (encode_is_part(entry->d_name) &&
            fstatat(left->directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && status.st_uid == left->rings.owner)
            unlinkat(left->directory, entry->d_name, 0);
    }
    if (entries)
        closedir(entries);
}

/* For a process that was killed and is not gone yet. */
static void wait_for_end(const struct left_over *left)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (int ms = 0; ms < ENDING_MS && owner_is_ending(&left->session); ms += PAUSE_MS)
        nanosleep(&pause, NULL);
}

static bool recover(struct left_over *left, const char *directory, struct error *err)
{
    wait_for_end(left);
    if (is_running(left))
        return error_in_file(err, directory, "belongs to process %u, which %s", left->session.pid,
                             owner_state(&left->session) == OWNER_ALIVE
                                 ? "is still recording"
                                 : "cannot be seen from here and may still be recording");
    struct encode_directory place = {.fd = left->directory, .path = directory, .sync = true};
    if (!left_over_write(left, &(struct session_output){.directory = &place}, err))
        return false;
    if (fsync(left->directory) != 0 && errno != EINVAL) /* some filesystems cannot */
        return error_in_file(err, directory, "cannot be written: %s; the rings stay",
                             strerror(errno));
    if (left->input.skipped == 0) /* else there may be more in them than was understood */
        session_remove_rings_at(left->directory, &left->rings);
    remove_parts(left);
    return true;
}

bool record_recover(const char *directory, struct record_summary *summary, struct error *err)
{
    struct left_over *left = left_over_open(directory, err);
    if (!left)
        return false;
    bool ok = false;
    if (flock(left->rings.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        error_in_file(err, directory, "is being recovered by another process");
    else if (!record_is_left_over(directory)) /* that process has just done it */
        error_in_file(err, directory, "has been recovered by another process");
    else
        ok = recover(left, directory, err);
    summarize(left, summary);
    left_over_close(left);
    return ok;
}
