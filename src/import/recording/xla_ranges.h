/*
 * What XLA reports about its work: its NVTX ranges, "Thunk:#name=jit(f)/add,hlo_op=fusion.1,...#"
 * within "XlaModule:#hlo_module=jit_f,program_id=7#", on the thread that launches work.
 */
#ifndef KYMO_IMPORT_RECORDING_XLA_RANGES_H
#define KYMO_IMPORT_RECORDING_XLA_RANGES_H

#include "base/base.h"

struct source_line {
    uint32_t file; /* string; 0 for none */
    int64_t line;
};

/* The innermost ranges from a moment on. */
struct xla_moment {
    uint32_t lane;
    int64_t time_ns;
    uint32_t operation, module; /* strings: the ranges' whole texts; 0 for none */
    struct source_line source;  /* of the program; no file for none */
    int64_t sequence;           /* without a source: autograd's number; -1 for none */
};

enum xla_range_kind { XLA_OPERATION, XLA_MODULE, TORCH_OPERATOR };
struct xla_open_range {
    uint32_t lane, string;
    enum xla_range_kind kind;
    struct source_line source; /* of an operator that has one */
    int64_t sequence;          /* autograd's, of an operator; -1 for none */
};

/* The operator of a forward pass that has an autograd number. */
struct torch_forward {
    uint32_t lane;
    struct source_line source; /* no file when operators of several threads have the number */
};

struct xla_ranges {
    ARRAY(struct xla_moment) moments;
    ARRAY(struct xla_open_range) open;
    ARRAY(struct torch_forward) forwards;
    struct idmap forward_by_sequence;
};

void xla_ranges_free(struct xla_ranges *ranges);
/* Events of ranges, in order of time within a lane; others are ignored. */
void xla_ranges_add(struct xla_ranges *ranges, uint32_t lane, int64_t time_ns, uint32_t string,
                    struct text name, bool is_start);
/* The start of a PyTorch operator. It ends like a range. */
struct torch_start {
    uint32_t string;
    struct source_line source; /* if it has one */
    int64_t sequence;          /* -1 for none */
};
void torch_ranges_start(struct xla_ranges *ranges, uint32_t lane, int64_t time_ns,
                        const struct torch_start *start);
/* After the last one. */
void xla_ranges_finish(struct xla_ranges *ranges);
/* What a lane is doing at a moment; zeros for nothing. The source of a backward pass is that of the
 * forward pass's operator. */
struct xla_moment xla_ranges_at(const struct xla_ranges *ranges, uint32_t lane, int64_t time_ns);

/* The value of a key in a range's text, up to the next comma or '#'; empty if it is missing. */
struct text xla_range_value(struct text range, const char *key);

#endif
