/*
 * Imports device profiles (NTFF) with their executables (NEFF), of one core or of several.
 */
#ifndef KYMO_IMPORT_NTFF_DEVICE_SOURCE_H
#define KYMO_IMPORT_NTFF_DEVICE_SOURCE_H

#include "analyze/device/device.h"
#include "import/import.h"

struct device_source {
    struct source source;
    struct device_cores cores;
    struct core_types *types;      /* by core */
    ARRAY(struct core_part) parts; /* units of reading */
};

/* Event types of a core. */
struct core_types {
    uint32_t *instructions[ENGINE_COUNT]; /* by instruction */
    uint32_t *variables;                  /* of transfers, by variable; the last: without one */
    uint32_t *collectives;                /* by collective */
    uint32_t steps[STEP_DMA_ADVANCE + 1];
    uint32_t errors[ERROR_COLLECTIVE + 2]; /* the last: unknown ones */
    uint32_t throttles[THROTTLE_ACTIVITY_1 + 1];
    uint32_t *lanes; /* of counters, by lane */
};

/* All events of an execution on a lane or, for packets and semaphores, on all lanes of the kind. */
struct core_part {
    uint32_t core, execution, lane;
    uint8_t kind; /* enum device_lane_kind */
    uint64_t first, count;
};

/* Whether a file is an NTFF that is not empty. */
bool is_ntff(const char *path);
/* The NEFF of an NTFF: beside it, or where the runtime and serving frameworks put it; by its uuid.
 * Free with mem_free. */
bool find_neff(const char *ntff_path, char **neff_path, struct error *err);
/* NTFF files in a directory and below, in order of their paths. */
bool find_ntffs(const char *directory, path_list *paths, struct error *err);

void make_types(struct device_source *source, uint32_t core);
void free_types(struct core_types *types);
bool read_parts(struct source *base, struct sink *sink, struct pool *pool, struct error *err);

bool import_device(const struct capture *capture, struct pool *pool, struct source **source,
                   struct error *err);

#endif
