/*
 * Ctrl-C during a query: a thread interrupts the query, since a signal handler may not call into
 * DuckDB. A second Ctrl-C kills the program.
 */
#include "cli/cli.h"
#include "store/tables/store.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { AGAIN_MS = 50 };

struct interrupt {
    struct sql_connection *connection;
    pthread_t thread;
    void (*before)(int);
};

static sem_t woken;
static atomic_bool was_interrupted, is_over;

static void on_signal(int number)
{
    if (atomic_exchange(&was_interrupted, true)) {
        output_remove_unfinished();
        staging_abandon_now();
        signal(number, SIG_DFL);
        raise(number);
    }
    sem_post(&woken);
}

static void wait_before_retry(void)
{
    struct timespec little = {.tv_nsec = AGAIN_MS * 1000000L};
    nanosleep(&little, NULL);
}

/* Interrupts repeatedly: a query that is just starting misses the first one. */
static void *watch(void *argument)
{
    struct interrupt *interrupt = argument;
    while (sem_wait(&woken) != 0 && errno == EINTR)
        continue;
    for (; !atomic_load(&is_over) && interrupt->connection; wait_before_retry())
        sql_interrupt(interrupt->connection);
    return NULL;
}

struct interrupt *interrupt_start(struct sql_connection *connection)
{
    struct interrupt *interrupt = mem_zeroed(1, sizeof *interrupt);
    interrupt->connection = connection;
    atomic_store(&was_interrupted, false);
    atomic_store(&is_over, false);
    sem_init(&woken, 0, 0);
    if (pthread_create(&interrupt->thread, NULL, watch, interrupt) != 0) {
        mem_free(interrupt);
        return NULL;
    }
    interrupt->before = signal(SIGINT, on_signal);
    if (interrupt->before == SIG_IGN)
        signal(SIGINT, SIG_IGN); /* keep ignored, e.g. under nohup */
    return interrupt;
}

bool interrupt_is_pending(void *unused)
{
    (void)unused;
    return atomic_load(&was_interrupted);
}

bool interrupt_stop(struct interrupt *interrupt)
{
    if (!interrupt)
        return false;
    signal(SIGINT, interrupt->before);
    atomic_store(&is_over, true);
    sem_post(&woken);
    pthread_join(interrupt->thread, NULL);
    mem_free(interrupt);
    return atomic_load(&was_interrupted);
}
