/*
 * HLO modules: what XLA compiles. A serialized HloProto (or HloModuleProto) becomes instructions
 * and computations that refer to each other by index; attributes that few instructions have are
 * read where they are used, from the instruction's bytes. Field numbers are those of hlo.proto and
 * xla_data.proto. The bytes must outlive the module.
 */
#ifndef KYMO_HLO_MODULE_H
#define KYMO_HLO_MODULE_H

#include "base/base.h"
#include "base/wire/wire.h"

#define HLO_NONE UINT32_MAX

/* --- fields of messages: missing numbers are 0, missing lists are empty --- */

/* Repeated integers, packed or not: adds those of one field. */
typedef ARRAY(int64_t) hlo_numbers;
bool hlo_numbers_add(hlo_numbers *numbers, const struct pb_field *field);
int64_t hlo_number(struct pb_reader in, uint32_t number);
struct text hlo_text(struct pb_reader in, uint32_t number);
/* The message with that field number; empty if it is missing. */
struct pb_reader hlo_message(struct pb_reader in, uint32_t number);
/* Numbers of a list, `limit` of them at most; false when there are more or it is malformed. */
bool hlo_list(struct pb_reader in, uint32_t number, uint32_t limit, int64_t *list, uint32_t *count);

/* Numbers of fields of HloInstructionProto. */
enum hlo_field {
    HLO_NAME = 1,
    HLO_OPCODE = 2,
    HLO_SHAPE = 3,
    HLO_METADATA = 7,
    HLO_LITERAL = 8,
    HLO_PARAMETER = 9,
    HLO_FUSION_KIND = 11,
    HLO_TUPLE_INDEX = 13,
    HLO_DIMENSIONS = 14,
    HLO_WINDOW = 15,
    HLO_CONVOLUTION = 16,
    HLO_SLICES = 17,
    HLO_EXPONENT_BITS = 18,
    HLO_MANTISSA_BITS = 19,
    HLO_DYNAMIC_SIZES = 20,
    HLO_PADDING = 21,
    HLO_DISTRIBUTION = 23,
    HLO_EPSILON = 24,
    HLO_FEATURE_INDEX = 25,
    HLO_CHANNEL = 26,
    HLO_CUSTOM_CALL_TARGET = 28,
    HLO_OUTFEED_SHAPE = 29,
    HLO_DOT = 30,
    HLO_FFT_TYPE = 31,
    HLO_FFT_LENGTH = 32,
    HLO_GATHER = 33,
    HLO_GATHER_SIZES = 34,
    HLO_ID = 35,
    HLO_OPERANDS = 36,
    HLO_CONTROL = 37,
    HLO_CALLEES = 38,
    HLO_SHARDING = 40,
    HLO_BACKEND_CONFIG = 43,
    HLO_HOST_TRANSFER = 47,
    HLO_SCATTER = 48,
    HLO_REPLICA_GROUPS = 49,
    HLO_FEATURE_GROUPS = 50,
    HLO_PRECISION = 51,
    HLO_PAIRS = 52,
    HLO_CONSTRAIN_LAYOUT = 56,
    HLO_OPERAND_SHAPES = 57,
    HLO_BATCH_GROUPS = 58,
    HLO_TRIANGULAR_SOLVE = 59,
    HLO_STABLE = 60,
    HLO_CHOLESKY = 62,
    HLO_COMPARISON = 63,
    HLO_SIDE_EFFECT = 65,
    HLO_DELTA = 66,
    HLO_SORTED_INDICES = 67,
    HLO_FRONTEND = 68,
    HLO_UNIQUE_INDICES = 69,
    HLO_RNG_ALGORITHM = 70,
    HLO_GLOBAL_DEVICES = 71,
    HLO_COMPARISON_TYPE = 72,
    HLO_ALIASING = 74,
    HLO_PADDING_TYPE = 75,
    HLO_SCHEDULE = 76,
    HLO_API_VERSION = 77,
    HLO_THREAD = 79,
    HLO_PREFETCH_INDEX = 80,
    HLO_K = 81,
    HLO_LARGEST = 85,
    HLO_DEVICES = 87,
    HLO_COMPOSITE = 89,
    HLO_RAGGED_DOT = 90,
};

/* --- shapes --- */

enum {
    HLO_PRED = 1,
    HLO_F16 = 10,
    HLO_F32 = 11,
    HLO_F64 = 12,
    HLO_TUPLE_TYPE = 13,
    HLO_OPAQUE = 14,
    HLO_C64 = 15,
    HLO_BF16 = 16,
    HLO_TOKEN = 17,
    HLO_C128 = 18,
    HLO_SHAPE_DEPTH = 16, /* of tuples in tuples */
};

struct hlo_shape {
    uint32_t type;             /* number of the element type */
    uint32_t rank;             /* dimensions of an array, elements of a tuple */
    const int64_t *dimensions; /* never negative */
    const struct hlo_shape *elements;
    struct pb_reader layout;  /* empty if it has none */
    struct pb_reader dynamic; /* of each dimension, whether it is dynamic; mostly empty */
};

/* "f32"; NULL for an unknown number. */
const char *hlo_type_name(uint32_t type);
/* Bits of an element; 0 for tuples, tokens and unknown types. */
uint32_t hlo_type_bits(uint32_t type);
bool hlo_type_is_float(uint32_t type); /* also complex numbers */
bool hlo_shape_read(struct arena *memory, struct pb_reader in, struct hlo_shape *shape);
/* Elements of an array; of a tuple, of all its arrays. Saturates. */
int64_t hlo_elements(const struct hlo_shape *shape);
/* Bytes without padding; pointer_bytes for each element of a tuple and nothing for what those point
 * to, or, when that is 0, the bytes of all arrays. */
int64_t hlo_bytes(const struct hlo_shape *shape, uint32_t pointer_bytes);
/* The element of the shape that a path of indices leads to, or NULL. */
const struct hlo_shape *hlo_shape_at(const struct hlo_shape *shape, const int64_t *path,
                                     uint32_t count);

/* The elements of an array's literal, in row-major order, in memory; NULL if they do not match the
 * shape, or if elements are smaller than a byte. */
uint8_t *hlo_literal_read(struct arena *memory, struct pb_reader in, const struct hlo_shape *shape,
                          struct error *err);

/* --- modules --- */

enum hlo_opcode {
#define OPCODE(symbol, name, kind) HLO_OP_##symbol,
#include "hlo/opcodes.def"
#undef OPCODE
    HLO_OP_UNKNOWN,
};

enum hlo_kind { HLO_OTHER, HLO_ELEMENTWISE, HLO_TRANSCENDENTAL, HLO_COLLECTIVE, HLO_FREE };
enum hlo_kind hlo_kind_of(enum hlo_opcode opcode);

struct hlo_instruction {
    struct text name, opcode_name;
    struct text op_name, file; /* of its metadata */
    uint32_t line, frame;
    struct hlo_shape shape;
    uint64_t id;
    enum hlo_opcode opcode;
    uint32_t computation;
    uint32_t operand_count, callee_count, dimension_count;
    uint32_t *operands; /* earlier instructions of its computation; HLO_NONE if missing */
    uint32_t *callees;  /* computations; HLO_NONE if missing */
    int64_t *dimensions;
    int64_t parameter, tuple_index;
    uint32_t schedule_index; /* in the order in which its computation executes */
    struct pb_reader bytes;
};

struct hlo_computation {
    struct text name;
    uint64_t id, root_id;
    uint32_t first, count; /* instructions */
    uint32_t root;         /* instruction, HLO_NONE when it has none */
    bool is_fused;         /* the body of a fusion, or called from one */
};

/* An instruction's position in the source. */
struct hlo_frame {
    struct text file, function;
    uint32_t line, column;
    uint32_t parent; /* index plus one; 0 for the outermost */
};

struct hlo_module {
    struct arena memory; /* of lists */
    struct text name;
    uint64_t entry_id;
    uint32_t entry; /* computation, HLO_NONE when it has none */
    ARRAY(struct hlo_computation) computations;
    ARRAY(struct hlo_instruction) instructions;
    ARRAY(struct hlo_frame) frames;
    struct idmap by_id;            /* id of an instruction -> index */
    struct pb_reader bytes;        /* of the module */
    struct pb_reader buffers;      /* of the buffer assignment; empty when there is none */
    uint32_t replicas, partitions; /* 0 when unknown */
    uint32_t *callees_first;       /* computations, each after those it calls */
    bool is_scheduled;
    uint32_t ordered_count; /* without those in a circle of calls */
};

/* Whether the bytes are a module with an instruction. */
bool hlo_recognize(const uint8_t *bytes, size_t size);
/* False when the bytes are malformed. References that lead nowhere are kept as HLO_NONE. */
bool hlo_module_read(struct hlo_module *module, const uint8_t *bytes, size_t size,
                     struct error *err);
void hlo_module_free(struct hlo_module *module);
/* The operand, or NULL. */
const struct hlo_instruction *hlo_operand(const struct hlo_module *module,
                                          const struct hlo_instruction *at, uint32_t index);
/* The only or the given callee, or NULL. */
const struct hlo_computation *hlo_callee(const struct hlo_module *module,
                                         const struct hlo_instruction *at, uint32_t index);
const struct hlo_instruction *hlo_root(const struct hlo_module *module,
                                       const struct hlo_computation *computation);

/* --- descriptions of instructions --- */

/* The shape as in HLO's text: "bf16[8,128]{1,0:T(8,128)}". */
void hlo_put_shape(struct output *out, const struct hlo_shape *shape, bool with_layout);
/* "%add.5 = f32[2]{0} add(f32[2]{0} %x, f32[2]{0} %y)" with attributes, without metadata, backend
 * configuration and the values of large constants: as XProf shows it. Long ones are cut, which
 * requires a memory output. */
void hlo_put_expression(struct output *out, const struct hlo_module *module,
                        const struct hlo_instruction *at);
/* The whole module; short: without signs before names, without large constants and the shapes of
 * parameters. As XProf's graph_viewer writes it, except for aliases in the first line. */
void hlo_put_module(struct output *out, const struct hlo_module *module, bool is_short);
/* XProf's category on GPUs: "loop fusion", "data formatting". */
struct text hlo_category(const struct hlo_instruction *at);
/* Whether each element of its result depends on the elements at the same place. */
bool hlo_is_elementwise(const struct hlo_instruction *at);

/* Costs of one execution, with the computations it calls; NAN and -1 when unknown. */
struct hlo_cost {
    double flops;        /* floating-point operations, each 1, also a transcendental function */
    double matrix_flops; /* those of dots and convolutions */
    double xla_flops;    /* by XLA's cost analysis for GPUs, in its own units */
    int64_t bytes_read, bytes_written;
    int64_t bytes_accessed;
    const char *compute_type; /* of its factors, otherwise of its result: "bf16"; or NULL */
};
/* How often a loop runs according to its configuration: {"known_trip_count":{"n":"5"}}; -1 if it
 * does not say. */
int64_t hlo_trip_count(struct pb_reader instruction);
/* An array by instruction, to be freed with mem_free. */
struct hlo_cost *hlo_costs(const struct hlo_module *module);

#endif
