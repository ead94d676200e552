/*
 * compile: from a graph (docs/graph.md) or an HLO module (docs/hlo.md) to the program of a
 * NeuronCore. The format is recognized by its content.
 */
#ifndef KYMO_NEURON_COMPILER_COMPILE_H
#define KYMO_NEURON_COMPILER_COMPILE_H

#include "base/base.h"
#include "neuron/program/neff.h"

struct compile_request {
    const char *path;  /* of the graph: for messages; weights are files beside it */
    const void *bytes; /* of the graph */
    size_t size;
    const struct core_hardware *hardware;
    uint64_t weight_limit;  /* bytes of weights that the graph generates; 0: 1 GiB */
    uint64_t program_limit; /* instructions and descriptors; 0: 2 million */
    bool is_unchecked;      /* the caller checks */
    uint32_t logical_cores; /* physical cores of a logical one, each with a program; 0: 1 */
};

enum { COMPILE_MOST_CORES = 2 };

/* Bytes of an output that a core writes. */
struct output_part {
    uint64_t first, end;
};

struct compiled {
    union {
        struct core_program program; /* the first */
        struct core_program programs[COMPILE_MOST_CORES];
    };
    uint32_t program_count;
    struct output_part *parts[COMPILE_MOST_CORES]; /* of each variable of a program; NULL: one */
    const char *name;                              /* of the model */
    bool is_hlo;                                   /* made from an HLO module, not a graph */
    uint32_t rank_count;                           /* that its collectives connect; 1 without */
    struct compiled_memory *memory;
};

/* The program is checked (compile_check) unless the request says otherwise. */
bool compile_graph(struct compiled *compiled, const struct compile_request *request,
                   struct error *err);
void compiled_free(struct compiled *compiled);

/* Proves that, whatever the timing of its engines and transfers, a program has no two unordered
 * accesses to the same bytes of which one writes; reads no byte that was not written, or that was
 * written for another variable or as another data type; writes all of its outputs; and ends.
 * Programs with branches are refused. */
bool compile_check(const struct core_program *program, struct error *err);
/* The same for one of several cores: it writes its part of each output and nothing else of it. */
bool compile_check_part(const struct core_program *program, const struct output_part *parts,
                        struct error *err);

#endif
