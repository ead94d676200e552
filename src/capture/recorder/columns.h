/*
 * Columns: the records of a lane become blocks of ntrace.pb (schema/ntrace.proto).
 */
#ifndef KYMO_CAPTURE_RECORDER_COLUMNS_H
#define KYMO_CAPTURE_RECORDER_COLUMNS_H

#include "capture/recorder/clock.h"
#include "capture/recorder/encode.h"

/* Numbers of names as the file has them, by the recorder's numbers. */
struct columns_names {
    uint32_t *number;
    size_t count;
    uint32_t last; /* number given */
};

/* Writes a name under the next number, which it returns. */
uint32_t columns_add_name(struct encode_file *file, struct columns_names *names,
                          const struct ring_name *name, const char *text);

struct columns;
/* NULL when out of memory. The map and names must outlive it; texts stored in the rings are added
 * to the names. */
struct columns *columns_new(struct encode_file *file, struct clock_map *clock,
                            struct columns_names *names);
void columns_free(struct columns *columns);

/* The records of a lane, in any number of pieces. */
void columns_begin(struct columns *columns, uint32_t lane);
void columns_add(struct columns *columns, const struct ring_record *records, size_t count);
/* Records are missing here: the event before may be incomplete and is dropped. */
void columns_gap(struct columns *columns);
/* Writes the rest; returns the number of events of the lane. */
uint64_t columns_end(struct columns *columns);
/* Time of the last event, in nanoseconds since the epoch; 0 without events. */
int64_t columns_last_ns(const struct columns *columns);

#endif
