/*
 * Exchanges between the ranks of this process: each deposits its input, waits for the others, and
 * combines what is there; inputs stay until the last has done so.
 */
#include "nrt/runtime/ranks.h"

#include "base/base.h"

#include <string.h>
#include <time.h>

struct meeting { /* one exchange */
    struct meeting *next;
    uint64_t key, turn;
    uint32_t first_member, expected, arrived, left;
    uint64_t latest;
    const uint8_t **inputs;
};

struct turn { /* how often a rank has exchanged with a key */
    struct turn *next;
    uint64_t key, count;
    uint32_t rank;
};

struct world {
    struct world *next;
    uint32_t rank_count, unit;
    struct meeting *meetings;
    struct turn *turns;
    uint32_t active; /* ranks between begin and end */
    bool is_broken;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct world *worlds;

struct world *world_get(uint32_t rank_count, uint32_t unit)
{
    pthread_mutex_lock(&lock);
    struct world *world = worlds;
    while (world && (world->rank_count != rank_count || world->unit != unit))
        world = world->next;
    if (!world) {
        world = mem_zeroed(1, sizeof *world);
        world->rank_count = rank_count;
        world->unit = unit;
        world->next = worlds;
        worlds = world;
    }
    pthread_mutex_unlock(&lock);
    return world;
}

/* With the lock held, and no rank active. */
static void forget(struct world *world)
{
    for (struct meeting *meeting = world->meetings, *next; meeting; meeting = next) {
        next = meeting->next;
        mem_free((void *)meeting->inputs);
        mem_free(meeting);
    }
    for (struct turn *turn = world->turns, *next; turn; turn = next) {
        next = turn->next;
        mem_free(turn);
    }
    world->meetings = NULL;
    world->turns = NULL;
    world->is_broken = false;
}

void rank_begin(struct world *world)
{
    pthread_mutex_lock(&lock);
    while (world->is_broken && world->active > 0 && !runtime_is_closing())
        pthread_cond_wait(&changed, &lock);
    if (world->is_broken && world->active == 0)
        forget(world);
    world->active++;
    pthread_mutex_unlock(&lock);
}

void rank_end(struct world *world, bool failed)
{
    pthread_mutex_lock(&lock);
    world->active--;
    world->is_broken |= failed;
    if (world->is_broken)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void ranks_wake(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void ranks_close(void)
{
    for (struct world *world = worlds, *next; world; world = next) {
        next = world->next;
        forget(world);
        mem_free(world);
    }
    worlds = NULL;
}

/* With the lock held: the turn this rank is at, counted. */
static uint64_t next_turn(struct world *world, uint64_t key, uint32_t rank)
{
    struct turn *turn = world->turns;
    while (turn && (turn->key != key || turn->rank != rank))
        turn = turn->next;
    if (!turn) {
        turn = mem_zeroed(1, sizeof *turn);
        turn->key = key;
        turn->rank = rank;
        turn->next = world->turns;
        world->turns = turn;
    }
    return turn->count++;
}

/* With the lock held. */
static struct meeting *meeting_of(struct world *world, const struct exchange *exchange)
{
    uint64_t turn = next_turn(world, exchange->key, exchange->rank);
    uint32_t first = exchange->member_count > 0 ? exchange->members[0] : 0;
    struct meeting *meeting = world->meetings;
    while (meeting && (meeting->key != exchange->key || meeting->turn != turn ||
                       meeting->first_member != first))
        meeting = meeting->next;
    if (!meeting) {
        meeting = mem_zeroed(1, sizeof *meeting);
        meeting->key = exchange->key;
        meeting->turn = turn;
        meeting->first_member = first;
        meeting->expected = exchange->member_count > 0 ? exchange->member_count : world->rank_count;
        meeting->inputs = mem_zeroed(meeting->expected, sizeof *meeting->inputs);
        meeting->next = world->meetings;
        world->meetings = meeting;
    }
    return meeting;
}

static uint32_t position(const struct exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->member_count; i++)
        if (exchange->members[i] == exchange->rank)
            return i;
    return exchange->rank;
}

/* With the lock held: until the count is reached; false: it will not be. */
static bool wait_for(struct world *world, const uint32_t *count, uint32_t expected)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += settings.timeout_s > 0 ? (time_t)settings.timeout_s : (time_t)INT32_MAX;
    while (*count < expected && !world->is_broken && !runtime_is_closing())
        if (pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) != 0)
            world->is_broken = true;
    return *count >= expected;
}

/* With the lock held. */
static void remove_meeting(struct world *world, struct meeting *meeting)
{
    struct meeting **link = &world->meetings;
    while (*link != meeting)
        link = &(*link)->next;
    *link = meeting->next;
    mem_free((void *)meeting->inputs);
    mem_free(meeting);
}

bool rank_exchange(struct world *world, const struct exchange *exchange, uint64_t *all_ready)
{
    pthread_mutex_lock(&lock);
    struct meeting *meeting = meeting_of(world, exchange);
    meeting->inputs[position(exchange)] = exchange->in;
    if (exchange->ready > meeting->latest)
        meeting->latest = exchange->ready;
    if (++meeting->arrived == meeting->expected)
        pthread_cond_broadcast(&changed);
    bool are_there = wait_for(world, &meeting->arrived, meeting->expected);
    if (are_there) {
        *all_ready = meeting->latest;
        if (exchange->combine) {
            pthread_mutex_unlock(&lock);
            exchange->combine(exchange->context, meeting->inputs, meeting->expected);
            pthread_mutex_lock(&lock);
        }
        /* Those who wait to leave have all arrived: nothing keeps them from it. */
        if (++meeting->left == meeting->expected)
            pthread_cond_broadcast(&changed);
        while (meeting->left < meeting->expected)
            pthread_cond_wait(&changed, &lock);
        if (--meeting->arrived == 0)
            remove_meeting(world, meeting);
    } else {
        world->is_broken = true;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return are_there;
}
