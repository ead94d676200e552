/*
 * Inside diff: what is read of one profile or run, and how.
 */
#ifndef KYMO_REPORT_COMPARE_SIDE_H
#define KYMO_REPORT_COMPARE_SIDE_H

#include "report/compare/diff.h"
#include "report/relations/relations.h"

/* Parts of a step, which add up to its duration: of profiles, in the order of StepBreakdown's
 * columns; of runs. */
enum { BREAKDOWN_PARTS = 12, RUN_PARTS = 6 };
extern const char *const step_part_names[BREAKDOWN_PARTS];
extern const char *const run_part_names[RUN_PARTS];

/* Their sum. */
#define STEP_TIME "step time"

/* The share that equal runs differ by, see read_run.c. */
#define RUN_TOLERANCE 0.01

struct side_step {
    int64_t id, number, start_ns;
    double duration_ns; /* mean over devices */
    double devices;     /* that have it */
    bool has_parts;
    bool is_left_out;    /* of warming up, see warmup.c */
    uint32_t kinds_left; /* a bit for each kind that was not read of this step */
};

/* What a row has in a step, per device. */
struct step_value {
    uint32_t step; /* index in side.steps */
    double count, amount;
};

struct side_row {
    enum diff_kind kind;
    struct text name, layer, shape;
    bool is_communication; /* a kernel of NCCL or RCCL */
    bool has_loose_layer;  /* a communicator or a machine, which other runs have others of */
    bool is_whole;         /* of the whole capture, for profiles without steps */
    double count, amount;  /* of the whole capture; ns, or bytes of memory */
    double inclusive;      /* ns with what is nested in it; NAN if that is the amount */
    double
        tolerance; /* of runs: what equal ones differ by, per step in ns; 0: a share of the row */
    double skew, bandwidth; /* of collectives of runs: medians in ns and GB/s; else NAN */
    ARRAY(struct step_value) values;
};

struct diff_side {
    char *name, *device_name;
    size_t device_count;
    bool is_run;
    uint64_t rank_count, world_size; /* of runs */
    double own_ns;                   /* of runs: own time of the median device in a step */
    ARRAY(struct side_step) steps;   /* by start */
    size_t kept;                     /* steps that are not left out */
    ARRAY(struct side_row) rows;
    struct intern keys; /* row i has id i + 1 */
    struct arena texts;
    struct present_tables *present; /* of a profile: queries are over relations.h; NULL: of a run */
};

/* A side while it is read. */
struct reading {
    struct diff_side *side;
    struct sql_connection *connection;
    struct output
        definitions;    /* of a run: of WITH, before each query, each with a comma behind it */
    struct idmap steps; /* index by id */
};
struct reading reading_begin(const char *name, struct sql_connection *connection);
/* Hands over the side, or frees it if that is not to be; returns ok. */
bool reading_end(struct reading *reading, bool ok, struct diff_side **side);

/* Calls take for each row of a query. */
typedef void take_row(struct reading *reading, const struct sql_result *result, size_t row,
                      enum diff_kind kind);
bool read_rows(struct reading *reading, const char *sql, take_row *take, enum diff_kind kind,
               struct error *err);
/* Several queries, one after the other. */
struct side_query {
    const char *sql;
    take_row *take;
    enum diff_kind kind;
};
/* Those of profiles. */
extern const struct side_query profile_queries[];
extern const size_t profile_query_count;
bool read_queries(struct reading *reading, const struct side_query *queries, size_t count,
                  unsigned kinds, struct error *err);
/* Takes columns name, layer, shape, step, count, amount, inclusive, is_communication. */
take_row take_value;
double number_of(struct text value);

/* The row of a key, made if there is none. */
struct side_row *row_for(struct diff_side *side, enum diff_kind kind, struct text name,
                         struct text layer, struct text shape);
void add_value(struct side_row *row, uint32_t step, double count, double amount);
/* A figure of a step, which is a mean over devices already. */
void add_step_row(struct diff_side *side, const char *name, uint32_t step, double ns);

/* What distinguishes rows of a kind. */
void put_row_key(struct output *key, enum diff_kind kind, struct text name, struct text layer,
                 struct text shape);
/* Marks the steps to leave out. */
void leave_out_warmup(struct diff_side *side);

#endif
