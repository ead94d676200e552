/*
 * Sentences of libkymo-cuda on the program's standard error.
 */
#ifndef KYMO_CAPTURE_CUDA_SAY_H
#define KYMO_CAPTURE_CUDA_SAY_H

/* One line, after "kymo: ". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
