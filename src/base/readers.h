/*
 * Names that signal handlers read, to remove files before the program ends, while other threads
 * free them. A handler reads between readers_enter and readers_leave and never waits; whoever frees
 * a name first takes it from where handlers find it, then waits for those that may have found it.
 */
#ifndef KYMO_BASE_READERS_H
#define KYMO_BASE_READERS_H

#include <sched.h>
#include <stdatomic.h>

typedef atomic_uint readers;

static inline void readers_enter(readers *count)
{
    atomic_fetch_add(count, 1);
}

static inline void readers_leave(readers *count)
{
    atomic_fetch_sub(count, 1);
}

static inline void readers_wait(readers *count)
{
    while (atomic_load(count) > 0)
        sched_yield();
}

#endif
