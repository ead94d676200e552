/*
 * A queue of a core's execution unit: requests that one thread completes in order. The thread
 * starts with the first request.
 */
#ifndef KYMO_NEURON_RUNTIME_QUEUE_H
#define KYMO_NEURON_RUNTIME_QUEUE_H

#include <nrt/nrt_status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { QUEUE_DEPTH = 64 };

struct tracker; /* nrta_error_tracker_t */

struct runtime_request {
    struct runtime_request *next;
    NRT_STATUS (*run)(struct runtime_request *request); /* on the queue's thread */
    void (*release)(struct runtime_request *request);   /* after completion; not if someone waits */
    struct tracker *errors;                             /* a reference, or NULL */
    uint64_t number;
    NRT_STATUS status;
    bool is_waited; /* queue_run waits and releases it */
};

struct queue_event;
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct runtime_request *first, **last;
    uint32_t waiting; /* accepted, not complete */
    uint64_t submitted, completed;
    struct queue_event *events; /* descriptors to signal */
    int every_fd;               /* its own, signaled by each completion, or -1 */
    uint16_t id;                /* upper 16 bits of sequences */
    bool is_running, stops, is_dead;
    pthread_t thread;
};

void queue_open(struct queue *queue, uint16_t id);
/* Requests that were not begun complete with NRT_CLOSED. */
void queue_close(struct queue *queue);
/* NRT_QUEUE_FULL when QUEUE_DEPTH requests wait. *sequence may be NULL. On failure the caller keeps
 * the request. */
NRT_STATUS queue_submit(struct queue *queue, struct runtime_request *request, uint64_t *sequence);
/* Waits for room, then for completion; returns its status. The caller keeps the request. */
NRT_STATUS queue_run(struct queue *queue, struct runtime_request *request);
/* Waits for what was submitted so far. */
void queue_drain(struct queue *queue);
bool queue_is_idle(struct queue *queue);

/* Of sequence numbers without the queue's id; false: never given out. */
bool queue_is_completed(struct queue *queue, uint64_t number, bool *is_completed);
uint64_t queue_last_completed(struct queue *queue);
/* Adds 1 to the eventfd when the request completes, or now, and closes it then. */
bool queue_watch(struct queue *queue, uint64_t number, int fd);
/* The same for each request; the queue closes it in the end. -1: no more. */
void queue_watch_every(struct queue *queue, int fd);

#endif
