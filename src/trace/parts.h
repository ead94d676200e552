/*
 * Parts: a source that is cut into parts, which all cores read side by side. A sink may want some
 * neighbouring ones to be read in a row; together they have one sequence number.
 */
#ifndef KYMO_TRACE_PARTS_H
#define KYMO_TRACE_PARTS_H

#include "trace/batch.h"

/* One part on its way to a sink. */
struct part {
    size_t number;
    uint64_t sequence;
    bool is_last; /* of those with that sequence number */
    unsigned worker;
    struct sink *sink;
};

/* Reads a part and gives its batches to the sink. */
typedef bool part_reader(void *context, const struct part *part, struct error *err);

/* All parts; of several failures the one of the first part is told. */
bool parts_read(struct source *source, size_t count, part_reader *read, void *context,
                struct sink *sink, struct pool *pool, struct error *err);

#endif
