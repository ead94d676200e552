/*
 * Control: a capture begins with kymo_start or with the program, and ends with kymo_stop or with
 * the program. A child of fork inherits it and begins its own with its first event.
 */
#include "capture/recorder/append.h"
#include "capture/recorder/capture.h"
#include "capture/recorder/clock.h"
#include "capture/recorder/environment.h"
#include "capture/recorder/filter.h"
#include "capture/recorder/lane.h"
#include "capture/recorder/lock.h"
#include "capture/recorder/names.h"
#include "capture/recorder/owner.h"
#include "capture/recorder/ring_read.h"
#include "capture/recorder/sampler.h"
#include "capture/recorder/session.h"
#include "capture/recorder/session_directory.h"
#include "capture/recorder/xla_dump.h"
#include "kymo/kymo.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHORTEST_NS 1000000000 /* of a capture without events that is worth keeping */

static struct {
    struct lock lock;
    bool running;
    bool has_appended; /* by kymo_session_append */
    uint32_t number;   /* of captures begun */
    struct kymo_options options;
    char output[PATH_MAX], devices_dir[PATH_MAX], instance[128]; /* what the options point to */
    char directory[SESSION_DIRECTORY_MAX], rings[PATH_MAX];
    char process_name[128];
    /* The mapped session file while a capture runs, and plain memory otherwise, so that late counts
     * do no harm. NULL before the first capture. */
    struct ring_session *session;
} capture = {.lock = LOCK_INITIALIZER};
static atomic_bool inherited; /* from the parent, and not begun yet */
enum { MOST_BEFORE_STOP = 4 };
static void (*_Atomic before_stop[MOST_BEFORE_STOP])(void);

/* The file is new and all zeros; it is too large to be put together on a thread's stack. */
static void describe(enum ring_clock clock)
{
    struct ring_session *file = capture.session;
    file->version = RING_VERSION;
    file->pid = (uint32_t)getpid();
    owner_describe(&file->owner);
    owner_beat(&file->owner);
    file->clock = clock;
    file->level = (uint32_t)capture.options.level;
    file->lane_records = capture.options.max_events;
    snprintf(file->instance, sizeof file->instance, "%s", capture.instance);
    gethostname(file->host, sizeof file->host - 1);
    ssize_t size = readlink("/proc/self/exe", file->program, sizeof file->program - 1);
    file->program[size > 0 ? size : 0] = '\0';
    snprintf(file->process_name, sizeof file->process_name, "%s", capture.process_name);
    environment_rank(&file->rank, &file->world_size);
    file->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    file->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    __atomic_store_n(&file->magic, RING_SESSION_MAGIC, __ATOMIC_RELEASE);
}

static bool map_session(const char *path)
{
    size_t size = sizeof *capture.session;
    struct region region;
    if (!capture.session) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        capture.session = memory;
    }
    return region_create(&region, path, size, size, capture.session);
}

static void unmap_session(void)
{
    region_detach(
        &(struct region){.base = (uint8_t *)capture.session, .size = sizeof *capture.session});
}

static bool make_files(struct error *err)
{
    char path[PATH_MAX];
    if (!session_directory_make(capture.directory, capture.output, capture.instance, err))
        return false;
    snprintf(capture.rings, sizeof capture.rings, "%s/rings", capture.directory);
    snprintf(path, sizeof path, "%s/rings/session", capture.directory);
    if (!map_session(path))
        return error_in_file(err, path, "cannot be made: %s", strerror(errno));
    describe(clock_choose());
    snprintf(path, sizeof path, "%s/rings/names", capture.directory);
    if (names_start(path))
        return true;
    return error_in_file(err, path, "cannot be made: %s", strerror(errno));
}

/* The lock is held. */
static int begin(void)
{
    struct error err;
    capture_may_complain();
    capture.directory[0] = '\0';
    errno = 0;
    if (!make_files(&err)) {
        int problem = errno ? errno : EIO;
        capture_complain(&err);
        if (capture.session)
            unmap_session();
        if (capture.directory[0]) {
            session_remove_rings(capture.directory);
            rmdir(capture.directory);
        }
        __atomic_store_n(&kymo_level, 0, __ATOMIC_RELAXED);
        return -problem;
    }
    sampler_start(&(struct sampler_options){.rings = capture.rings,
                                            .session = capture.session,
                                            .cpu_util_ms = capture.options.cpu_util_ms,
                                            .host_memory_ms = capture.options.host_memory_ms,
                                            .prepare = lanes_prepare});
    capture.running = true;
    capture.has_appended = false;
    capture.number++;
    lanes_start(capture.options.level > 0 ? capture.number : 0, capture.session, capture.rings,
                capture.options.max_events);
    __atomic_store_n(&kymo_level, capture.options.level, __ATOMIC_RELEASE);
    return 0;
}

static void warn_of_filter(const char *what, const char *bad, const char *parts)
{
    struct error err;
    error_set(&err, "%s: ignored %s: %s", what, bad, parts);
    capture_warn(&err);
}

/* The filters of the options; where they are those of the variables, messages name these. */
static void take_filters(const struct kymo_options *options)
{
    struct event_filter filter;
    char bad[256];
    event_filter_init(&filter);
    if (!event_filter_cores(&filter, options->event_cores, bad, sizeof bad))
        warn_of_filter(environment_name(ENVIRONMENT_CORES, options->event_cores, "event_cores"),
                       bad, "not a core or range of cores");
    if (!event_filter_types(&filter, options->event_types, bad, sizeof bad))
        warn_of_filter(environment_name(ENVIRONMENT_TYPES, options->event_types, "event_types"),
                       bad, "not an event type");
    filter_set(&filter);
}

/* The options that the caller knows, over the defaults. */
static bool take_options(const struct kymo_options *given)
{
    struct kymo_options options = KYMO_OPTIONS;
    if (given && given->size >= sizeof given->size)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (options.level < 0 || options.level > 3 || options.max_events == 0 ||
        options.max_events > ENVIRONMENT_MOST_EVENTS || options.devices > KYMO_DEVICES_SESSION)
        return false;
    snprintf(capture.devices_dir, sizeof capture.devices_dir, "%s",
             options.devices_dir ? options.devices_dir : "");
    snprintf(capture.output, sizeof capture.output, "%s",
             options.output_dir && *options.output_dir ? options.output_dir : "./output");
    if (options.instance && *options.instance)
        snprintf(capture.instance, sizeof capture.instance, "%s", options.instance);
    else
        instance_id(capture.instance, sizeof capture.instance);
    for (char *c = capture.instance; *c; c++)
        *c = *c == '/' ? '_' : *c;
    take_filters(&options);
    options.event_cores = options.event_types = NULL; /* the filter has them already */
    capture.options = options;
    return true;
}

static void before_fork(void)
{
    lock_take(&capture.lock);
    lanes_lock();
    names_lock();
    sampler_lock();
}

static void after_fork_in_parent(void)
{
    sampler_unlock();
    names_unlock();
    lanes_unlock();
    lock_release(&capture.lock);
}

static void after_fork_in_child(void)
{
    sampler_forked();
    names_forked();
    lanes_forked();
    if (capture.running) {
        capture.running = false;
        unmap_session();
        atomic_store(&inherited, true);
    }
    after_fork_in_parent();
}

int kymo_before_stop(void (*function)(void))
{
    for (size_t i = 0; i < MOST_BEFORE_STOP; i++) {
        void (*there)(void) = NULL;
        if (atomic_compare_exchange_strong(&before_stop[i], &there, function) || there == function)
            return 0;
    }
    return -ENOSPC;
}

int kymo_start(const struct kymo_options *options)
{
    lock_take(&capture.lock);
    int result = -EALREADY;
    if (!capture.running) {
        atomic_store(&inherited, false);
        result = take_options(options) ? begin() : -EINVAL;
    }
    lock_release(&capture.lock);
    return result;
}

void capture_resume(void)
{
    if (!atomic_load_explicit(&inherited, memory_order_relaxed))
        return;
    lock_take(&capture.lock);
    if (atomic_exchange(&inherited, false))
        begin();
    lock_release(&capture.lock);
}

/* The rings stay where they are when they cannot be turned into session files. */
static bool write_session(struct error *err)
{
    struct session_input input = {
        .session = capture.session, .names = names_mapped(), .names_size = SIZE_MAX};
    lanes_list(&input);
    bool ok = session_finish(capture.directory, &input, err);
    session_free_lanes(&input);
    return ok;
}

/* The lock is held and a capture running. */
static int end(void)
{
    struct error err;
    __atomic_store_n(&kymo_level, 0, __ATOMIC_RELAXED);
    sampler_stop();
    lanes_close(); /* before the names: an event that lacks a name for that reason is not recorded
                    */
    names_stop();
    bool ok = write_session(&err);
    int problem = errno ? errno : EIO;
    lanes_end();
    unmap_session();
    capture.running = false;
    if (ok) {
        session_remove_rings(capture.directory);
        rmdir(capture.directory); /* unless it has files, of the session or of devices */
        return 0;
    }
    capture_may_complain();
    capture_complain(&err);
    return -problem;
}

int kymo_stop(void)
{
    for (size_t i = 0; i < MOST_BEFORE_STOP; i++) {
        void (*function)(void) = atomic_load(&before_stop[i]);
        if (function && kymo_wants(1))
            function();
    }
    lock_take(&capture.lock);
    int result = -EALREADY;
    if (capture.running) {
        result = end();
    } else if (atomic_exchange(&inherited, false)) {
        __atomic_store_n(&kymo_level, 0, __ATOMIC_RELAXED);
        result = 0;
    }
    lock_release(&capture.lock);
    return result;
}

size_t kymo_session_dir(char *path, size_t size)
{
    capture_resume(); /* a child of fork must not use its parent's */
    lock_take(&capture.lock);
    size_t length = strlen(capture.directory);
    if (size > 0)
        snprintf(path, size, "%s", capture.directory);
    lock_release(&capture.lock);
    return length;
}

/* In a child of fork, the capture that it inherited begins here if it has not yet. */
enum kymo_devices kymo_wanted_devices(uint64_t *number, char *directory, size_t size)
{
    capture_resume();
    lock_take(&capture.lock);
    enum kymo_devices devices = capture.running ? capture.options.devices : KYMO_DEVICES_NONE;
    const char *name = strrchr(capture.directory, '/');
    int length = capture.devices_dir[0] && name
                     ? snprintf(directory, size, "%s%s", capture.devices_dir, name)
                     : snprintf(directory, size, "%s", capture.directory);
    if (number)
        *number = capture.number;
    lock_release(&capture.lock);
    return !directory || (size_t)length < size ? devices : KYMO_DEVICES_NONE;
}

int kymo_session_append(const char *name, const void *data, size_t size)
{
    if (!ring_is_known(name) || !strchr(name, '.'))
        return -EINVAL;
    lock_take(&capture.lock);
    int result = -EALREADY;
    if (capture.running) {
        capture.has_appended = true;
        result = append_to_file(capture.rings, name, data, size) ? 0 : -EIO;
    }
    lock_release(&capture.lock);
    return result;
}

void kymo_process_name(const char *name)
{
    lock_take(&capture.lock);
    snprintf(capture.process_name, sizeof capture.process_name, "%s", name ? name : "");
    if (capture.running)
        memcpy(capture.session->process_name, capture.process_name, sizeof capture.process_name);
    lock_release(&capture.lock);
}

uint64_t kymo_ticks(void)
{
    if (__builtin_expect(__atomic_load_n(&lanes_session, __ATOMIC_RELAXED) == 0, 0))
        capture_resume(); /* in a child of fork */
    return __atomic_load_n(&lanes_session, __ATOMIC_RELAXED) ? clock_ticks() : 0;
}

uint64_t kymo_ticks_at(int64_t monotonic_ns)
{
    uint64_t ticks = 0;
    lock_take(&capture.lock);
    if (capture.running) {
        /* As far from now as the clock's speed since the start says. */
        struct ring_sample now = clock_sample(), first = capture.session->sample[0];
        double per_ns =
            (double)(now.ticks - first.ticks) / (double)(now.monotonic_ns - first.monotonic_ns);
        ticks = now.ticks + (uint64_t)(int64_t)((double)(monotonic_ns - now.monotonic_ns) * per_ns);
    }
    lock_release(&capture.lock);
    return ticks;
}

/* ---- With the program ---------------------------------------------------------------------- */

/* Libraries that record load this one before they register handlers of fork: fork then takes their
 * locks before the recorder's, which they may wait for. */
__attribute__((constructor)) static void start_with_program(void)
{
    int problem = errno;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    struct kymo_options options = KYMO_OPTIONS;
    if (kymo_options_from_environment(&options) && kymo_start(&options) == 0)
        xla_dump_request(capture.directory);
    errno = problem;
}

/* Commands of a shell script, for example, run with capture on and record nothing. */
static bool is_worth_keeping(void)
{
    int64_t since_ns = clock_monotonic_ns() - capture.session->sample[0].monotonic_ns;
    return capture.options.level == 0 || capture.has_appended || lanes_opened() > 0 ||
           ring_lost_events(capture.session) > 0 || since_ns >= SHORTEST_NS;
}

static void drop(void)
{
    sampler_stop();
    lanes_close();
    names_stop();
    lanes_end();
    unmap_session();
    capture.running = false;
    session_remove_rings(capture.directory);
    rmdir(capture.directory);
}

__attribute__((destructor)) static void stop_with_program(void)
{
    lock_take(&capture.lock);
    if (capture.running && !is_worth_keeping())
        drop();
    lock_release(&capture.lock);
    kymo_stop();
}
