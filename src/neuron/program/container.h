/*
 * The container's parts: the header's bytes, the JSON members.
 */
#ifndef KYMO_NEURON_PROGRAM_CONTAINER_H
#define KYMO_NEURON_PROGRAM_CONTAINER_H

#include "base/wire/wire.h"
#include "neuron/program/neff.h"

enum { NEFF_HEADER_SIZE = 1024, NEFF_MAX_PROGRAMS = 64 };
enum { NEFF_NAME_MAX = 100 }; /* bytes of a member's name */
/* Formats of members' names: the number of the graph, and of the variable. */
#define NEFF_PROGRAM_MEMBER "sg%02u/program.kymo.bin"
#define NEFF_WEIGHT_MEMBER  "sg%02u/weights/%u.bin"

void header_encode(const struct neff_header *header, uint8_t bytes[static NEFF_HEADER_SIZE]);
bool header_decode(struct neff_header *header, const uint8_t *bytes, size_t size, const char *path,
                   struct error *err);

/* Appends the JSON members to a tar archive. */
void members_add(struct output *archive, const struct neff_source *source);
/* A whole number that is not negative; 0 for anything else. */
uint64_t member_number(const struct json_value *value);
/* Fills the error with what the reader met, and returns false. */
bool member_damaged(const char *path, const char *member, const struct json_reader *in,
                    struct error *err);
/* The number of multiplications in hlo_stats.json; 0 if it is missing (NULL). */
bool member_read_stats(const char *path, const struct neff_member *member, uint64_t *mac_count,
                       struct error *err);
/* For messages. */
const char *neff_path(const struct neff *neff);

#endif
