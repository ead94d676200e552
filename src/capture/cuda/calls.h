/*
 * Which calls of CUDA are recorded: those that launch work, and those the user names.
 */
#ifndef KYMO_CAPTURE_CUDA_CALLS_H
#define KYMO_CAPTURE_CUDA_CALLS_H

#include "capture/cuda/cupti.h"

/* Looks up the names, which commas separate; NULL: none. Reports unknown names. `attached`: the
 * program has used CUDA before. */
void calls_choose(const struct cupti *cupti, const char *names, bool attached);
void calls_enable(const struct cupti *cupti, bool is_on);

#endif
