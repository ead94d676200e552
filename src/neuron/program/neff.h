/*
 * neff: executable files of NeuronCores. A 1,024-byte header and a tar archive, gzip-compressed or
 * plain, with JSON members as published and the engines' programs in Kymo's own encoding
 * (schema/neff.md). Files whose programs come from another compiler can be listed, not run.
 */
#ifndef KYMO_NEURON_PROGRAM_NEFF_H
#define KYMO_NEURON_PROGRAM_NEFF_H

#include "base/base.h"
#include "neuron/program/program.h"

struct neff_header {
    uint64_t package_version, header_size, data_size, version_major, version_minor;
    char build_version[129];
    uint32_t core_count; /* num_tpb */
    uint8_t hash[32], uuid[16];
    char name[257];
    uint32_t requested_core_count;
    uint64_t feature_bits;
    uint32_t logical_core_size; /* physical cores of a logical one */
};

struct neff_member {
    const char *name;
    const uint8_t *data;
    size_t size;
};

struct neff; /* an open file: owns everything its programs point to */

struct neff_info {
    struct neff_header header;
    const struct neff_member *members;
    size_t member_count;
    struct core_program
        *programs; /* one per physical core (sg00, sg01); none if another compiler made them */
    uint32_t program_count;
    uint32_t worker_count; /* ranks its collectives need; 1 without */
    uint64_t mac_count;    /* hlo_stats.json */
};

/* From bytes, which must outlive it, or from a file. path is for messages. All programs are checked
 * to stay within their lists, memories and variables, so that a core can run them without further
 * checks. */
struct neff *neff_parse(const void *bytes, size_t size, const char *path, struct error *err);
/* Also checks the hash, as neff_check_hash does. */
struct neff *neff_open(const char *path, struct error *err);
/* Whether the data matches the header's hash, in Kymo's files: the SHA-256 of everything after the
 * header. What another compiler's hash covers is not published; such files pass. */
bool neff_check_hash(const void *bytes, size_t size, const char *path, struct error *err);
/* The header alone; the rest of the file is not read. */
bool neff_read_header(const char *path, struct neff_header *header, struct error *err);
const struct neff_info *neff_info(const struct neff *neff);
/* The member of that name, or NULL. */
const struct neff_member *neff_find(const struct neff *neff, const char *name);
/* Fails, with a sentence for the user, when the programs are not Kymo's. */
bool neff_is_runnable(const struct neff *neff, struct error *err);
void neff_close(struct neff *neff);

/* The content of the JSON members of any compiler's NEFF. Missing texts are "". */
struct neff_variable {
    const char *graph, *name; /* "sg00" */
    const char *type;         /* "input", "output", "file", "virtual", ... */
    const char *dtype, *file;
    const char *shape; /* "8,8" */
    uint64_t size;
};
struct neff_queue {
    const char *graph, *name, *type, *owner;
    uint64_t rings;
};
struct neff_listing {
    struct neff_variable *variables;
    struct neff_queue *queues;
    size_t variable_count, queue_count;
    struct arena arena; /* of its texts */
};
bool neff_list(const struct neff *neff, struct neff_listing *listing, struct error *err);
void neff_listing_free(struct neff_listing *listing);

struct neff_source {
    const char *name; /* of the model */
    const struct core_program *programs;
    uint32_t program_count;
    uint32_t worker_count;
    bool compress;
    const struct neff_member *extra; /* further members, written as they are: "graph.json" */
    size_t extra_count;
};
/* The caller frees the bytes with mem_free. Equal sources give equal bytes; the uuid is derived
 * from them. */
bool neff_encode(const struct neff_source *source, uint8_t **bytes, size_t *size,
                 struct error *err);

/* Whether the bytes begin like a NEFF. */
bool neff_recognize(const void *bytes, size_t size);

#endif
