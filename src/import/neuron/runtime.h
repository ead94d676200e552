/*
 * Events of Neuron's runtime, inside the importers: starts and stops become whole events, the times
 * of cores are put on the host's clock, cores get lanes. Which file tells of them does not matter.
 */
#ifndef KYMO_IMPORT_NEURON_RUNTIME_H
#define KYMO_IMPORT_NEURON_RUNTIME_H

#include "import/neuron/neuron.h"

enum phase { PHASE_POINT, PHASE_START, PHASE_STOP };

/* What a record says that has a meaning. */
struct runtime_record {
    uint64_t place; /* in its file; below 2^63 */
    enum phase phase;
    uint32_t name; /* string: the type of the event */
    uint64_t
        tracking; /* a start and a stop of one type and core that have the same are one event */
    struct maybe time, core, device_time, host_time, run, physical_core;
};

/* What must be known of all records of a file before the first event can be told. */
struct runtime_facts {
    struct event_pairs pairs;
    struct time_span span;
    struct intern clock_keys;
    ARRAY(struct clock_fit) clocks; /* by number of the key; 0 is none */
};

void runtime_facts_init(struct runtime_facts *facts);
void runtime_facts_free(struct runtime_facts *facts);
void runtime_gather(struct runtime_facts *facts, const struct catalog *catalog,
                    const struct runtime_record *record);
/* When all are gathered. */
void runtime_settle(struct runtime_facts *facts);
/* Says how many events are incomplete, and what is wrong with the times. */
void runtime_messages(const struct runtime_facts *facts, struct catalog *catalog, uint32_t file);

/* An event as a whole. */
struct runtime_event {
    struct runtime_record start, stop;
    bool has_stop;
    bool is_adjusted; /* its times are the device's, on the host's clock */
    bool has_time;
    int64_t start_ns, end_ns;
};

/* Fills in the times, from start and stop. */
void runtime_times(const struct runtime_facts *facts, const struct catalog *catalog,
                   struct runtime_event *event);

/* The lane of an event: the runtime's for a core, or the physical core. It is made if it is not
 * there and `may_add`; else TRACK_NONE. */
uint32_t runtime_lane(struct lane_table *lanes, struct catalog *catalog, uint32_t process,
                      const struct runtime_record *record, bool may_add);

#endif
