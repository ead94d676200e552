/*
 * Lowering: from the operations on tensors to instructions. Operations are put into groups
 * (fuse.c). A group of tiles covers its domain, the shape of what it computes, in boxes: each is
 * loaded into SBUF, computed by one instruction for each operation, and stored (tiles.c). A dot or
 * a gather may be the head of such a group: its result is computed (dot.c) or fetched box by box.
 * Operations that only move elements are done by DMA from HBM to HBM (move.c).
 */
#ifndef KYMO_NEURON_COMPILER_LOWER_H
#define KYMO_NEURON_COMPILER_LOWER_H

#include "neuron/compiler/access.h"
#include "neuron/compiler/emit.h"

struct fused_group {
    ARRAY(uint32_t) nodes;
    uint32_t head;       /* DOT or GATHER that begins it, or IR_NONE */
    bool is_move;        /* one node, moved by DMA */
    bool has_large_rows; /* rows do not fit: they are reduced in pieces */
    uint32_t rank;       /* of the domain, without dimensions of size 1 */
    uint32_t size[IR_RANK];
    uint32_t mask; /* dimensions that its reductions reduce */
};

/* A free part of the scratchpad. */
struct scratch_range {
    uint64_t first, end;
    struct clock clock; /* of its last uses */
};

/* Elements of a value that are in SBUF: rows on partitions, columns in a run. */
struct resident {
    uint32_t base;
    int64_t offset, row_step; /* elements of the value */
    uint32_t rows, columns;
    struct buffer *buffer;
};

struct lower {
    struct ir *ir;
    struct access *accesses; /* of each node */
    struct emit emit;
    ARRAY(struct fused_group) groups;
    uint32_t *group_of;   /* of each node; IR_NONE if it has none */
    bool *is_row;         /* of each node in a group: has the dimensions that are not reduced */
    uint32_t *last_group; /* that reads the node's storage; IR_NONE: none */
    struct storage **storages;
    ARRAY(struct scratch_range) scratch;
    uint64_t scratch_bytes;
    uint32_t group;                   /* being lowered */
    ARRAY(struct resident) residents; /* the oldest first */
    uint32_t resident_bytes;
    bool *is_unread; /* of each node: it was stored, and never loaded */
    const bool
        *is_kept;    /* of each node: not stored, as every reader finds it in SBUF; NULL: none */
    bool has_missed; /* a value not stored was missing from SBUF when needed */
};

/* fuse.c */
void fuse(struct lower *lower);

/* storage.c */
struct storage *storage_new(struct lower *lower, const char *name, const struct ir_type *type);
void storage_release(struct lower *lower, struct storage *storage);
/* Of a node that has one, or is a parameter or a constant. */
struct storage *storage_of(struct lower *lower, uint32_t node);
void storages_free(struct lower *lower);

/* transfer.c: elements of HBM in row-major order of a walk, whose first `parts` dimensions are
 * partitions of a buffer. */
struct transfer_walk {
    uint32_t rank, parts;
    uint32_t size[2 * IR_RANK];
    int64_t step[2 * IR_RANK];
};
void walk_add(struct transfer_walk *walk, uint32_t size, int64_t step);
struct transfer {
    struct storage *storage;
    enum dtype dtype, buffer_dtype;
    int64_t offset; /* elements of the storage */
    struct transfer_walk walk;
    struct buffer *buffer;
    uint8_t operation, indirect; /* enum dma_operation, enum dma_indirect */
    struct buffer *indices;
    uint64_t index_limit, index_step; /* step: bytes */
    bool is_ordered;                  /* a store: after earlier ones to the same place */
};
void transfer_load(struct lower *lower, const struct transfer *transfer);
void transfer_store(struct lower *lower, const struct transfer *transfer);

/* From HBM to HBM. */
struct copy {
    struct storage *from, *to;
    enum dtype dtype;
    int64_t from_offset, to_offset;
    uint32_t rank;
    uint32_t size[IR_RANK];
    int64_t from_step[IR_RANK], to_step[IR_RANK];
    bool is_ordered;
    uint8_t from_register, to_register; /* NO_REGISTER, or what is added to the offset: elements */
};
void transfer_copy(struct lower *lower, const struct copy *copy);
/* Storage with the elements of an access in row-major order: its own, or a copy that the caller
 * releases. */
struct storage *materialize(struct lower *lower, const struct access *access, bool *is_copy);

/* resident.c */
void resident_keep(struct lower *lower, uint32_t base, const struct transfer *transfer);
/* The buffer that has the walk's elements, held for the caller, from element `first` of each
 * partition on; NULL: they must be loaded. */
struct buffer *resident_find(struct lower *lower, uint32_t base, int64_t offset,
                             const struct transfer_walk *walk, uint32_t *first);
void resident_forget(struct lower *lower, uint32_t base);
bool resident_make_room(void *lower);

/* tiles.c, dot.c, move.c */
void lower_tiles(struct lower *lower, const struct fused_group *group);
void lower_move(struct lower *lower, const struct fused_group *group);
/* Copies a value to an output that has no storage of its own. */
void lower_output(struct lower *lower, uint32_t node, struct storage *output);

/* An immediate for operands of a type. */
struct operand plain_operand(const struct buffer *buffer, enum dtype dtype, uint32_t partitions,
                             uint32_t elements);

#endif
