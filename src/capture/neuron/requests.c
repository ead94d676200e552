/*
 * Pending requests, by sequence number. Queues bound their number, unless the program never checks
 * for completion: new requests then replace the oldest in their row, whose events never end. The
 * lock's holder reaches no cancellation point.
 */
#include "capture/neuron/requests.h"

#include <pthread.h>

enum { ENTRIES = 4096, WAYS = 8 };

struct request {
    uint64_t sequence, tracking_id; /* id 0: free */
    uint32_t core;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct request requests[ENTRIES];

/* The WAYS consecutive entries a sequence may be in. Sequences count up, per unit. */
static struct request *row_of(uint64_t sequence)
{
    uint64_t hash = sequence ^ (sequence >> 48) * 0x9E3779B1u;
    return &requests[hash % (ENTRIES / WAYS) * WAYS];
}

static void remember(struct request request)
{
    struct request *row = row_of(request.sequence), *oldest = row;
    pthread_mutex_lock(&lock);
    for (struct request *at = row; at < row + WAYS; at++)
        if (at->tracking_id < oldest->tracking_id)
            oldest = at;
    *oldest = request;
    pthread_mutex_unlock(&lock);
}

void requests_begin(uint64_t sequence, enum runtime_event operation, uint32_t core, int queue)
{
    if (!kymo_wants(2))
        return;
    struct request request = {sequence, trace_next_id(), core};
    remember(request);
    trace_event(EVENT_nrta_in_flight, core, TRACE_START, request.tracking_id,
                kymo_text("operation", event_type_name(operation)), kymo_uint("sequence", sequence),
                kymo_int("queue", queue));
}

void requests_end(uint64_t sequence)
{
    struct request found = {0}, *row = row_of(sequence);
    pthread_mutex_lock(&lock);
    for (struct request *at = row; at < row + WAYS; at++)
        if (at->tracking_id && at->sequence == sequence) {
            found = *at;
            at->tracking_id = 0;
        }
    pthread_mutex_unlock(&lock);
    if (found.tracking_id)
        trace_event(EVENT_nrta_in_flight, found.core, TRACE_STOP, found.tracking_id,
                    kymo_uint("sequence", sequence));
}

void requests_lock(void)
{
    pthread_mutex_lock(&lock);
}

void requests_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
