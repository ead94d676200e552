/*
 * Fuzz target: any input as an HLO module, to the compiler's internal form. What was built is
 * walked through: every operand is there, and comes before its use.
 */
#include "hlo/hlo.h"
#include "neuron/compiler/hlo/read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ir ir;
    struct error err;
    ir_init(&ir);
    if (hlo_recognize(data, size) && hlo_read(data, size, "fuzzed", &ir, &err)) {
        for (uint32_t i = 0; i < ir.nodes.count; i++) {
            const struct ir_node *node = &ir.nodes.items[i];
            for (uint32_t k = 0; k < node->arg_count; k++)
                if (node->args[k] >= i)
                    abort();
            if (node->origin >= ir.origins.count || ir_bytes(&node->type) > IR_MAX_BYTES)
                abort();
        }
        for (size_t i = 0; i < ir.outputs.count; i++)
            if (ir.outputs.items[i].value >= ir.nodes.count)
                abort();
    }
    ir_free(&ir);
    return 0;
}
