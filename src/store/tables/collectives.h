/*
 * Inside store: what a capture says of collectives: facts that events carry as args, and the words
 * in which libraries, compilers and kernels name the same operations and types.
 */
#ifndef KYMO_STORE_TABLES_COLLECTIVES_H
#define KYMO_STORE_TABLES_COLLECTIVES_H

#include "base/base.h"

enum { NOT_KNOWN = -1 };

/* What is known of a collective; texts are ids in an intern, 0 (empty) where unknown. */
struct collective_fact {
    uint64_t event; /* id of the event that tells it */
    uint32_t communicator, operation, data_type;
    int64_t sequence, peer, group_size, bytes; /* NOT_KNOWN */
};
typedef ARRAY(struct collective_fact) collective_facts;

/* One word for an operation, whoever names it: "allreduce" of "all-reduce.3",
 * "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "nccl:all_reduce" and "allreduce_coalesced". The name
 * itself, in lower case and cut to the size, where it is none that is known. */
enum { OPERATION_SIZE = 32 };
struct text collective_operation(struct text name, char buffer[static OPERATION_SIZE]);
/* Bytes of an element of a type of PyTorch ("BFloat16") or XLA ("bf16"); 0 if unknown. */
int64_t element_bytes(struct text type);

/* Of the text of an HLO instruction: the groups of its replicas, or its pairs of source and target;
 * empty if it has none. */
struct text hlo_groups(struct text expression);
/* The number of ranks of a group, NOT_KNOWN if it is not the same for all. */
int64_t hlo_group_size(struct text groups);
/* Appends the group that a device is in: "{0,1}" of "{{0,1},{2,3}}" or "[2,2]<=[4]"; false, and
 * nothing, if it is in none. */
bool hlo_own_group(struct text groups, int64_t device, struct output *out);
/* The bytes of its result and their type. */
int64_t hlo_result_bytes(struct text expression, struct text *type);

#endif
