/*
 * Events of Neuron's runtime, internal to the importers: pairs starts and stops, converts the times
 * of cores to the host's clock, and assigns lanes. Independent of the file format.
 */
#ifndef KYMO_IMPORT_NEURON_SYSTRACE_RUNTIME_H
#define KYMO_IMPORT_NEURON_SYSTRACE_RUNTIME_H

#include "import/neuron_systrace/neuron.h"

enum phase { PHASE_POINT, PHASE_START, PHASE_STOP };

/* The known fields of a record. */
struct runtime_record {
    uint64_t position; /* in its file; below 2^63 */
    enum phase phase;
    uint32_t name;     /* string: the type of the event */
    uint64_t tracking; /* the same for the start and the stop of an event, for one type and core */
    struct optional time, core, device_time, host_time, run, physical_core;
    struct optional thread; /* that called the runtime */
};

/* Collected from all records of a file before the first event is built. */
struct runtime_facts {
    struct event_pairs pairs;
    struct time_span span;
    struct intern clock_keys;
    ARRAY(struct clock_fit) clocks; /* by id of the key; 0 is none */
};

void runtime_facts_init(struct runtime_facts *facts);
void runtime_facts_free(struct runtime_facts *facts);
void runtime_gather(struct runtime_facts *facts, const struct catalog *catalog,
                    const struct runtime_record *record);
/* After all records were collected. */
void runtime_settle(struct runtime_facts *facts);
/* Adds messages about incomplete events and bad times. */
void runtime_messages(const struct runtime_facts *facts, struct catalog *catalog, uint32_t file);

/* An event built from its records. */
struct runtime_event {
    struct runtime_record start, stop;
    bool has_stop;
    bool is_adjusted; /* its times are the device's, converted to the host's clock */
    bool has_time;
    int64_t start_ns, end_ns;
};

/* Sets the times, from start and stop. */
void runtime_times(const struct runtime_facts *facts, const struct catalog *catalog,
                   struct runtime_event *event);

/* The lane of an event: the runtime's for a core and a thread, or the physical core's. Created if
 * missing and `may_add`; otherwise TRACK_NONE. */
uint32_t runtime_lane(struct lane_table *lanes, struct catalog *catalog, uint32_t process,
                      const struct runtime_record *record, bool may_add);

#endif
