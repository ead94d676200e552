/*
 * Merged sources: which machines and processes of a part are known from the parts before it.
 * Machines are identified by name, processes by id; XPlane files do not say which process wrote
 * them, but have its thread ids.
 */
#include "import/merged/merged_passes.h"

#define SEVERAL (UINT32_MAX - 1) /* in place of a track: more than one has that id */
static_assert(SEVERAL != TRACK_NONE && SEVERAL != IDMAP_NONE, "both mean none");

struct matching {
    const struct catalog *to, *from;
    const uint32_t *strings;
    struct idmap processes, threads; /* of the merged catalog: machine and id -> process */
    uint32_t *tracks;
};

static uint64_t key_of(uint32_t instance, int64_t id)
{
    uint64_t identity[2] = {instance, (uint64_t)id};
    return hash_bytes(identity, sizeof identity);
}

static void note(struct idmap *map, uint64_t key, uint32_t process)
{
    uint32_t known = idmap_get(map, key);
    idmap_put(map, key, known == IDMAP_NONE || known == process ? process : SEVERAL);
}

static bool is_thread(const struct track *track)
{
    return track->level == TRACK_LANE && track->source == SOURCE_HOST &&
           track->lane == LANE_PLAIN && track->id > 0;
}

static void note_ids(struct matching *matching)
{
    const struct catalog *to = matching->to;
    for (uint32_t i = 0; i < to->tracks.count; i++) {
        const struct track *track = &to->tracks.items[i];
        if (track->level == TRACK_PROCESS && track->id != 0)
            note(&matching->processes, key_of(track->parent, track->id), i);
        if (!is_thread(track))
            continue;
        uint32_t process = catalog_ancestor(to, i, TRACK_PROCESS);
        note(&matching->threads, key_of(to->tracks.items[process].parent, track->id), process);
    }
}

/* The only machine of a catalog, TRACK_NONE when there are several. */
static uint32_t only_instance(const struct catalog *catalog)
{
    uint32_t only = TRACK_NONE;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        if (catalog->tracks.items[i].level != TRACK_INSTANCE)
            continue;
        if (only != TRACK_NONE)
            return TRACK_NONE;
        only = i;
    }
    return only;
}

static void match_names(struct matching *matching)
{
    struct idmap by_name = {0};
    for (uint32_t i = 0; i < matching->to->tracks.count; i++)
        if (matching->to->tracks.items[i].level == TRACK_INSTANCE)
            note(&by_name, matching->to->tracks.items[i].name, i);
    for (uint32_t i = 0; i < matching->from->tracks.count; i++) {
        const struct track *track = &matching->from->tracks.items[i];
        uint32_t known = track->level == TRACK_INSTANCE
                             ? idmap_get(&by_name, matching->strings[track->name])
                             : IDMAP_NONE;
        matching->tracks[i] = known == IDMAP_NONE || known == SEVERAL ? TRACK_NONE : known;
    }
    idmap_free(&by_name);
}

/* Kineto names a machine after the file or the rank. Where there is one machine and a process has
 * both its id and a thread of the same id, it is that machine. */
static void match_only_instance(struct matching *matching)
{
    const struct catalog *from = matching->from;
    uint32_t known = only_instance(matching->to), other = only_instance(from);
    if (known == TRACK_NONE || other == TRACK_NONE || matching->tracks[other] != TRACK_NONE)
        return;
    for (uint32_t i = 0; i < from->tracks.count; i++) {
        if (!is_thread(&from->tracks.items[i]))
            continue;
        int64_t id = from->tracks.items[catalog_ancestor(from, i, TRACK_PROCESS)].id;
        uint32_t process = idmap_get(&matching->processes, key_of(known, id));
        uint32_t same = idmap_get(&matching->threads, key_of(known, from->tracks.items[i].id));
        if (id != 0 && process == same && process != IDMAP_NONE && process != SEVERAL)
            matching->tracks[other] = known;
    }
}

/* Processes by their threads; SEVERAL where these belong to different ones. */
static void match_threads(struct matching *matching)
{
    const struct catalog *from = matching->from;
    for (uint32_t i = 0; i < from->tracks.count; i++) {
        if (!is_thread(&from->tracks.items[i]))
            continue;
        uint32_t process = catalog_ancestor(from, i, TRACK_PROCESS);
        uint32_t instance = matching->tracks[from->tracks.items[process].parent];
        if (from->tracks.items[process].id != 0 || instance == TRACK_NONE)
            continue;
        uint32_t same = idmap_get(&matching->threads, key_of(instance, from->tracks.items[i].id));
        uint32_t *known = &matching->tracks[process];
        if (same != IDMAP_NONE)
            *known = *known == TRACK_NONE || *known == same ? same : SEVERAL;
    }
}

static void match_ids(struct matching *matching)
{
    const struct catalog *from = matching->from;
    for (uint32_t i = 0; i < from->tracks.count; i++) {
        const struct track *track = &from->tracks.items[i];
        if (track->level != TRACK_PROCESS || track->id == 0 ||
            matching->tracks[track->parent] == TRACK_NONE)
            continue;
        uint32_t known =
            idmap_get(&matching->processes, key_of(matching->tracks[track->parent], track->id));
        matching->tracks[i] = known == IDMAP_NONE ? TRACK_NONE : known;
    }
}

static bool *processes_with_devices(const struct catalog *catalog)
{
    bool *has_devices = mem_zeroed(catalog->tracks.count, sizeof *has_devices);
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        if (catalog->tracks.items[i].level == TRACK_SOURCE &&
            catalog->tracks.items[i].source == SOURCE_DEVICE)
            has_devices[catalog->tracks.items[i].parent] = true;
    return has_devices;
}

/* Launches find their device work by ids within a process: where both parts have devices, their ids
 * must not be mixed. Two processes of one part stay separate. */
static void keep_apart(struct matching *matching)
{
    bool *known_has = processes_with_devices(matching->to);
    bool *part_has = processes_with_devices(matching->from);
    bool *is_taken = mem_zeroed(matching->to->tracks.count, sizeof *is_taken);
    for (uint32_t i = 0; i < matching->from->tracks.count; i++) {
        uint32_t *known = &matching->tracks[i];
        if (matching->from->tracks.items[i].level != TRACK_PROCESS || *known == TRACK_NONE)
            continue;
        if (*known == SEVERAL || is_taken[*known] || (known_has[*known] && part_has[i]))
            *known = TRACK_NONE;
        else
            is_taken[*known] = true;
    }
    mem_free(known_has);
    mem_free(part_has);
    mem_free(is_taken);
}

void match_tracks(const struct catalog *to, const struct catalog *from, const uint32_t *strings,
                  uint32_t *tracks)
{
    struct matching matching = {.to = to, .from = from, .strings = strings, .tracks = tracks};
    note_ids(&matching);
    match_names(&matching);
    match_only_instance(&matching);
    match_threads(&matching);
    match_ids(&matching);
    keep_apart(&matching);
    idmap_free(&matching.processes);
    idmap_free(&matching.threads);
}
