/*
 * Names that signal handlers read, to remove files before the program ends, while other threads
 * free them. A handler reads between readers_enter and readers_leave and never waits; whoever frees
 * a name first takes it from where handlers find it, then waits for those that may have found it.
 */
#ifndef KYMO_BASE_READERS_H
#define KYMO_BASE_READERS_H

#include <sched.h>
#include <stdatomic.h>

struct readers {
    atomic_uint count;
};

static inline void readers_enter(struct readers *readers)
{
    atomic_fetch_add(&readers->count, 1);
}

static inline void readers_leave(struct readers *readers)
{
    atomic_fetch_sub(&readers->count, 1);
}

static inline void readers_wait(struct readers *readers)
{
    while (atomic_load(&readers->count) > 0)
        sched_yield();
}

#endif
