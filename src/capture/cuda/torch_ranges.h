/*
 * Texts of PyTorch's ranges (torch.autograd.profiler.emit_nvtx): "aten::mm, seq = 12, op_id = 34,
 * sizes = [[64, 512], [512, 512]], input_op_ids = [(33,0)]". They differ from call to call, so that
 * as names they would fill the file of names.
 */
#ifndef KYMO_CAPTURE_CUDA_TORCH_RANGES_H
#define KYMO_CAPTURE_CUDA_TORCH_RANGES_H

#include <stdbool.h>
#include <stdint.h>

enum { TORCH_LONGEST_NAME = 512, TORCH_LONGEST_SIZES = 4096 };

struct torch_range {
    int64_t sequence; /* autograd's; -1 for none */
    uint64_t id;      /* of the call, "op_id" */
    char name[TORCH_LONGEST_NAME];
    char sizes[TORCH_LONGEST_SIZES]; /* empty for none, and where they are longer */
};

/* False when it is another text, or the name is too long. */
bool torch_range_read(const char *text, struct torch_range *range);

/* Ranges of programs (record_function) have ids like operators, but neither numbers nor inputs. */
bool torch_range_is_operator(const struct torch_range *range);

#endif
