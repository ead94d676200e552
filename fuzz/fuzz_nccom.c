/*
 * Fuzz target: the files of nccom-test (groups, pairs, metadata, streams) and the runtime's trace;
 * the first byte chooses. What is accepted becomes a NEFF that can be read again. Files are opened
 * from memory, in blocks of their exact size.
 */
#include "neuron/run/nccom/plan.h"
#include "neuron/run/nccom/spans.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replace file_open and file_close, with the linker's --wrap. */
bool __wrap_file_open(struct file *file, const char *path, struct error *err);
void __wrap_file_close(struct file *file);

static struct file fuzzed;

bool __wrap_file_open(struct file *file, const char *path, struct error *err)
{
    (void)path, (void)err;
    *file = fuzzed;
    return true;
}

void __wrap_file_close(struct file *file)
{
    *file = (struct file){0};
}

enum { WORKERS = 4 };
static struct nccom_stream streams[NCCOM_STREAMS];

static void make_neffs(const struct plan *plan)
{
    const struct plan_core core = {hardware_core(2), 1};
    for (size_t i = 0; i < plan->neff_count; i++) {
        uint8_t *bytes;
        size_t size;
        struct error err;
        bool ok = plan_encode(plan, &plan->neffs[i], &core, &bytes, &size, &err);
        struct neff *neff = ok ? neff_parse(bytes, size, "fuzzed", &err) : NULL;
        if (!neff) {
            fprintf(stderr, "%s\n", err.text);
            abort();
        }
        neff_close(neff);
        mem_free(bytes);
    }
}

static bool read_file(uint8_t kind, size_t *count, struct error *err)
{
    const struct nccom_stream all_reduce = {
        .op = NCCOM_ALL_REDUCE, .dtype = DTYPE_FP32, .bytes = 4096, .ops_per_iter = 1};
    *count = 1;
    streams[0] = all_reduce;
    switch (kind % 4) {
    case 0:
        return nccom_read_groups("f", kind / 4 % 2, &streams[0].groups, err);
    case 1:
        streams[0].op = NCCOM_PERMUTE;
        return nccom_read_pairs("f", kind / 4 % 2, &streams[0].pairs, err);
    case 2:
        streams[0].op = kind / 4 % 2 ? NCCOM_ALL_TO_ALLV : NCCOM_ALL_GATHERV;
        return nccom_read_metadata("f", &streams[0].metadata, err);
    default:
        return nccom_read_streams("f", WORKERS, &all_reduce, streams, count, err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nccom_case nccom = {
        .streams = streams, .workers = WORKERS, .nodes = 1, .iters = 1, .warmup_iters = 1};
    struct plan plan;
    struct error err;
    span_list spans;
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    fuzzed = (struct file){size > 1 ? copy : NULL, size - 1};
    if (data[0] >= 128) {
        if (spans_read((struct text){(const char *)copy, size - 1}, &spans, &err))
            array_free(&spans);
    } else {
        bool ok = read_file(data[0], &nccom.stream_count, &err);
        if (ok && plan_make(&plan, &nccom, &err)) {
            if (plan_iteration_size(&plan) < 10000)
                make_neffs(&plan);
            plan_free(&plan);
        }
        for (size_t i = 0; i < nccom.stream_count; i++)
            nccom_stream_free(&streams[i]);
    }
    free(copy);
    return 0;
}
