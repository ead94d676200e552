/*
 * Packs, and which files of ended lanes there are.
 */
#include "capture/recorder/ended.h"

#include "capture/recorder/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MOST_FILES = 4096, /* beyond, the oldest go */
    MOST_LANES = 1 << 20,
    PACK_PIECE = 256 << 10,     /* reserved at once */
    LARGEST_PACKED = 256 << 10, /* copied while other threads wait: 8,000 records, 20 us */
};

/* A file of ended lanes. */
struct ended {
    uint32_t number;
    bool is_pack;
    uint32_t lanes;
    uint64_t events;
};

static struct {
    struct ring_session *session;
    const char *rings;
    struct ended *files; /* a ring of its own: the oldest is at `first` */
    size_t first, count;
    uint64_t lanes; /* in them */
    /* The pack that is filled; without a mapping there is none. */
    struct region region;
    struct ended pack;
    uint32_t packs; /* opened so far */
} ended;

void lane_path(char path[static PATH_MAX], const char *rings, uint32_t number)
{
    snprintf(path, PATH_MAX, "%s/lane_%u", rings, number);
}

static void pack_path(char path[static PATH_MAX], uint32_t number)
{
    snprintf(path, PATH_MAX, "%s/pack_%u", ended.rings, number);
}

/* Removes a file; its events are counted as lost, in one store. */
static void drop(const struct ended *file)
{
    char path[PATH_MAX];
    struct ring_session *session = ended.session;
    uint64_t drops = session->drops;
    session->dropped[(drops + 1) % 2] =
        (struct ring_dropped){.events = session->dropped[drops % 2].events + file->events,
                              .lane = file->is_pack ? 0 : file->number + 1,
                              .pack = file->is_pack ? file->number + 1 : 0};
    __atomic_store_n(&session->drops, drops + 1, __ATOMIC_RELEASE);
    if (file->is_pack)
        pack_path(path, file->number);
    else
        lane_path(path, ended.rings, file->number);
    unlink(path);
}

static void keep(const struct ended *file)
{
    if (!ended.files)
        ended.files = calloc(MOST_FILES, sizeof *ended.files);
    if (!ended.files) {
        drop(file);
        return;
    }
    while (ended.count == MOST_FILES ||
           (ended.count > 0 && ended.lanes + file->lanes > MOST_LANES)) {
        const struct ended *oldest = &ended.files[ended.first];
        drop(oldest);
        ended.lanes -= oldest->lanes;
        ended.first = (ended.first + 1) % MOST_FILES;
        ended.count--;
    }
    ended.files[(ended.first + ended.count++) % MOST_FILES] = *file;
    ended.lanes += file->lanes;
}

void ended_keep(uint32_t lane, uint64_t events)
{
    keep(&(struct ended){.number = lane, .lanes = 1, .events = events});
}

/* ---- The pack that is filled --------------------------------------------------------------- */

static struct ring_pack *pack_header(void)
{
    return (struct ring_pack *)ended.region.base;
}

static bool open_pack(void)
{
    char path[PATH_MAX];
    pack_path(path, ended.packs);
    if (!region_create(&ended.region, path, RING_PACK_SIZE, PACK_PIECE, NULL))
        return false;
    ended.pack = (struct ended){.number = ended.packs++, .is_pack = true};
    struct ring_pack *header = pack_header();
    *header = (struct ring_pack){
        .version = RING_VERSION, .number = ended.pack.number, .used = sizeof *header};
    __atomic_store_n(&header->magic, RING_PACK_MAGIC, __ATOMIC_RELEASE);
    return true;
}

static void close_pack(void)
{
    char path[PATH_MAX];
    pack_path(path, ended.pack.number);
    region_truncate(&ended.region, path, pack_header()->used);
    region_unmap(&ended.region);
    keep(&ended.pack);
}

static bool pack_has_room(uint64_t size)
{
    char path[PATH_MAX];
    uint64_t end = pack_header()->used + size;
    if (end <= ended.region.ready)
        return true;
    if (end > RING_PACK_SIZE)
        return false;
    pack_path(path, ended.pack.number);
    end = (end + PACK_PIECE - 1) / PACK_PIECE * PACK_PIECE;
    return region_reserve(&ended.region, path, end < RING_PACK_SIZE ? end : RING_PACK_SIZE);
}

/* In this order a program may be killed anywhere: the lane is in the pack as a whole or not at all,
 * and its file goes when it is. */
bool ended_pack(const struct ring_header *header, const char *path, uint64_t events)
{
    uint64_t records = (header->head < header->slots ? header->head : header->slots);
    uint64_t size = sizeof *header + records * sizeof(struct ring_record);
    if (size > LARGEST_PACKED)
        return false;
    if (ended.region.base && !pack_has_room(size))
        close_pack();
    if (!ended.region.base && !(open_pack() && pack_has_room(size)))
        return false;
    struct ring_pack *pack = pack_header();
    uint8_t *to = ended.region.base + pack->used;
    memcpy(to, header, sizeof *header);
    memcpy(to + sizeof *header, (const uint8_t *)header + RING_HEADER_SIZE, size - sizeof *header);
    __atomic_store_n(&pack->used, pack->used + size, __ATOMIC_RELEASE);
    unlink(path);
    ended.pack.lanes++;
    ended.pack.events += events;
    return true;
}

/* ---- The capture --------------------------------------------------------------------------- */

void ended_start(struct ring_session *session, const char *rings)
{
    ended.session = session;
    ended.rings = rings;
    ended.packs = 0;
}

void ended_list(struct session_input *input)
{
    for (size_t i = 0; i < ended.count; i++) {
        const struct ended *file = &ended.files[(ended.first + i) % MOST_FILES];
        if (file->is_pack)
            session_add_pack(input, file->number);
        else
            session_add_lane(input, file->number, NULL);
    }
    if (ended.region.base)
        session_add_pack(input, ended.pack.number);
}

void ended_forget(void)
{
    region_unmap(&ended.region);
    ended.first = ended.count = 0;
    ended.lanes = 0;
}
