/*
 * The program of one NeuronCore: an instruction list for each engine, DMA blocks, collectives, the
 * variables in device memory, and where each instruction came from. The compiler makes it, NEFF
 * files hold it (encode.c, decode.c; schema/neff.md describes the encoding), simulated cores run
 * it.
 *
 * Synchronization: an instruction waits until one semaphore has at least a value, and changes one
 * semaphore when it has read its operands or when it is complete. Waits for further semaphores are
 * EVENT_SEMAPHORE instructions before it. An engine runs its list in order; each instruction of an
 * engine sees the results of those before it. Everything else needs a semaphore.
 */
#ifndef KYMO_NEURON_PROGRAM_PROGRAM_H
#define KYMO_NEURON_PROGRAM_PROGRAM_H

#include "neuron/hardware/hardware.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of nrt_dtype. Booleans are UINT8 with the values 0 and 1. */
enum dtype {
    DTYPE_NONE = 0x0,
    DTYPE_UINT64 = 0x1,
    DTYPE_INT8 = 0x2,
    DTYPE_UINT8 = 0x3,
    DTYPE_INT16 = 0x4,
    DTYPE_UINT16 = 0x5,
    DTYPE_BF16 = 0x6,
    DTYPE_FP16 = 0x7,
    DTYPE_INT32 = 0x8,
    DTYPE_UINT32 = 0x9,
    DTYPE_FP32 = 0xA,
    DTYPE_FP32R = 0xB,
    DTYPE_INT64 = 0xC,
    DTYPE_FP8_E3 = 0xD,
    DTYPE_FP8_E4 = 0xE,
    DTYPE_FP8_E5 = 0xF,
    DTYPE_COUNT
};

enum memory { MEMORY_NONE, MEMORY_SBUF, MEMORY_PSUM, MEMORY_HBM };

/* An operand on the chip: `partitions` rows, in each the elements of up to four free dimensions,
 * outermost first; unused dimensions have size 1. Steps are in elements and may be 0 or negative.
 */
struct operand {
    uint8_t memory; /* enum memory: SBUF or PSUM; NONE: no operand */
    uint8_t dtype;
    uint8_t partition;  /* the first */
    uint8_t partitions; /* 1 to 128 */
    uint32_t offset;    /* bytes into each partition, of the element at index 0 */
    int32_t step[4];
    uint32_t size[4];
};

enum opcode {
    OP_NOP,
    /* Tensor engine */
    OP_LDWEIGHTS, /* stationary = src[0]: K partitions, M <= 128 elements */
    OP_MATMUL, /* dst[m][n] (+)= sum over k of stationary[k][m] * src[0][k][n]; dst in PSUM, FP32 */
    OP_TRANSPOSE, /* dst[n][k] = src[0][k][n], up to 128 x 128, exact; dst in PSUM, of src's dtype
                   */
    /* Vector, Scalar or GpSimd engine. Elements of equal index are combined; arithmetic is in FP32,
     * or in 64-bit integers when all sources are integers; the result is converted to dst's
     * dtype. */
    OP_TENSOR_COPY,   /* dst = src[0] */
    OP_TENSOR_TENSOR, /* dst = src[0] alu src[1] */
    OP_TENSOR_SCALAR, /* dst = (src[0] alu scalar) alu2 immediate[1]; scalar is immediate[0], or
                         with FLAG_SCALAR_OPERAND one element of each partition of src[1]; ALU_NONE:
                         alu2 is left out */
    OP_SELECT,        /* dst = src[0] is not 0 ? src[1] : src[2] */
    OP_REDUCE,   /* over the innermost `count` free dimensions of src[0], by alu: ADD, MULTIPLY,
                    MAX, MIN, AND, OR; dst has the elements of the others */
    OP_ACTIVATE, /* dst = function(src[0] * scale + bias): scale is immediate[0], bias is
                    immediate[1], or with FLAG_SCALAR_OPERAND one element a partition of src[1] */
    OP_MEMSET,   /* dst = immediate[0] */
    OP_IOTA,     /* dst[p][i] = immediate[0] + immediate[1] * p + i-th element's linear index */
    /* Any engine */
    OP_DMA_TRIGGER,           /* start DMA block `index` */
    OP_TRIGGER_COLLECTIVE,    /* start collective `index` */
    OP_EVENT_SEMAPHORE,       /* only its wait and update */
    OP_SEMAPHORE_RANGE_CLEAR, /* semaphores index .. index + count - 1 become 0 */
    OP_TENSOR_LOAD,           /* register `index` = the one element of src[0], an integer */
    OP_REGISTER_ALU,          /* register `index` = register `index` alu immediate_int */
    OP_COMPARE_BRANCH, /* if register `index` alu immediate_int: continue at instruction `target` */
    OP_NOTIFY,         /* explicit notification, index: 0 start, 1 stop of the execution */
    OP_DRAIN,          /* wait until the engine's earlier instructions are complete */
    OP_COUNT
};

enum alu {
    ALU_NONE,
    ALU_ADD,
    ALU_SUBTRACT,
    ALU_REVERSE_SUBTRACT, /* b - a */
    ALU_MULTIPLY,
    ALU_DIVIDE,         /* integers: toward zero; by 0: -1 as XLA does */
    ALU_REVERSE_DIVIDE, /* b / a */
    ALU_REMAINDER,      /* sign of the dividend */
    ALU_POWER,
    ALU_REVERSE_POWER,
    ALU_MAX, /* NaN wins, as in XLA */
    ALU_MIN,
    ALU_EQUAL, /* comparisons give 0 or 1 */
    ALU_NOT_EQUAL,
    ALU_LESS,
    ALU_LESS_EQUAL,
    ALU_GREATER,
    ALU_GREATER_EQUAL,
    ALU_AND, /* of bits: sources are integers */
    ALU_OR,
    ALU_XOR,
    ALU_SHIFT_LEFT, /* by the width or more: 0 (arithmetic right: the sign) */
    ALU_SHIFT_RIGHT_LOGICAL,
    ALU_SHIFT_RIGHT_ARITHMETIC,
    ALU_ATAN2,
    ALU_COUNT
};

enum function {
    FUNCTION_IDENTITY,
    FUNCTION_EXP,
    FUNCTION_EXPM1,
    FUNCTION_LOG,
    FUNCTION_LOG1P,
    FUNCTION_SQRT,
    FUNCTION_RSQRT,
    FUNCTION_CBRT,
    FUNCTION_RECIPROCAL,
    FUNCTION_TANH,
    FUNCTION_SIGMOID,
    FUNCTION_RELU,
    FUNCTION_GELU,      /* exact, by erf */
    FUNCTION_GELU_TANH, /* the approximation by tanh */
    FUNCTION_SILU,
    FUNCTION_ERF,
    FUNCTION_SIN,
    FUNCTION_COS,
    FUNCTION_TAN,
    FUNCTION_ABS,
    FUNCTION_SIGN,
    FUNCTION_FLOOR,
    FUNCTION_CEIL,
    FUNCTION_ROUND_EVEN,
    FUNCTION_ROUND_AWAY,
    FUNCTION_SQUARE,
    FUNCTION_SOFTPLUS,
    FUNCTION_IS_FINITE,
    FUNCTION_NOT, /* of bits: integers */
    FUNCTION_POPULATION_COUNT,
    FUNCTION_LEADING_ZEROS,
    FUNCTION_COUNT
};

enum {
    FLAG_ACCUMULATE = 1,     /* MATMUL: add to the content of PSUM */
    FLAG_SCALAR_OPERAND = 2, /* TENSOR_SCALAR, ACTIVATE: src[1] instead of an immediate */
    FLAG_TAKEN = 4,          /* reserved for the runtime: never in a file */
};

enum { NO_SEMAPHORE = UINT16_MAX, NO_REGISTER = UINT8_MAX };
#define NO_INDEX UINT32_MAX

enum update_time { UPDATE_AT_COMPLETE, UPDATE_AT_READ };
enum update_kind { UPDATE_ADD, UPDATE_SUBTRACT, UPDATE_SET };

struct instruction {
    uint8_t opcode; /* enum opcode */
    uint8_t alu;    /* enum alu, or enum function of ACTIVATE */
    uint8_t alu2;
    uint8_t flags;
    uint16_t wait_semaphore; /* NO_SEMAPHORE: none */
    uint16_t update_semaphore;
    uint32_t wait_value; /* begins when the semaphore is >= this */
    uint32_t update_value;
    uint8_t update_kind, update_time;
    uint16_t count;
    uint32_t index;
    uint32_t target;
    uint32_t origin; /* index of program.origins, or NO_INDEX */
    union {
        double immediate[2]; /* exact for every 32-bit integer and FP32 */
        int64_t
            immediate_int[2]; /* REGISTER_ALU, COMPARE_BRANCH, and when all sources are integers */
    };
    struct operand dst, src[3];
};

/* One end of a DMA transfer. In SBUF and PSUM the first dimension counts partitions, the others
 * elements of a partition; in HBM all count elements. Elements of both ends correspond in row-major
 * order; unused dimensions have size 1. */
enum { DMA_DIMENSIONS = 5 };
struct dma_end {
    uint8_t memory;
    uint8_t dtype;
    uint8_t partition;       /* SBUF, PSUM: the first */
    uint8_t offset_register; /* NO_REGISTER, or a register of the triggering engine: HBM only */
    uint32_t variable;       /* HBM: index of program.variables */
    uint64_t offset;         /* bytes, into the variable or into each partition */
    uint64_t register_step;  /* bytes for each unit of the register, and of an index */
    int64_t step[DMA_DIMENSIONS];
    uint32_t size[DMA_DIMENSIONS];
};

enum dma_operation { DMA_COPY, DMA_ADD, DMA_MIN, DMA_MAX }; /* dtypes that differ are cast */

enum dma_indirect {
    DMA_DIRECT,
    DMA_GATHER,  /* the HBM source's offset gets index[i] * register_step, i counting its outermost
                    dimension */
    DMA_SCATTER, /* the same for the HBM destination */
};

struct dma_descriptor {
    uint8_t operation;
    uint8_t indirect;
    struct dma_end from, to;
    struct operand indices; /* GATHER, SCATTER: INT32 in SBUF, one element a partition, in order */
    uint64_t index_limit;   /* an index at or above it is an out-of-bounds error */
};

/* Whether its addresses are known only when it runs: descriptors are generated then. */
static inline bool dma_is_dynamic(const struct dma_descriptor *descriptor)
{
    return descriptor->indirect != DMA_DIRECT || descriptor->from.offset_register != NO_REGISTER ||
           descriptor->to.offset_register != NO_REGISTER;
}

/* Transfers that one instruction starts. They run concurrently, on the rings of a queue. */
struct dma_block {
    uint32_t first, count; /* descriptors */
    uint32_t queue;        /* index of program.queues */
    uint16_t semaphore;    /* gets `increment` when all are complete */
    uint16_t increment;
};

enum queue_kind { QUEUE_IN, QUEUE_OUT, QUEUE_DATA, QUEUE_EMBEDDING, QUEUE_DYNAMIC };
struct dma_queue {
    const char *name; /* "qSyncIO0" */
    uint8_t kind;     /* enum queue_kind */
    uint8_t engine;   /* its owner: enum engine */
    uint8_t rings;    /* 1 to 16: DMA engines 0 .. rings - 1, after `first_ring`, modulo 16 */
    uint8_t first_ring;
};

enum variable_kind {
    VARIABLE_INPUT,
    VARIABLE_OUTPUT,
    VARIABLE_WEIGHT,  /* "file": constant, its bytes are a member of the NEFF */
    VARIABLE_VIRTUAL, /* scratchpad, at backing_offset */
};
enum { SHAPE_MAX = 8 };
struct variable {
    const char *name;
    uint8_t kind;
    uint8_t dtype;
    uint8_t rank;
    uint32_t shape[SHAPE_MAX];
    uint64_t size;           /* bytes */
    uint64_t backing_offset; /* VIRTUAL: bytes into the scratchpad; may overlap others in space, not
                                in time */
    const uint8_t *data;     /* WEIGHT: size bytes */
    const char *layer;       /* whose weight it is, or "" */
};

enum collective_kind {
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_PERMUTE,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_BARRIER,
    COLLECTIVE_ALL_TO_ALL_V, /* pieces of any size: moves */
};
/* Bytes that go from one rank of a group to another, or stay with it. */
struct collective_move {
    uint32_t source, target;
    uint64_t from, to; /* offsets in the source's input and the target's output */
    uint64_t bytes;
};
/* Contiguous bytes of HBM in, contiguous bytes out. Groups are lists of ranks of equal length; each
 * rank is in one of them at most. PERMUTE: groups of two, source and target. */
struct collective {
    uint8_t kind;
    uint8_t dtype;
    uint8_t alu; /* of reductions: ADD, MULTIPLY, MAX, MIN */
    uint16_t semaphore, increment;
    uint32_t input, output; /* variables */
    uint64_t input_offset, output_offset;
    uint64_t input_bytes, output_bytes;
    uint32_t group_size;
    uint32_t group_count;    /* 0: all ranks are one group */
    const uint32_t *members; /* group_count * group_size ranks */
    uint32_t channel;
    uint32_t move_count;
    const struct collective_move *moves; /* ALL_TO_ALL_V: of all ranks, in the order of their
                                            sources; other bytes of the output are unchanged */
};
/* Each rank is in one group at most; of a PERMUTE, it is source of one and target of one. */
bool collective_ranks_distinct(enum collective_kind kind, const uint32_t *members, size_t count);

/* Where an instruction came from. Unknown texts are "". */
struct origin {
    const char *layer;     /* "/gpt/block0/attention/q" */
    const char *operation; /* name of the graph's or HLO's operation */
    const char *opcode;    /* of that operation: "dot" */
    const char *framework; /* framework operator: HLO's op_name */
    const char *file;
    uint32_t line;
    uint32_t stack_frame; /* 0: none; else 1 + index of program.frames */
    uint64_t model_flops; /* of the operation, in its first origin only */
};
struct source_frame {
    const char *function, *file;
    uint32_t line, column;
    uint32_t parent; /* 0: none; else 1 + index */
};

struct core_program {
    struct instruction *code[ENGINE_COUNT];
    uint32_t code_count[ENGINE_COUNT];
    struct dma_descriptor *descriptors;
    struct dma_block *blocks;
    struct dma_queue *queues;
    struct variable *variables;
    struct collective *collectives;
    struct origin *origins;
    struct source_frame *frames;
    uint32_t descriptor_count, block_count, queue_count, variable_count, collective_count,
        origin_count, frame_count;
    uint64_t scratchpad_bytes;
    uint32_t core_version; /* generation it was compiled for */
};

struct error;
/* Whether the program stays within its lists, memories and variables, and the sizes of each
 * operation's operands match, so that it can be run without further checks. Accesses that depend on
 * registers and indices are checked when it runs: a dynamic offset against its variable, an index
 * against index_limit (which together with register_step is inside the variable). */
bool program_check(const struct core_program *program, struct error *err);

uint32_t dtype_bytes(enum dtype dtype);
const char *dtype_name(enum dtype dtype); /* "fp32", "bf16" */
/* DTYPE_NONE for an unknown name. Takes NumPy's and HLO's spellings as well. */
enum dtype dtype_named(const char *name);
bool dtype_is_float(enum dtype dtype);
bool dtype_is_signed(enum dtype dtype); /* of integers */
/* "MATMUL", "TENSOR_TENSOR", ... */
const char *opcode_name(enum opcode opcode);
const char *alu_name(enum alu alu);
const char *function_name(enum function function);

#endif
