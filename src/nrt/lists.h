/*
 * What the functions of the library share: lists of texts as they are given to callers, a line to
 * the user, and what variables say.
 */
#ifndef KYMO_NRT_LISTS_H
#define KYMO_NRT_LISTS_H

#include "nrt/rings.h"

#include <nrt/nrt_status.h>

/* A copy of every text that is wanted, in an array; NRT_RESOURCE when there is no memory. The name
 * of the n-th of `most`, or NULL to leave it out. */
typedef const char *list_name(const void *context, size_t n);
NRT_STATUS list_make(const char ***list, size_t *count, size_t most, list_name *name,
                     const void *context);
void list_free(const char **list, size_t count);

/* The published types whose bit is set. */
NRT_STATUS list_types(const char ***list, size_t *count, const uint64_t *types);

/* Sets or clears a type's bit; NRT_INVALID when there is none of this name. */
NRT_STATUS type_enable(uint64_t *types, const char *name, bool enabled);

/* One line on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All visible cores and all types. */
void config_everything(struct rings_config *config);
/* The same, as far as the variables that filter say nothing else. */
void config_from_environment(struct rings_config *config);

#endif
