/*
 * Parallel reading of a source that is split into parts. A sink may ask for groups of adjacent
 * parts to be read in order; a group has one sequence number.
 */
#ifndef KYMO_MODEL_PARTS_H
#define KYMO_MODEL_PARTS_H

#include "model/batch.h"

/* A part being read into a sink. */
struct part {
    size_t number;
    uint64_t sequence;
    bool is_last; /* of its sequence number */
    unsigned worker;
    struct sink *sink;
};

/* Reads a part and pushes its batches to the sink. */
typedef bool part_reader(void *context, const struct part *part, struct error *err);

/* Reads all parts; of several failures, reports the one of the first part. */
bool parts_read(struct source *source, size_t count, part_reader *read, void *context,
                struct sink *sink, struct pool *pool, struct error *err);
/* The same in groups of the source's choice: where each ends. */
bool parts_read_groups(struct source *source, const size_t *ends, size_t groups, part_reader *read,
                       void *context, struct sink *sink, struct pool *pool, struct error *err);

#endif
