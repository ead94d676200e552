/*
 * A group on its way through its domain, box by box.
 */
#ifndef KYMO_NEURON_COMPILER_TILES_H
#define KYMO_NEURON_COMPILER_TILES_H

#include "neuron/compiler/lower.h"

enum { DOMAIN_RANK = IR_RANK + 1, MAX_REFS = 3 };

/* Elements of a box in SBUF or PSUM. Steps are elements; 0: the same for all. */
struct tile {
    struct buffer *buffer; /* NULL: not present */
    enum dtype dtype;
    uint32_t first; /* element of each partition */
    uint32_t free_step, inner_step;
};

/* Walks of a value over the domain. */
struct place {
    uint32_t base;           /* node; IR_NONE: a copy */
    struct storage *storage; /* of a copy; see place_storage */
    enum dtype dtype;
    int64_t offset;
    int64_t step[DOMAIN_RANK];
};

/* A value from outside the group. */
struct load {
    struct place place;
    uint32_t uses, left; /* in all, and in this box */
    struct tile tile;
    bool is_repeated; /* boxes load the same elements: the last is kept */
    struct tile kept;
    int64_t kept_offset;
    uint32_t kept_partitions, kept_free, kept_inner;
};

enum ref_kind { REF_NONE, REF_NUMBER, REF_LOAD, REF_MEMBER };
struct ref {
    enum ref_kind kind;
    uint32_t index; /* of loads or members; NUMBER: the node */
};

/* An operation of the group. */
struct tile_member {
    uint32_t node;
    bool is_row, is_stored;
    struct place place;
    struct ref refs[MAX_REFS];
    uint32_t uses, left;
    struct tile tile;
};

/* Part of the domain. Partitions, free and inner are how many elements it has of the dimensions
 * with that role; rows have `free` elements a partition, all others free * inner. */
struct box {
    uint32_t low[DOMAIN_RANK], count[DOMAIN_RANK];
    uint32_t partitions, free, inner;
    bool is_first, is_last; /* piece of its rows */
};

struct dot_state;

struct tiles {
    struct lower *lower;
    const struct fused_group *group;
    /* Dimensions in the order outer, partitions, free, inner. Outer ones are looped over. */
    uint32_t rank, size[DOMAIN_RANK], chunk[DOMAIN_RANK];
    uint32_t first_part, first_free, first_inner;
    ARRAY(struct load) loads;
    ARRAY(struct tile_member) members;
    struct place sides[2]; /* of a dot: left and right; of a gather: table and indices */
    uint32_t side_count;
    struct dot_state *dot;
};

/* domain.c */
/* Dimensions that are reduced go last. */
void domain_order(struct tiles *tiles);
/* Merges adjacent dimensions of one role that form one walk for every value. */
void domain_merge(struct tiles *tiles);
/* Chooses roles and chunks. */
void domain_chunk(struct tiles *tiles);
/* Divides the last dimension when there are few rows; `rest` elements of it are left out. */
bool domain_split(struct tiles *tiles, uint64_t *rest);
/* After domain_split: the part that was left out. */
void domain_take_rest(struct tiles *tiles, uint64_t rest);

/* tile_load.c */
/* A value gets its storage when it is first loaded or stored. */
struct storage *place_storage(struct tiles *tiles, const struct place *place);
/* Offset, in elements, of the box's corner. */
int64_t place_at(const struct tiles *tiles, const struct place *place, const struct box *box);
/* Adds dimensions first .. end - 1 of the box. */
void walk_box(const struct tiles *tiles, const struct place *place, const struct box *box,
              uint32_t first, uint32_t end, struct transfer_walk *walk);
struct operand tile_operand(const struct tile *tile, const struct box *box, bool is_row);
/* The engine with less to do. */
enum engine less_busy(const struct lower *lower);

/* Lets go of an operand after its use. */
void ref_done(struct tiles *tiles, struct ref ref);
void tile_drop(struct lower *lower, struct tile *tile);
const struct tile *ref_tile(struct tiles *tiles, struct ref ref, const struct box *box);
/* compute.c: emits the member's instructions for a box; its tile has a buffer. */
void compute_member(struct tiles *tiles, struct tile_member *member, const struct box *box);

/* dot.c */
/* Places the operands, then calls arrange and run. */
void dot_run(struct tiles *tiles, void (*arrange)(struct tiles *), void (*run)(struct tiles *));
void dot_begin(struct tiles *tiles);
void dot_box(struct tiles *tiles, const struct box *box, struct tile_member *head);
void dot_end(struct tiles *tiles);

#endif
