/*
 * The variables that control a capture.
 */
#ifndef KYMO_CAPTURE_RECORDER_ENVIRONMENT_H
#define KYMO_CAPTURE_RECORDER_ENVIRONMENT_H

#include <stdint.h>

#define ENVIRONMENT_MOST_EVENTS ((uint64_t)1 << 32)
#define ENVIRONMENT_CORES       "NEURON_RT_INSPECT_EVENT_FILTER_NC"
#define ENVIRONMENT_TYPES       "NEURON_RT_INSPECT_EVENT_FILTER_TYPE"

/* The rank of this process in its job, plus one, and the size of the job, as launchers set them; 0
 * when unknown. */
void environment_rank(uint32_t *rank, uint32_t *world_size);
/* The variable, where the text is its value; else what the text is called otherwise. */
const char *environment_name(const char *variable, const char *text, const char *otherwise);

#endif
