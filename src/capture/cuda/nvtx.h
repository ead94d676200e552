/*
 * NVTX: annotations of programs and frameworks, recorded as events of their threads.
 */
#ifndef KYMO_CAPTURE_CUDA_NVTX_H
#define KYMO_CAPTURE_CUDA_NVTX_H

/* The text of the calling thread's innermost range of the domain in which XLA names its
 * operations; NULL outside of any. */
const char *nvtx_operation(void);

#endif
