/*
 * Exchanges. Inputs of ranks of this process are used where they are, and stay until the last of
 * them has combined; those of other processes belong to the meeting.
 *
 * Ranks meet by the key of an exchange and how often they came with it. A rank that fails leaves
 * its run, and so out of step with the others: from the next run on all count anew, in the next
 * epoch.
 */
#include "neuron/runtime/ranks.h"

#include "base/base.h"
#include "base/clock.h"
#include "neuron/runtime/channels.h"
#include "neuron/runtime/meetings.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STRANGERS_MAX = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct world *worlds;
static struct peers *peers;   /* NULL: all ranks are in this process */
static struct peers *closing; /* what it was, until its descriptors are closed: for fork */
static pthread_mutex_t join_lock = PTHREAD_MUTEX_INITIALIZER; /* one at a time opens it */

/* With the lock held. */
static struct world *world_of(uint32_t rank_count, uint32_t unit)
{
    struct world *world = worlds;
    while (world && (world->rank_count != rank_count || world->unit != unit))
        world = world->next;
    if (!world) {
        world = mem_zeroed(1, sizeof *world);
        world->rank_count = rank_count;
        world->unit = unit;
        world->ranks = mem_zeroed(rank_count, sizeof *world->ranks);
        world->next = worlds;
        worlds = world;
    }
    return world;
}

struct world *world_get(uint32_t rank_count, uint32_t unit)
{
    pthread_mutex_lock(&lock);
    struct world *world = world_of(rank_count, unit);
    pthread_mutex_unlock(&lock);
    return world;
}

void ranks_wake(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- Other processes ----------------------------------------------------------------------- */

static void say(bool is_error, const char *line)
{
    rt_log(is_error ? RT_ERROR : RT_INFO, RT_NRT, "ranks", "%s", line);
}

static bool remote_arrived(const struct peers_data *data, const struct peers_bytes *bytes)
{
    const struct meeting_id id = {data->epoch, data->key, data->turn, data->first_member};
    bool ok = data->unit < WORLD_UNITS, is_kept = false;
    pthread_mutex_lock(&lock);
    struct peers *own = peers; /* NULL: they are being closed */
    struct world *world = ok && own ? world_of(peers_rank_count(own), data->unit) : NULL;
    if (world && !world_is_past(world, data->epoch)) {
        struct meeting *meeting =
            world_strangers(world) < STRANGERS_MAX ? meeting_get(world, &id, data->expected) : NULL;
        is_kept =
            meeting && meeting_arrive(meeting, data->position, data->size > 0 ? bytes->data : NULL,
                                      data->size, data->ready, bytes);
        ok = is_kept;
        if (is_kept && (meeting->arrived == meeting->expected || meeting->has_failed))
            pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (ok && !is_kept)
        peers_free_bytes(own, bytes);
    return ok;
}

static void remote_failed(const struct peers_failure *failure)
{
    pthread_mutex_lock(&lock);
    if (failure->unit < WORLD_UNITS && peers) {
        struct world *world = world_of(peers_rank_count(peers), failure->unit);
        struct rank_state *state = &world->ranks[failure->rank];
        state->has_failed = true;
        state->failed_epoch = failure->epoch;
        state->failed_run = failure->run;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
}

/* With join_lock held. */
static struct peers *open_peers(uint32_t rank_count, struct error *err)
{
    const struct peers_options options = {
        .address = settings.root,
        .key = settings.job_key,
        .node = settings.node,
        .rank_count = rank_count,
        .timeout_s = settings.timeout_s,
        .first_core = settings.row.first,
        .core_count = settings.row.count,
        .events = {say, remote_arrived, remote_failed, ranks_wake, channels_noted}};
    struct peers *opened = peers_open(&options, err);
    pthread_mutex_lock(&lock);
    peers = opened;
    pthread_mutex_unlock(&lock);
    return opened;
}

NRT_STATUS rank_join(uint32_t rank, uint32_t rank_count)
{
    struct error err;
    if (!*settings.root || rank_count < 2)
        return NRT_SUCCESS;
    pthread_mutex_lock(&join_lock);
    struct peers *all = peers ? peers : open_peers(rank_count, &err);
    pthread_mutex_unlock(&join_lock);
    bool fits = all && (peers_rank_count(all) == rank_count ||
                        error_set(&err, "the communicator at %s has %u ranks, not %u",
                                  settings.root, peers_rank_count(all), rank_count));
    bool ok = fits && peers_add_rank(all, rank, &err);
    if (!ok)
        rt_error(RT_NRT, "%s", err.text);
    return ok ? NRT_SUCCESS : fits ? NRT_FAILURE : NRT_INVALID;
}

struct peers *ranks_peers(void)
{
    pthread_mutex_lock(&lock);
    struct peers *own = peers;
    pthread_mutex_unlock(&lock);
    return own;
}

void ranks_before_fork(void)
{
    pthread_mutex_lock(&join_lock);
    pthread_mutex_lock(&lock);
    if (peers || closing)
        peers_before_fork(peers ? peers : closing);
}

void ranks_after_fork(bool is_child)
{
    if (peers || closing)
        peers_after_fork(peers ? peers : closing, is_child);
    if (is_child)
        peers = NULL;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&join_lock);
}

/* Nobody is in an exchange. */
void ranks_close(void)
{
    struct freed freed = {0};
    pthread_mutex_lock(&lock);
    struct world *all = worlds;
    closing = peers;
    worlds = NULL;
    peers = NULL;
    pthread_mutex_unlock(&lock);
    for (struct world *world = all, *next; world; world = next) {
        next = world->next;
        while (world->meetings)
            meeting_remove(world, world->meetings, &freed);
        for (uint32_t i = 0; i < world->rank_count; i++)
            rank_forget_turns(&world->ranks[i]);
        mem_free(world->ranks);
        mem_free(world);
    }
    freed_free(closing, &freed);
    if (!closing)
        return;
    peers_close(closing);
    pthread_mutex_lock(&lock);
    peers_free(closing);
    closing = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- Runs ---------------------------------------------------------------------------------- */

/* With the lock held: after a failure that is known, the next epoch. */
static void move_on(struct rank *rank, struct freed *freed)
{
    struct rank_state *state = &rank->world->ranks[rank->number];
    uint64_t epoch = world_next_epoch(rank->world, state->epoch);
    if (epoch > state->epoch) {
        state->epoch = epoch;
        rank_forget_turns(state);
        meetings_purge(rank->world, freed);
    }
    rank->epoch = state->epoch;
}

void rank_begin(struct rank *rank)
{
    struct freed freed = {0};
    pthread_mutex_lock(&lock);
    struct rank_state *state = &rank->world->ranks[rank->number];
    state->is_local = true;
    rank->run = state->runs++;
    rank->is_fresh = true;
    move_on(rank, &freed);
    struct peers *own = peers;
    pthread_mutex_unlock(&lock);
    freed_free(own, &freed);
}

void rank_end(struct rank *rank, bool failed)
{
    if (!failed)
        return;
    const struct peers_failure failure = {
        .epoch = rank->epoch, .run = rank->run, .unit = rank->world->unit, .rank = rank->number};
    pthread_mutex_lock(&lock);
    struct rank_state *state = &rank->world->ranks[rank->number];
    state->has_failed = true;
    state->failed_epoch = rank->epoch;
    state->failed_run = rank->run;
    struct peers *own = peers;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (own && peers_rank_count(own) == rank->count)
        peers_send_failure(own, &failure);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static uint32_t member(const struct exchange *exchange, uint32_t position)
{
    return exchange->member_count > 0 ? exchange->members[position] : position;
}

static uint32_t position_of(const struct exchange *exchange, uint32_t rank)
{
    for (uint32_t i = 0; i < exchange->member_count; i++)
        if (exchange->members[i] == rank)
            return i;
    return rank;
}

static bool has_peers(const struct rank *rank)
{
    return peers && peers_rank_count(peers) == rank->count;
}

/* With the lock held: whether a member that has not arrived will not come. *is_stale: because it
 * failed in an earlier run than this one. */
static bool is_lost(const struct rank *rank, uint32_t number, bool *is_stale)
{
    const struct rank_state *state = &rank->world->ranks[number];
    *is_stale = false;
    if (has_peers(rank) && peers_locate(peers, number) == PEERS_GONE)
        return true;
    if (!state->has_failed || state->failed_epoch < rank->epoch)
        return false;
    *is_stale = rank->is_fresh && state->failed_run < rank->run;
    return true;
}

/* Ranks that did not come, for the log: to the communicator, or to the exchange. */
static void say_missing(const struct rank *rank, const struct exchange *exchange,
                        const struct meeting *meeting, bool to_locate)
{
    char list[96] = "";
    uint32_t count = 0;
    for (uint32_t i = 0; i < meeting->expected; i++) {
        size_t used = strlen(list);
        bool is_there = to_locate ? peers_locate(peers, member(exchange, i)) != PEERS_UNKNOWN
                                  : meeting->arrivals[i].is_there;
        if (!is_there && count++ < 8)
            snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "",
                     member(exchange, i));
    }
    rt_error(RT_NRT, "rank %u of %u waited %llu s; %u did not come: %s%s", rank->number,
             rank->count, (unsigned long long)settings.timeout_s, count, list,
             count > 8 ? ", ..." : "");
}

enum verdict { GO_ON, COMPLETE, LOST, STALE };

/* With the lock held: the state of a meeting. */
static enum verdict judge(const struct rank *rank, const struct exchange *exchange,
                          const struct meeting *meeting)
{
    if (meeting->has_failed || runtime_is_closing())
        return LOST;
    if (meeting->arrived == meeting->expected)
        return COMPLETE;
    for (uint32_t i = 0; i < meeting->expected; i++) {
        bool is_stale;
        if (!meeting->arrivals[i].is_there && is_lost(rank, member(exchange, i), &is_stale)) {
            if (!is_stale)
                rt_error(RT_NRT, "rank %u of %u waits for rank %u, which has failed or is gone",
                         rank->number, rank->count, member(exchange, i));
            return is_stale ? STALE : LOST;
        }
    }
    return GO_ON;
}

/* With the lock held: whether the places of all members are known. */
static bool are_located(const struct exchange *exchange, const struct meeting *meeting)
{
    for (uint32_t i = 0; i < meeting->expected; i++)
        if (peers_locate(peers, member(exchange, i)) == PEERS_UNKNOWN)
            return false;
    return true;
}

/* With the lock held: until the meeting is complete; with `to_locate`, until it is known where its
 * members are. */
static enum verdict wait_for(const struct rank *rank, const struct exchange *exchange,
                             const struct meeting *meeting, const struct timespec *until,
                             bool to_locate, bool *is_late)
{
    for (;;) {
        enum verdict verdict = judge(rank, exchange, meeting);
        if (verdict != GO_ON || (to_locate && are_located(exchange, meeting)))
            return verdict;
        if (pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, until) != 0) {
            say_missing(rank, exchange, meeting, to_locate);
            *is_late = true;
            return LOST;
        }
    }
}

/* ---- Exchanges ----------------------------------------------------------------------------- */

/* With the lock held, which is released meanwhile: sends the input to processes with members. */
static void send_input(const struct rank *rank, const struct exchange *exchange,
                       const struct meeting *meeting, uint32_t position)
{
    struct peers *own = peers;
    int32_t *links = mem_zeroed(meeting->expected, sizeof *links);
    uint32_t count = 0;
    for (uint32_t i = 0; i < meeting->expected; i++) {
        int32_t where = peers_locate(own, member(exchange, i));
        bool is_new = where >= 0;
        for (uint32_t k = 0; k < count && is_new; k++)
            is_new = links[k] != where;
        if (is_new)
            links[count++] = where;
    }
    const struct peers_data data = {.key = meeting->id.key,
                                    .turn = meeting->id.turn,
                                    .epoch = meeting->id.epoch,
                                    .run = rank->run,
                                    .ready = exchange->ready,
                                    .size = exchange->size,
                                    .unit = rank->world->unit,
                                    .rank = rank->number,
                                    .position = position,
                                    .first_member = meeting->id.first_member,
                                    .expected = meeting->expected};
    pthread_mutex_unlock(&lock);
    if (count > 0)
        peers_send(own, links, count, &data, exchange->in);
    mem_free(links);
    pthread_mutex_lock(&lock);
}

/* With the lock held: this rank combines, and waits until those of this process have done so.
 * Nothing keeps them from it, as all have arrived. */
static void combine(const struct exchange *exchange, struct meeting *meeting)
{
    if (exchange->combine) {
        pthread_mutex_unlock(&lock);
        exchange->combine(exchange->context, meeting->inputs, meeting->expected);
        pthread_mutex_lock(&lock);
    }
    if (++meeting->left == meeting->local)
        pthread_cond_broadcast(&changed);
    while (meeting->left < meeting->local)
        pthread_cond_wait(&changed, &lock);
}

/* With the lock held. */
static enum verdict meet(struct rank *rank, const struct exchange *exchange,
                         const struct timespec *until, uint64_t *all_ready, bool *is_late,
                         struct freed *freed)
{
    struct world *world = rank->world;
    struct rank_state *state = &world->ranks[rank->number];
    uint32_t expected = exchange->member_count > 0 ? exchange->member_count : rank->count;
    uint32_t position = position_of(exchange, rank->number);
    if (rank->is_fresh)
        move_on(rank, freed);
    if (rank->epoch != state->epoch)
        return LOST; /* another run of this rank has failed */
    const struct meeting_id id = {rank->epoch, exchange->key, rank_next_turn(state, exchange->key),
                                  member(exchange, 0)};
    struct meeting *meeting = meeting_get(world, &id, expected);
    if (!meeting ||
        !meeting_arrive(meeting, position, exchange->in, exchange->size, exchange->ready, NULL))
        return LOST;
    meeting->inside++;
    if (meeting->arrived == expected || meeting->has_failed)
        pthread_cond_broadcast(&changed);
    enum verdict verdict = GO_ON;
    if (has_peers(rank)) {
        verdict = wait_for(rank, exchange, meeting, until, true, is_late);
        if (verdict == GO_ON || verdict == COMPLETE)
            send_input(rank, exchange, meeting, position);
    }
    if (verdict == GO_ON || verdict == COMPLETE)
        verdict = wait_for(rank, exchange, meeting, until, false, is_late);
    if (verdict == COMPLETE) {
        *all_ready = meeting->latest;
        combine(exchange, meeting);
    } else {
        meeting->has_failed = true; /* the input is no longer there */
        pthread_cond_broadcast(&changed);
    }
    if (--meeting->inside == 0 && verdict == COMPLETE)
        meeting_remove(world, meeting, freed);
    return verdict;
}

enum exchange_result rank_exchange(struct rank *rank, const struct exchange *exchange,
                                   uint64_t *all_ready)
{
    struct timespec until = clock_after_ns(0);
    struct freed freed = {0};
    bool is_late = false;
    enum verdict verdict;
    until.tv_sec += settings.timeout_s > 0 ? (time_t)settings.timeout_s : (time_t)INT32_MAX;
    pthread_mutex_lock(&lock);
    do /* once more, in the next epoch, when an earlier run turns out to have failed */
        verdict = meet(rank, exchange, &until, all_ready, &is_late, &freed);
    while (verdict == STALE);
    rank->is_fresh = false;
    struct peers *own = peers;
    pthread_mutex_unlock(&lock);
    freed_free(own, &freed);
    return verdict == COMPLETE ? EXCHANGE_DONE : is_late ? EXCHANGE_LATE : EXCHANGE_GONE;
}
