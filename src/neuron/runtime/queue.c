/*
 * Queues of execution units.
 */
#include "neuron/runtime/queue.h"

#include "base/base.h"
#include "neuron/runtime/tracker.h"

#include <signal.h>
#include <unistd.h>

struct queue_event {
    struct queue_event *next;
    uint64_t number;
    int fd;
};

void queue_open(struct queue *queue, uint16_t id)
{
    *queue = (struct queue){.every_fd = -1, .id = id};
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->done, NULL);
}

static void signal_fd(int fd)
{
    static const uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one);
    (void)ignored;
}

/* With the lock held: signals those that wait for this request. */
static void signal_events(struct queue *queue)
{
    for (struct queue_event **link = &queue->events; *link;) {
        struct queue_event *event = *link;
        if (event->number > queue->completed) {
            link = &event->next;
            continue;
        }
        *link = event->next;
        signal_fd(event->fd);
        close(event->fd);
        mem_free(event);
    }
}

static void complete(struct queue *queue, struct runtime_request *request, NRT_STATUS status)
{
    if (status != NRT_SUCCESS && request->errors)
        tracker_add(request->errors, (uint64_t)queue->id << 48 | request->number, status);
    bool is_waited = request->is_waited;
    pthread_mutex_lock(&queue->lock);
    request->status = status;
    queue->completed = request->number;
    queue->waiting--;
    queue->is_dead |= status == NRT_EXEC_UNIT_UNRECOVERABLE;
    signal_events(queue);
    if (queue->every_fd >= 0)
        signal_fd(queue->every_fd);
    pthread_cond_broadcast(&queue->done);
    pthread_mutex_unlock(&queue->lock);
    if (!is_waited)
        request->release(request);
}

static void *serve(void *argument)
{
    struct queue *queue = argument;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (!queue->first && !queue->stops)
            pthread_cond_wait(&queue->work, &queue->lock);
        struct runtime_request *request = queue->first;
        if (!request)
            break;
        queue->first = request->next;
        if (!queue->first)
            queue->last = &queue->first;
        bool stops = queue->stops;
        pthread_mutex_unlock(&queue->lock);
        complete(queue, request, stops ? NRT_CLOSED : request->run(request));
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* With the lock held. The program's signals are not for this thread. */
static bool start(struct queue *queue)
{
    sigset_t all, before;
    if (queue->is_running)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    queue->is_running = pthread_create(&queue->thread, NULL, serve, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return queue->is_running;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->stops = true;
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    if (queue->is_running)
        pthread_join(queue->thread, NULL);
    for (struct queue_event *event = queue->events, *next; event; event = next) {
        next = event->next;
        close(event->fd);
        mem_free(event);
    }
    queue_watch_every(queue, -1);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->done);
}

/* With the lock held. */
static NRT_STATUS append(struct queue *queue, struct runtime_request *request)
{
    if (queue->stops)
        return NRT_CLOSED;
    if (queue->is_dead)
        return NRT_EXEC_UNIT_UNRECOVERABLE;
    if (!start(queue))
        return NRT_RESOURCE;
    request->next = NULL;
    request->number = ++queue->submitted;
    *queue->last = request;
    queue->last = &request->next;
    queue->waiting++;
    pthread_cond_signal(&queue->work);
    return NRT_SUCCESS;
}

NRT_STATUS queue_submit(struct queue *queue, struct runtime_request *request, uint64_t *sequence)
{
    pthread_mutex_lock(&queue->lock);
    NRT_STATUS status = queue->waiting >= QUEUE_DEPTH ? NRT_QUEUE_FULL : append(queue, request);
    if (status == NRT_SUCCESS && sequence)
        *sequence = (uint64_t)queue->id << 48 | request->number;
    pthread_mutex_unlock(&queue->lock);
    return status;
}

NRT_STATUS queue_run(struct queue *queue, struct runtime_request *request)
{
    request->is_waited = true;
    pthread_mutex_lock(&queue->lock);
    while (queue->waiting >= QUEUE_DEPTH && !queue->stops)
        pthread_cond_wait(&queue->done, &queue->lock);
    NRT_STATUS status = append(queue, request);
    if (status == NRT_SUCCESS) {
        while (queue->completed < request->number)
            pthread_cond_wait(&queue->done, &queue->lock);
        status = request->status;
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void queue_drain(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t last = queue->submitted;
    while (queue->completed < last)
        pthread_cond_wait(&queue->done, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

bool queue_is_idle(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool is_idle = queue->waiting == 0;
    pthread_mutex_unlock(&queue->lock);
    return is_idle;
}

bool queue_is_completed(struct queue *queue, uint64_t number, bool *is_completed)
{
    pthread_mutex_lock(&queue->lock);
    bool is_known = number > 0 && number <= queue->submitted;
    *is_completed = is_known && number <= queue->completed;
    pthread_mutex_unlock(&queue->lock);
    return is_known;
}

uint64_t queue_last_completed(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t number = queue->completed;
    pthread_mutex_unlock(&queue->lock);
    return number;
}

bool queue_watch(struct queue *queue, uint64_t number, int fd)
{
    struct queue_event *event = mem_alloc(sizeof *event);
    pthread_mutex_lock(&queue->lock);
    bool is_known = number > 0 && number <= queue->submitted;
    if (is_known) {
        *event = (struct queue_event){.next = queue->events, .number = number, .fd = fd};
        queue->events = event;
        if (number <= queue->completed)
            signal_events(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!is_known)
        mem_free(event);
    return is_known;
}

void queue_watch_every(struct queue *queue, int fd)
{
    pthread_mutex_lock(&queue->lock);
    int before = queue->every_fd;
    queue->every_fd = fd;
    pthread_mutex_unlock(&queue->lock);
    if (before >= 0)
        close(before);
}
