/*
 * Buffers that CUPTI fills: allocated and zeroed before they are needed, and used again.
 */
#ifndef KYMO_CUDA_BUFFERS_H
#define KYMO_CUDA_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUFFER_SIZE = 2 << 20 };

bool buffers_prepare(void);
/* A zeroed buffer; NULL when as many are in use as may be. */
uint8_t *buffers_take(void);
/* Takes back a buffer of which so many bytes were written. */
void buffers_return(uint8_t *buffer, size_t written);

#endif
