/*
 * Lists of meetings and turns: short ones.
 */
#include "neuron/runtime/meetings.h"

static bool is_same(const struct meeting_id *a, const struct meeting_id *b)
{
    return a->epoch == b->epoch && a->key == b->key && a->turn == b->turn &&
           a->first_member == b->first_member;
}

struct meeting *meeting_get(struct world *world, const struct meeting_id *id, uint32_t expected)
{
    struct meeting *meeting = world->meetings;
    while (meeting && !is_same(&meeting->id, id))
        meeting = meeting->next;
    if (meeting)
        return meeting->expected == expected ? meeting : NULL;
    meeting = mem_zeroed(1, sizeof *meeting);
    meeting->id = *id;
    meeting->expected = expected;
    meeting->inputs = mem_zeroed(expected, sizeof *meeting->inputs);
    meeting->arrivals = mem_zeroed(expected, sizeof *meeting->arrivals);
    meeting->next = world->meetings;
    world->meetings = meeting;
    return meeting;
}

bool meeting_arrive(struct meeting *meeting, uint32_t position, const uint8_t *in, uint64_t size,
                    uint64_t ready, const struct peers_bytes *remote)
{
    struct arrival *arrival = &meeting->arrivals[position];
    if (arrival->is_there)
        return false;
    arrival->is_there = true;
    arrival->is_remote = remote;
    if (remote)
        arrival->bytes = *remote;
    else
        meeting->local++;
    meeting->inputs[position] = in;
    meeting->has_failed |= meeting->arrived > 0 && meeting->size != size;
    meeting->size = size;
    if (ready > meeting->latest)
        meeting->latest = ready;
    meeting->arrived++;
    return true;
}

static void destroy(struct meeting *meeting, struct freed *freed)
{
    for (uint32_t i = 0; i < meeting->expected; i++)
        if (meeting->arrivals[i].is_remote)
            *array_push(freed) = meeting->arrivals[i].bytes;
    mem_free((void *)meeting->inputs);
    mem_free(meeting->arrivals);
    mem_free(meeting);
}

void meeting_remove(struct world *world, struct meeting *meeting, struct freed *freed)
{
    struct meeting **link = &world->meetings;
    while (*link != meeting)
        link = &(*link)->next;
    *link = meeting->next;
    destroy(meeting, freed);
}

bool world_is_past(const struct world *world, uint64_t epoch)
{
    bool any = false;
    for (uint32_t i = 0; i < world->rank_count; i++) {
        if (world->ranks[i].is_local && world->ranks[i].epoch <= epoch)
            return false;
        any |= world->ranks[i].is_local;
    }
    return any;
}

void meetings_purge(struct world *world, struct freed *freed)
{
    for (struct meeting **link = &world->meetings; *link;) {
        struct meeting *meeting = *link;
        if (meeting->inside > 0 || !world_is_past(world, meeting->id.epoch)) {
            link = &meeting->next;
            continue;
        }
        *link = meeting->next;
        destroy(meeting, freed);
    }
}

uint32_t world_strangers(const struct world *world)
{
    uint32_t count = 0;
    for (const struct meeting *meeting = world->meetings; meeting; meeting = meeting->next)
        count += meeting->local == 0;
    return count;
}

uint64_t world_next_epoch(const struct world *world, uint64_t epoch)
{
    for (uint32_t i = 0; i < world->rank_count; i++)
        if (world->ranks[i].has_failed && world->ranks[i].failed_epoch >= epoch)
            epoch = world->ranks[i].failed_epoch + 1;
    return epoch;
}

uint64_t rank_next_turn(struct rank_state *state, uint64_t key)
{
    struct turn *turn = state->turns;
    while (turn && turn->key != key)
        turn = turn->next;
    if (!turn) {
        turn = mem_zeroed(1, sizeof *turn);
        turn->key = key;
        turn->next = state->turns;
        state->turns = turn;
    }
    return turn->count++;
}

void rank_forget_turns(struct rank_state *state)
{
    for (struct turn *turn = state->turns, *next; turn; turn = next) {
        next = turn->next;
        mem_free(turn);
    }
    state->turns = NULL;
}

void freed_free(struct peers *peers, struct freed *freed)
{
    for (size_t i = 0; i < freed->count; i++)
        peers_free_bytes(peers, &freed->items[i]);
    array_free(freed);
}
