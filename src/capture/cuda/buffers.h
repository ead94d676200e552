/*
 * Buffers that CUPTI fills: allocated and zeroed before they are needed, and used again. Those that
 * are full wait in a queue for the thread that decodes them, so that a thread of the program that
 * hands one over does nothing but put it there.
 */
#ifndef KYMO_CAPTURE_CUDA_BUFFERS_H
#define KYMO_CAPTURE_CUDA_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUFFER_SIZE = 2 << 20 };

/* A buffer that CUPTI has handed over, and whose it was. */
struct filled {
    uint8_t *buffer;
    size_t valid;
    void *context;
    uint32_t stream;
};

/* `may_refuse`: whether CUPTI copes with getting no buffer. */
bool buffers_prepare(bool may_refuse);
/* A zeroed buffer; NULL when the maximum is in use. */
uint8_t *buffers_take(void);
/* Puts one into the queue and wakes the waiting thread. */
void buffers_fill(const struct filled *filled);
/* Takes one from the queue; waits for it until then (CLOCK_MONOTONIC). False when there is none, or
 * after buffers_wake. */
bool buffers_wait(struct filled *filled, int64_t until_ns);
/* Ends the wait although there is nothing. */
void buffers_wake(void);
/* Takes back one of the queue's that has been read. */
void buffers_return(const struct filled *filled);

/* Around fork; in the child nothing waits any more. */
void buffers_lock(void);
void buffers_unlock(void);
void buffers_forked(void);

#endif
