/*
 * Tar archives (ustar): writes regular files, reads archives of any common tar.
 */
#ifndef KYMO_NEURON_PROGRAM_TAR_H
#define KYMO_NEURON_PROGRAM_TAR_H

#include "base/wire/wire.h"
#include "neuron/program/neff.h"

enum { TAR_MAX_MEMBERS = 100000 }; /* of an archive that is read */

typedef ARRAY(struct neff_member) member_list;

/* Names have at most 100 bytes. Owner, time and mode are the same for all members. */
void tar_add(struct output *out, const char *name, const void *data, size_t size);
void tar_end(struct output *out);
/* Lists regular files; data points into the archive, names are copied into the arena. path is for
 * messages. */
bool tar_read(const uint8_t *archive, size_t size, const char *path, struct arena *arena,
              member_list *members, struct error *err);

#endif
