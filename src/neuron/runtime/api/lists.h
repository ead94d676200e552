/*
 * Shared by the functions of libnrt: string lists returned to callers, messages to the user, and
 * defaults from environment variables.
 */
#ifndef KYMO_NEURON_RUNTIME_API_LISTS_H
#define KYMO_NEURON_RUNTIME_API_LISTS_H

#include "capture/neuron/rings.h"

#include <nrt/nrt_status.h>

/* Copies the selected names into a new array; NRT_RESOURCE when out of memory. The callback returns
 * the n-th name, n < max, or NULL to omit it. */
typedef const char *list_name(const void *context, size_t n);
NRT_STATUS list_make(const char ***list, size_t *count, size_t max, list_name *name,
                     const void *context);
void list_free(const char **list, size_t count);

/* The published types whose bit is set. */
NRT_STATUS list_types(const char ***list, size_t *count, const uint64_t *types);

/* Sets or clears a type's bit; NRT_INVALID when the name is unknown. */
NRT_STATUS type_enable(uint64_t *types, const char *name, bool enabled);

/* Prints one line on standard error, unless NEURON_RT_LOG_LEVEL is QUIET. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Replaces a path with a copy of another; NRT_INVALID when that is empty. */
NRT_STATUS config_set_path(char **path, const char *value);
/* All visible cores and all types. */
void config_everything(struct rings_config *config);
/* The same, as restricted by the environment variables. */
void config_from_environment(struct rings_config *config);

#endif
