/*
 * Lanes: opening, growing, ending and listing rings. An event gets here once in a few thousand.
 */
#include "capture/recorder/lane.h"

#include "capture/recorder/capture.h"
#include "capture/recorder/clock.h"
#include "capture/recorder/ended.h"
#include "capture/recorder/ring_read.h"
#include "capture/recorder/sampler.h"
#include "kymo/kymo.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FIRST_PIECE = 64 << 10, /* of a ring: 2,048 records */
    LARGEST_PIECE = 1 << 20,
};

uint32_t lanes_session;
__thread struct kymo_lane *lane_mine __attribute__((tls_model("initial-exec")));
static __thread uint32_t refused __attribute__((tls_model("initial-exec"))); /* by this capture */
static __thread bool inside
    __attribute__((tls_model("initial-exec"))); /* a signal came in between */

static struct {
    struct lock lock;
    struct ring_session *session; /* for counts; NULL before the first capture */
    struct kymo_lane *live;
    uint64_t opened, slots;
    char rings[PATH_MAX - 64];
} lanes = {.lock = LOCK_INITIALIZER};
int kymo_level; /* set by control.c */
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

void lanes_lock(void)
{
    lock_take(&lanes.lock);
}

void lanes_unlock(void)
{
    lock_release(&lanes.lock);
}

static void complain_about(const char *path, const char *consequence)
{
    struct error err;
    error_in_file(&err, path, "cannot be written: %s; %s", strerror(errno), consequence);
    capture_complain(&err);
}

static void list_lane(struct kymo_lane *lane)
{
    lane->next = lanes.live;
    lane->link = &lanes.live;
    if (lane->next)
        lane->next->link = &lane->next;
    lanes.live = lane;
}

static void unlist_lane(struct kymo_lane *lane)
{
    *lane->link = lane->next;
    if (lane->next)
        lane->next->link = lane->link;
}

static void fill_header(struct kymo_lane *lane, enum ring_lane_kind kind, const char *name,
                        uint32_t core)
{
    struct ring_header *header = lane->header;
    *header = (struct ring_header){.version = RING_VERSION,
                                   .record_size = sizeof(struct ring_record),
                                   .kind = kind,
                                   .number = lane->number,
                                   .thread = (uint64_t)syscall(SYS_gettid),
                                   .core = core,
                                   .start_ticks = clock_ticks(),
                                   .slots = lanes.slots};
    snprintf(header->name, sizeof header->name, "%s", name);
    __atomic_store_n(&header->magic, RING_LANE_MAGIC, __ATOMIC_RELEASE);
}

static size_t reserved_records(const struct kymo_lane *lane)
{
    return (lane->region.ready - RING_HEADER_SIZE) / sizeof(struct ring_record);
}

/* The lock is held and a capture running. */
static struct kymo_lane *open_lane(enum ring_lane_kind kind, const char *name, uint32_t core)
{
    char path[PATH_MAX];
    lane_path(path, lanes.rings, (uint32_t)lanes.opened);
    struct kymo_lane *lane = calloc(1, sizeof *lane + strlen(path) + 1);
    if (!lane)
        return NULL;
    lane->number = (uint32_t)lanes.opened;
    strcpy(lane->path, path); /* NOLINT: there is room */
    size_t size = RING_HEADER_SIZE + lanes.slots * sizeof(struct ring_record);
    if (!region_create(&lane->region, path, size, RING_HEADER_SIZE + FIRST_PIECE, NULL)) {
        complain_about(path, "events of this thread are lost");
        free(lane);
        return NULL;
    }
    __atomic_store_n(&lanes.opened, lanes.opened + 1, __ATOMIC_RELAXED);
    lanes.session->lanes = lanes.opened;
    lane->session = lanes_session;
    lane->header = (struct ring_header *)lane->region.base;
    lane->first = (struct ring_record *)(lane->region.base + RING_HEADER_SIZE);
    lane->position.slot = lane->first;
    lane->position.base = 0 - (uintptr_t)lane->first / sizeof *lane->first;
    lane->limit = &lane->first[reserved_records(lane)];
    lane->end = lane->first + lanes.slots;
    fill_header(lane, kind, name, core);
    list_lane(lane);
    return lane;
}

/* Truncates the file of an ended thread to what it recorded. */
static void trim(const struct kymo_lane *lane)
{
    size_t used = (size_t)(lane->position.slot - lane->first);
    if (lane_position_head(&lane->position) > used ||
        used + RING_GUARD > lanes.slots) /* it went round, or is full */
        return;
    __atomic_store_n(&lane->header->slots, used + RING_GUARD, __ATOMIC_RELAXED);
    /* Else it stays as large as it is. */
    region_truncate(&lane->region, lane->path,
                    RING_HEADER_SIZE + (used + RING_GUARD) * sizeof(struct ring_record));
}

/* The lock is held. */
static void end_lane(struct kymo_lane *lane)
{
    if (!lane->detached) {
        unlist_lane(lane);
        __atomic_store_n(&lane->header->end_ticks, clock_ticks(), __ATOMIC_RELAXED);
        uint64_t head = lane_position_head(&lane->position);
        __atomic_store_n(&lane->header->head, head, __ATOMIC_RELEASE);
        uint64_t events = ring_events(lane->header, head);
        if (!ended_pack(lane->header, lane->path, events)) {
            trim(lane);
            ended_keep(lane->number, events);
        }
    }
    region_unmap(&lane->region);
    free(lane);
}

static void end_thread(void *lane)
{
    lane_mine = NULL;
    lanes_lock();
    end_lane(lane);
    lanes_unlock();
}

static void make_thread_end(void)
{
    pthread_key_create(&thread_end, end_thread);
}

static void open_mine(void)
{
    char name[RING_LANE_NAME] = "";
    prctl(PR_GET_NAME, name);
    pthread_once(&thread_end_once, make_thread_end);
    lanes_lock();
    if (lane_mine) {
        end_lane(lane_mine);
        lane_mine = NULL;
    }
    uint32_t session = __atomic_load_n(&lanes_session, __ATOMIC_RELAXED);
    if (session != 0) {
        lane_mine = open_lane(RING_THREAD, name, UINT32_MAX);
        refused = lane_mine ? 0 : session;
    }
    lanes_unlock();
    pthread_setspecific(thread_end, lane_mine);
}

/* Events that have no ring. */
void kymo_count_lost(uint64_t events)
{
    struct ring_session *session = __atomic_load_n(&lanes.session, __ATOMIC_ACQUIRE);
    if (session)
        __atomic_fetch_add(&session->lost_events, events, __ATOMIC_RELAXED);
}

/* Undisturbed. */
static struct kymo_lane *find_mine(void)
{
    capture_resume();
    uint32_t session = __atomic_load_n(&lanes_session, __ATOMIC_RELAXED);
    if (session != 0 && session != refused && (!lane_mine || lane_mine->session != session))
        open_mine();
    if (session != 0 && session == refused)
        kymo_count_lost(1);
    return lane_mine && session != 0 && lane_mine->session == session ? lane_mine : NULL;
}

struct kymo_lane *lane_of_thread(void)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    int problem = errno;
    struct kymo_lane *lane = NULL;
    if (inside) { /* by way of a function that the recorder calls, such as an allocator's */
        kymo_count_lost(1);
    } else {
        inside = true;
        lane = find_mine();
        inside = false;
    }
    errno = problem;
    undisturbed_end(&before);
    return lane;
}

/* A ring that cannot grow goes on with the size it has. */
static void shrink(struct kymo_lane *lane, struct ring_record *end)
{
    lane->end = end;
    __atomic_store_n(&lane->header->slots, (uint64_t)(lane->end - lane->first), __ATOMIC_RELEASE);
}

static size_t at_most(size_t size, size_t most)
{
    return size < most ? size : most;
}

/* Requests the next piece ahead of time. */
static void look_ahead(struct kymo_lane *lane, size_t piece)
{
    size_t from = lane->region.ready, prepared = __atomic_load_n(&lane->prepared, __ATOMIC_RELAXED);
    from = from > prepared ? from : prepared;
    size_t to = at_most(lane->region.ready + 2 * piece, lane->region.size);
    if (from >= to)
        return;
    __atomic_store_n(&lane->wanted_from, from, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->wanted_to, to, __ATOMIC_RELEASE);
    sampler_wake();
}

/* Reserves the next piece of the ring, if nobody has done so. */
static bool grow(struct kymo_lane *lane)
{
    size_t piece = at_most(lane->region.ready - RING_HEADER_SIZE, LARGEST_PIECE);
    size_t ready = at_most(lane->region.ready + piece, lane->region.size);
    if (__atomic_load_n(&lane->prepared, __ATOMIC_ACQUIRE) >= ready)
        lane->region.ready = ready;
    else if (!region_reserve(&lane->region, lane->path, ready))
        return false;
    look_ahead(lane, piece);
    return true;
}

static void prepare(struct kymo_lane *lane)
{
    size_t to = __atomic_load_n(&lane->wanted_to, __ATOMIC_ACQUIRE);
    size_t from = __atomic_load_n(&lane->wanted_from, __ATOMIC_RELAXED);
    if (to <= lane->prepared || to <= from)
        return;
    if (region_prepare(&lane->region, lane->path, from, to))
        __atomic_store_n(&lane->prepared, to, __ATOMIC_RELEASE);
}

void lanes_prepare(void)
{
    lanes_lock();
    for (struct kymo_lane *lane = lanes.live; lane; lane = lane->next)
        prepare(lane);
    lanes_unlock();
}

static bool is_over(const struct kymo_lane *lane)
{
    return __atomic_load_n(&lanes_session, __ATOMIC_RELAXED) != lane->session;
}

/* The end of a capture holds the lock while it reads the rings, and detaches them then. */
static void wait_for_end(void)
{
    lanes_lock();
    lanes_unlock();
}

/* The position is at the end of what is reserved. In a ring that shrinks, the next event replaces
 * the oldest one: either a reader sees the new size, or the writer sees here that the ring is being
 * read. */
static void extend(struct kymo_lane *lane, struct ring_record *slot)
{
    if (!is_over(lane)) {
        if (grow(lane))
            return;
        complain_about(lane->path, "fewer events than asked for are kept");
        shrink(lane, slot);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* with the one in lanes_close */
    }
    if (is_over(lane)) {
        wait_for_end();
        shrink(lane, slot);
    }
}

void lane_turn(struct kymo_lane *lane, struct lane_position *position)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    int problem = errno;
    if (position->slot != lane->end)
        extend(lane, position->slot);
    if (position->slot == lane->end) {
        position->base += (uint64_t)(lane->end - lane->first);
        position->slot = lane->first;
    }
    lane->limit = &lane->first[reserved_records(lane)];
    if (lane->limit > lane->end)
        lane->limit = lane->end;
    errno = problem;
    undisturbed_end(&before);
}

void lane_go_to(struct kymo_lane *lane, const struct lane_position *position)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    lane->position = *position;
    undisturbed_end(&before);
}

/* The lock is held. */
static struct kymo_lane *open_if_running(enum ring_lane_kind kind, const char *name, uint32_t core)
{
    return __atomic_load_n(&lanes_session, __ATOMIC_RELAXED)
               ? open_lane(kind, name ? name : "", core)
               : NULL;
}

struct kymo_lane *kymo_lane_open(const char *name, uint32_t nc_idx)
{
    capture_resume();
    lanes_lock();
    struct kymo_lane *lane = open_if_running(RING_CORE, name, nc_idx);
    lanes_unlock();
    return lane;
}

struct kymo_lane *kymo_lane_open_thread(const char *name, uint64_t thread, int is_shared)
{
    capture_resume();
    lanes_lock();
    struct kymo_lane *lane = open_if_running(RING_THREAD, name, UINT32_MAX);
    if (lane) {
        lane->header->thread = thread;
        lane->header->place = is_shared ? RING_SHARED : RING_APART;
    }
    lanes_unlock();
    return lane;
}

void kymo_lane_close(struct kymo_lane *lane)
{
    if (!lane)
        return;
    lanes_lock();
    end_lane(lane);
    lanes_unlock();
}

void kymo_lane_name(struct kymo_lane *lane, const char *name)
{
    if (!lane || !name)
        return;
    lanes_lock();
    snprintf(lane->header->name, sizeof lane->header->name, "%s", name);
    lanes_unlock();
}

void kymo_thread_name(const char *name)
{
    if (!kymo_wants(1) || !name)
        return;
    kymo_lane_name(lane_of_thread(), name);
}

void lanes_start(uint32_t number, struct ring_session *session, const char *rings, uint64_t records)
{
    lanes_lock();
    __atomic_store_n(&lanes.session, session, __ATOMIC_RELEASE);
    snprintf(lanes.rings, sizeof lanes.rings, "%s", rings);
    lanes.slots = records + RING_GUARD;
    lanes.opened = 0;
    ended_start(session, lanes.rings);
    __atomic_store_n(&lanes_session, number, __ATOMIC_RELEASE);
    lanes_unlock();
}

void lanes_close(void)
{
    lanes_lock();
    __atomic_store_n(&lanes_session, 0, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void lanes_end(void)
{
    while (lanes.live) {
        struct kymo_lane *lane = lanes.live;
        unlist_lane(lane);
        lane->detached = true;
        region_detach(&lane->region);
    }
    ended_forget();
    lanes_unlock();
}

void lanes_list(struct session_input *input)
{
    ended_list(input);
    for (const struct kymo_lane *lane = lanes.live; lane; lane = lane->next)
        session_add_lane(input, lane->number, lane->header);
}

uint64_t lanes_opened(void)
{
    return __atomic_load_n(&lanes.opened, __ATOMIC_RELAXED);
}

void lanes_forked(void)
{
    while (lanes.live) {
        struct kymo_lane *lane = lanes.live;
        bool of_thread = lane->header->kind == RING_THREAD && lane->header->place == RING_OWN;
        unlist_lane(lane);
        lane->detached = true;
        region_detach(&lane->region);         /* the pages are the parent's */
        if (of_thread && lane != lane_mine) { /* of a thread that is not here */
            region_unmap(&lane->region);
            free(lane);
        }
    }
    ended_forget();
    __atomic_store_n(&lanes_session, 0, __ATOMIC_RELEASE);
}
