/*
 * Where the lanes of a capture are: in this program, in files of their own or in packs.
 *
 * A program that still runs moves lanes from their files to packs meanwhile. The files are listed
 * first, so a lane is seen in one of the two or in both; if a file is gone later, its lane has been
 * added to a pack since.
 */
#include "capture/recorder/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void session_note_skipped(struct session_input *input, const struct error *problem)
{
    if (input->skipped++ == 0)
        input->first_skipped = *problem;
}

/* Room for one more; false when out of memory. */
static bool grow(struct session_input *input, void **items, size_t count, size_t *capacity,
                 size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity > 0 ? *capacity * 2 : 16;
    void *grown = realloc(*items, larger * size);
    if (!grown) {
        input->is_out_of_memory = true;
        return false;
    }
    *items = grown;
    *capacity = larger;
    return true;
}

static void add(struct session_input *input, struct session_lane lane)
{
    void *items = input->lanes;
    if (grow(input, &items, input->lane_count, &input->lane_capacity, sizeof lane)) {
        input->lanes = items;
        input->lanes[input->lane_count++] = lane;
    }
}

void session_add_lane(struct session_input *input, uint32_t number,
                      const struct ring_header *header)
{
    add(input, (struct session_lane){.number = number, .header = header});
}

void session_add_pack(struct session_input *input, uint32_t number)
{
    void *items = input->packs;
    if (grow(input, &items, input->pack_count, &input->pack_capacity, sizeof number)) {
        input->packs = items;
        input->packs[input->pack_count++] = number;
    }
}

static void close_pack(struct session_input *input)
{
    if (input->open_pack)
        ring_pack_close(&input->pack);
    input->open_pack = 0;
}

void session_free_lanes(struct session_input *input)
{
    close_pack(input);
    free(input->lanes);
    free(input->packs);
    input->lanes = NULL;
    input->packs = NULL;
    input->lane_count = input->pack_count = 0;
}

/* ---- Packs --------------------------------------------------------------------------------- */

/* Lanes are mostly read in the order in which packs have them: one stays open. */
static bool open_pack(struct session_input *input, uint32_t number, struct error *err)
{
    if (input->open_pack == number + 1)
        return true;
    close_pack(input);
    bool ok = ring_pack_open(&input->pack, &input->rings, number, err);
    input->open_pack = ok ? number + 1 : 0;
    return ok;
}

static int by_number(const void *a, const void *b)
{
    const struct session_lane *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* The place in a pack comes first. */
static int by_number_and_place(const void *a, const void *b)
{
    const struct session_lane *left = a, *right = b;
    int order = by_number(a, b);
    return order ? order : (left->pack == 0) - (right->pack == 0);
}

/* A lane was found in a pack. Once the lanes are listed, those that are new came too late. */
static void found(struct session_input *input, struct session_lane lane)
{
    if (!input->is_listed) {
        add(input, lane);
        return;
    }
    struct session_lane *known =
        input->lane_count > 0
            ? bsearch(&lane, input->lanes, input->lane_count, sizeof lane, by_number)
            : NULL;
    if (known && !known->header && !known->pack) {
        known->pack = lane.pack;
        known->at = lane.at;
    }
}

/* Its events count as lost already; the program may have been killed before it removed the file. */
static const struct ring_dropped *last_dropped(const struct session_input *input)
{
    uint64_t drops = __atomic_load_n(&input->session->drops, __ATOMIC_ACQUIRE);
    return &input->session->dropped[drops % 2];
}

static void note_damage(struct session_input *input, uint64_t at, const char *problem)
{
    struct error err;
    error_set(&err, "pack_%u %s at offset %llu", input->last_pack, problem, (unsigned long long)at);
    session_note_skipped(input, &err);
}

/* Lanes that are behind last_at in the last pack. It may have grown: it is opened again. */
static void scan_last(struct session_input *input)
{
    uint32_t number = input->last_pack;
    struct error err;
    close_pack(input);
    if (last_dropped(input)->pack == number + 1)
        return;
    if (!open_pack(input, number, &err)) {
        if (!input->is_listed)
            session_note_skipped(input, &err);
        return;
    }
    uint64_t at = input->last_at ? input->last_at : sizeof(struct ring_pack), next;
    for (; at < input->pack.end; at = next) {
        struct ring_lane lane;
        next = ring_lane_packed(&lane, &input->pack, at);
        if (next == 0 || input->lane_count == SESSION_MOST_LANES) {
            note_damage(input, at, next == 0 ? "is damaged" : "has a lane too many");
            at = input->pack.end;
            break;
        }
        found(input,
              (struct session_lane){.number = lane.header.number, .pack = number + 1, .at = at});
    }
    input->last_at = at;
}

static bool has_pack(const struct session_input *input, uint32_t number)
{
    char name[32];
    struct stat status;
    snprintf(name, sizeof name, "pack_%u", number);
    return fstatat(input->rings.fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* To the end of the last pack there is. One that has a successor does not grow any more. */
static void follow(struct session_input *input)
{
    bool has_more = has_pack(input, input->last_pack);
    while (has_more) {
        has_more = has_pack(input, input->last_pack + 1);
        scan_last(input);
        if (has_more) {
            input->last_pack++;
            input->last_at = 0;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void scan_packs(struct session_input *input)
{
    if (input->pack_count > 0)
        qsort(input->packs, input->pack_count, sizeof *input->packs, by_value);
    for (size_t i = 0; i < input->pack_count; i++) {
        input->last_pack = input->packs[i];
        input->last_at = 0;
        if (i + 1 < input->pack_count)
            scan_last(input);
    }
    follow(input);
}

bool session_list_lanes(struct session_input *input)
{
    uint32_t dropped = last_dropped(input)->lane;
    scan_packs(input);
    if (input->lane_count > 0)
        qsort(input->lanes, input->lane_count, sizeof *input->lanes, by_number_and_place);
    size_t count = 0;
    for (size_t i = 0; i < input->lane_count; i++) {
        const struct session_lane *lane = &input->lanes[i];
        bool is_twice = count > 0 && input->lanes[count - 1].number == lane->number;
        if (!is_twice && (lane->pack || lane->number + 1 != dropped))
            input->lanes[count++] = *lane;
    }
    input->lane_count = count;
    input->is_listed = true;
    return !input->is_out_of_memory;
}

static bool open_packed(struct session_input *input, const struct session_lane *known,
                        struct ring_lane *lane, struct error *err)
{
    if (!open_pack(input, known->pack - 1, err))
        return false;
    if (ring_lane_packed(lane, &input->pack, known->at) && lane->header.number == known->number)
        return true;
    return error_set(err, "pack_%u has changed", known->pack - 1);
}

bool session_open_lane(struct session_input *input, struct session_lane *known,
                       struct ring_lane *lane, struct error *err)
{
    if (known->header) {
        ring_lane_mapped(lane, known->header);
        return true;
    }
    if (!known->pack) {
        if (ring_lane_open(lane, &input->rings, known->number,
                           input->session->lane_records + RING_GUARD, err))
            return true;
        follow(input);
    }
    return known->pack && open_packed(input, known, lane, err);
}
