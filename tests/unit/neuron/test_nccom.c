/*
 * nccom-test's words, sizes and figures; the NEFFs that it makes; and that its check accepts right
 * outputs and no wrong ones.
 */
#include "neuron/compiler/compile.h"
#include "neuron/run/nccom/data.h"
#include "neuron/run/nccom/plan.h"
#include "neuron/run/nccom/spans.h"
#include "neuron/simulator/neuroncore.h"
#include "support.h"

#include <math.h>

/* ---- Words and sizes ----------------------------------------------------------------------- */

TEST(sizes_have_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"8", 8},  {"512kb", 524288},   {"1MB", 1 << 20}, {"32M", 32 << 20}, {"2k", 2048},
                {"7b", 7}, {"3GB", 3ull << 30}, {"1KiB", 1024},   {"0", 0}};
    static const char *const bad[] = {"",
                                      "kb",
                                      "-1",
                                      "1.5mb",
                                      "12 kb",
                                      "1tb",
                                      "0x10",
                                      "+3k",
                                      "99999999999999999999",
                                      "18446744073709551615k"};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(nccom_size(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(nccom_size(bad[i], &bytes));
}

static size_t list_sizes(struct nccom_sizes sizes, uint64_t *list)
{
    uint64_t size = sizes.min;
    size_t count = 0;
    do
        list[count++] = size;
    while (count < 16 && nccom_next_size(&sizes, &size));
    return count;
}

TEST(sizes_are_stepped_through)
{
    uint64_t list[16];
    assert_int_equal(list_sizes((struct nccom_sizes){8, 16, 4, 0}, list), 3);
    assert_int_equal(list[2], 16);
    assert_int_equal(list_sizes((struct nccom_sizes){8, 32, 1, 2}, list), 3);
    assert_int_equal(list[1], 16);
    assert_int_equal(list_sizes((struct nccom_sizes){8, 33, 10, 0}, list), 3);
    assert_int_equal(list[2], 28);
    assert_int_equal(list_sizes((struct nccom_sizes){524288, 524288, 1, 512}, list), 1);
    assert_int_equal(list_sizes((struct nccom_sizes){1, UINT64_MAX, 1, UINT64_MAX / 2}, list), 2);
}

TEST(operations_and_data_types_have_names)
{
    static const struct {
        const char *alias, *name;
    } names[] = {{"allr", "all_reduce"},       {"allg", "all_gather"},    {"allgv", "all_gatherv"},
                 {"redsct", "reduce_scatter"}, {"sendrecv", "sendrecv"},  {"permute", "permute"},
                 {"alltoall", "alltoall"},     {"alltoallv", "alltoallv"}};
    enum nccom_op op, same;
    enum dtype dtype;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(nccom_op_named(names[i].alias, &op));
        assert_true(nccom_op_named(names[i].name, &same));
        assert_int_equal(op, same);
        assert_string_equal(nccom_op_name(op), names[i].name);
    }
    assert_false(nccom_op_named("all", &op));
    assert_true(nccom_dtype_named("fp8", &dtype));
    assert_int_equal(dtype, DTYPE_FP8_E4);
    assert_false(nccom_dtype_named("int64", &dtype));
}

TEST(figures_are_those_of_the_guide)
{
    const double times[] = {10, 10, 11, 15};
    assert_true(fabs(nccom_average(times, 4) - 11.5) < 1e-12);
    assert_true(fabs(nccom_percentile(times, 4, 50) - 10.5) < 1e-12);
    assert_true(fabs(nccom_percentile(times, 4, 100) - 15) < 1e-12);
    assert_true(fabs(nccom_percentile(times, 1, 99) - 10) < 1e-12);
    /* 524288 B in 23.11 us are 22.69 GB/s, on the bus 21.98 of 32 ranks */
    double algbw = nccom_gb_per_s(524288, 23.11);
    assert_true(fabs(algbw - 22.69) < 0.005);
    assert_true(fabs(algbw * nccom_bus_factor(NCCOM_ALL_GATHER, 32) - 21.98) < 0.005);
    assert_true(nccom_bus_factor(NCCOM_ALL_REDUCE, 2) == 1);
    assert_true(nccom_bus_factor(NCCOM_PERMUTE, 8) == 1);
    assert_true(nccom_bus_factor(NCCOM_ALL_TO_ALLV, 4) == 0.75);
}

static struct nccom_shape shape_of(enum nccom_op op, enum dtype dtype, uint64_t bytes, uint32_t n)
{
    const struct nccom_stream stream = {.op = op, .dtype = dtype, .bytes = bytes};
    struct nccom_shape shape;
    struct error err;
    assert_true(nccom_shape(&stream, n, &shape, &err));
    return shape;
}

TEST(sizes_that_do_not_divide_become_smaller_but_not_nothing)
{
    struct nccom_shape shape = shape_of(NCCOM_ALL_GATHER, DTYPE_FP32, 1024, 32);
    assert_int_equal(shape.bytes, 1024);
    assert_int_equal(shape.input_bytes, 32);
    assert_int_equal(shape.output_bytes, 1024);
    shape = shape_of(NCCOM_REDUCE_SCATTER, DTYPE_BF16, 1001, 3);
    assert_int_equal(shape.elements, 498);
    assert_int_equal(shape.output_bytes, 332);
    shape = shape_of(NCCOM_ALL_TO_ALL, DTYPE_FP32, 1, 8);
    assert_int_equal(shape.bytes, 32);
    shape = shape_of(NCCOM_ALL_REDUCE, DTYPE_FP32, 7, 8);
    assert_int_equal(shape.bytes, 4);
}

/* ---- Plans --------------------------------------------------------------------------------- */

static struct plan_core test_core(uint32_t logical)
{
    return (struct plan_core){hardware_core(logical > 1 ? 3 : 2), logical};
}

/* The NEFF is free of races, and its collectives are where the plan says. */
static void check_neffs(const struct nccom_case *nccom, uint32_t logical)
{
    struct plan plan;
    struct error err;
    const struct plan_core core = test_core(logical);
    assert_true(plan_make(&plan, nccom, &err));
    for (size_t i = 0; i < plan.neff_count; i++) {
        uint8_t *bytes;
        size_t size;
        assert_true(plan_encode(&plan, &plan.neffs[i], &core, &bytes, &size, &err));
        struct neff *neff = neff_parse(bytes, size, "test", &err);
        assert_non_null(neff);
        const struct neff_info *info = neff_info(neff);
        assert_int_equal(info->program_count, logical);
        assert_int_equal(info->worker_count, nccom->workers);
        assert_int_equal(info->programs[0].collective_count, plan_neff_size(&plan, &plan.neffs[i]));
        for (uint32_t p = 0; p < info->program_count; p++)
            assert_true(compile_check(&info->programs[p], &err));
        struct plan_place place;
        for (uint32_t k = 0; k < info->programs[0].collective_count; k++) {
            assert_true(plan_place(&plan, &plan.neffs[i], k, &place));
            assert_int_equal(info->programs[0].collectives[k].channel, place.part);
        }
        assert_false(
            plan_place(&plan, &plan.neffs[i], plan_neff_size(&plan, &plan.neffs[i]), &place));
        neff_close(neff);
        mem_free(bytes);
    }
    plan_free(&plan);
}

TEST(neffs_are_free_of_races)
{
    struct nccom_stream streams[] = {
        {.op = NCCOM_ALL_REDUCE, .dtype = DTYPE_BF16, .bytes = 4096, .ops_per_iter = 2},
        {.op = NCCOM_ALL_TO_ALLV,
         .dtype = DTYPE_FP32,
         .bytes = 1024,
         .ops_per_iter = 1,
         .ratio = {1, 2, 1},
         .ratio_count = 3},
        {.op = NCCOM_PERMUTE, .dtype = DTYPE_INT8, .bytes = 100, .ops_per_iter = 1}};
    struct nccom_case nccom = {.streams = streams,
                               .stream_count = 3,
                               .workers = 4,
                               .nodes = 1,
                               .iters = 5,
                               .warmup_iters = 2};
    for (int unique = 0; unique < 2; unique++) {
        nccom.unique_buffers = unique;
        check_neffs(&nccom, 1);
        check_neffs(&nccom, 2);
    }
}

static uint64_t measured(const struct plan *plan)
{
    uint64_t count = 0;
    for (size_t i = 0; i < plan->neff_count; i++)
        count += plan->neffs[i].iters * plan->neffs[i].executions;
    return count;
}

TEST(iterations_are_spread_over_neffs)
{
    struct nccom_stream stream = {.op = NCCOM_ALL_REDUCE, .dtype = DTYPE_UINT8, .bytes = 8};
    stream.ops_per_iter = 1;
    struct nccom_case nccom = {.streams = &stream,
                               .stream_count = 1,
                               .workers = 2,
                               .nodes = 1,
                               .iters = 20,
                               .warmup_iters = 5};
    struct plan plan;
    struct error err;
    assert_true(plan_make(&plan, &nccom, &err));
    assert_int_equal(plan.neff_count, 1);
    assert_int_equal(plan_neff_size(&plan, &plan.neffs[0]), 25);
    plan_free(&plan);
    nccom.iters = 10000;
    nccom.warmup_iters = 5000;
    assert_true(plan_make(&plan, &nccom, &err));
    assert_int_equal(measured(&plan), 10000);
    for (size_t i = 0; i < plan.neff_count; i++)
        assert_in_range(plan_neff_size(&plan, &plan.neffs[i]), 1, NCCOM_OPS_PER_NEFF);
    plan_free(&plan);
    nccom.iters = 15;
    nccom.warmup_iters = 5;
    nccom.neff_iters = 10;
    nccom.neff_warmup_iters = 5;
    assert_true(plan_make(&plan, &nccom, &err));
    assert_int_equal(plan.neff_count, 1);
    assert_int_equal(measured(&plan), 150);
    assert_int_equal(plan.neffs[0].executions + plan.neffs[0].warmup_executions, 15);
    plan_free(&plan);
}

/* ---- The check ----------------------------------------------------------------------------- */

enum { WORKERS = 6 };
static const enum dtype dtypes[] = {DTYPE_UINT8, DTYPE_INT8, DTYPE_FP8_E4, DTYPE_UINT16,
                                    DTYPE_INT16, DTYPE_FP16, DTYPE_BF16,   DTYPE_UINT32,
                                    DTYPE_INT32, DTYPE_FP32};

/* What a rank gets, moved as the collective says, by code that has nothing of the check's. */
static void exchange(const struct plan_part *part, uint8_t *const *inputs, uint32_t rank,
                     uint8_t *output)
{
    const uint8_t *members[WORKERS];
    uint32_t count = 0, position = 0;
    uint32_t size = part->groups.count > 0 ? part->groups.size : WORKERS;
    for (uint32_t i = 0; part->kind != COLLECTIVE_PERMUTE && i < WORKERS / size * size; i++) {
        uint32_t first = i / size * size;
        bool is_mine = false;
        for (uint32_t k = first; k < first + size; k++)
            is_mine |= (part->groups.count > 0 ? part->groups.ranks[k] : k) == rank;
        uint32_t member = part->groups.count > 0 ? part->groups.ranks[i] : i;
        if (!is_mine)
            continue;
        position = member == rank ? count : position;
        members[count++] = inputs[member];
    }
    uint64_t in = part->input_bytes, out = part->output_bytes;
    memset(output, 0, out);
    switch (part->kind) {
    case COLLECTIVE_ALL_REDUCE:
        core_combine(part->dtype, ALU_ADD, output, members, count, 0, out);
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        core_combine(part->dtype, ALU_ADD, output, members, count, position * out, out);
        break;
    case COLLECTIVE_ALL_GATHER:
        for (uint32_t i = 0; i < count; i++)
            memcpy(output + i * in, members[i], in);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        for (uint32_t i = 0; i < count; i++)
            memcpy(output + i * (out / count), members[i] + position * (out / count), out / count);
        break;
    case COLLECTIVE_PERMUTE:
        for (uint32_t i = 0; i < part->groups.count; i++)
            if (part->groups.ranks[2 * i + 1] == rank)
                memcpy(output, inputs[part->groups.ranks[2 * i]], out);
        break;
    default:
        for (uint32_t i = 0; i < part->move_count; i++)
            if (part->moves[i].target == rank)
                memcpy(output + part->moves[i].to,
                       inputs[part->moves[i].source] + part->moves[i].from, part->moves[i].bytes);
    }
}

/* The largest change that is not more than rounding is refused as well: a step that is larger. */
static void change(uint8_t *element, uint32_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, element, bytes);
    bits ^= UINT64_C(3) << (8 * bytes - 2); /* the sign and the exponent, or the highest bits */
    memcpy(element, &bits, bytes);
}

static void check_part(const struct plan_part *part, enum nccom_check mode, struct rng *rng)
{
    const struct data_buffer buffer = {
        .part = part, .check = mode, .seed = 17, .number = 3, .workers = WORKERS};
    uint8_t *inputs[WORKERS], *output = mem_alloc(part->output_bytes),
                              *golden = mem_alloc(part->output_bytes);
    struct data_difference difference;
    uint32_t bytes = dtype_bytes(part->dtype);
    uint64_t count = part->output_bytes / bytes;
    for (uint32_t i = 0; i < WORKERS; i++) {
        inputs[i] = mem_alloc(part->input_bytes);
        data_fill(&buffer, i, inputs[i]);
    }
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        exchange(part, inputs, rank, output);
        assert_true(data_check(&buffer, rank, output, &difference));
        data_golden(&buffer, rank, golden);
        assert_true(data_check(&buffer, rank, golden, &difference));
        uint64_t wrong = rng_u64(rng) % count;
        change(output + wrong * bytes, bytes);
        assert_false(data_check(&buffer, rank, output, &difference));
        assert_int_equal(difference.count, 1);
        assert_int_equal(difference.element, wrong);
        assert_true(difference.got != difference.expected); /* NaN as well */
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        mem_free(inputs[i]);
    mem_free(output);
    mem_free(golden);
}

static void check_op(enum nccom_op op, enum dtype dtype, struct nccom_groups groups,
                     enum nccom_check mode, struct rng *rng)
{
    struct nccom_stream stream = {
        .op = op, .dtype = dtype, .bytes = 500 * WORKERS, .ops_per_iter = 1, .groups = groups};
    const struct nccom_case nccom = {
        .streams = &stream, .stream_count = 1, .workers = WORKERS, .nodes = 1, .iters = 1};
    struct plan plan;
    struct error err;
    assert_true(plan_make(&plan, &nccom, &err));
    check_part(&plan.parts[0], mode, rng);
    plan_free(&plan);
}

TEST(the_check_accepts_what_is_right_and_finds_one_wrong_element)
{
    struct rng rng = {5};
    uint32_t ranks[WORKERS] = {0, 2, 4, 1, 3, 5};
    const struct nccom_groups none = {0}, halves = {3, 2, ranks};
    for (int op = 0; op < NCCOM_OPS; op++)
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
            check_op((enum nccom_op)op, dtypes[i], none, NCCOM_RANDOM, &rng);
            check_op((enum nccom_op)op, dtypes[i], halves, NCCOM_RANDOM, &rng);
            check_op((enum nccom_op)op, dtypes[i], none, NCCOM_ALL_ONES, &rng);
        }
}

/* Neither a summand that is missing nor one too many, nor another rank's output. */
TEST(the_check_finds_a_missing_rank_and_swapped_ranks)
{
    struct nccom_stream stream = {.op = NCCOM_ALL_REDUCE, .bytes = 4096, .ops_per_iter = 1};
    const struct nccom_case nccom = {
        .streams = &stream, .stream_count = 1, .workers = WORKERS, .nodes = 1, .iters = 1};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct plan plan;
        struct error err;
        struct data_difference difference;
        uint8_t inputs[WORKERS][4096], output[4096];
        const uint8_t *members[WORKERS];
        stream.dtype = dtypes[i];
        stream.op = NCCOM_ALL_REDUCE;
        assert_true(plan_make(&plan, &nccom, &err));
        struct data_buffer buffer = {
            .part = &plan.parts[0], .check = NCCOM_RANDOM, .seed = 1, .workers = WORKERS};
        for (uint32_t k = 0; k < WORKERS; k++) {
            data_fill(&buffer, k, inputs[k]);
            members[k] = inputs[k];
        }
        core_combine(dtypes[i], ALU_ADD, output, members, WORKERS - 1, 0, sizeof output);
        assert_false(data_check(&buffer, 0, output, &difference));
        assert_true(difference.count > plan.parts[0].elements / 2);
        plan_free(&plan);
        stream.op = NCCOM_SENDRECV;
        assert_true(plan_make(&plan, &nccom, &err));
        buffer.part = &plan.parts[0];
        assert_true(data_check(&buffer, 1, inputs[0], &difference));
        assert_false(data_check(&buffer, 1, inputs[2], &difference));
        buffer.number = 1; /* another buffer has other data */
        assert_false(data_check(&buffer, 1, inputs[0], &difference));
        plan_free(&plan);
    }
}

/* ---- Files and traces ---------------------------------------------------------------------- */

static const char *write_text(void **state, const char *text)
{
    static char path[320];
    snprintf(path, sizeof path, "%s/file.json", ((struct scratch *)*state)->path);
    write_whole_file(path, text, strlen(text));
    return path;
}

TEST(groups_and_pairs_are_read_and_wrong_ones_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"replica_groups\": []}",
        "{\"replica_groups\": [[[0, 1], [2]]]}",
        "{\"replica_groups\": [[[0, -1]]]}",
        "{\"replica_groups\": [[[0.5]]]}",
        "{\"replica_groups\": [[[]]]}",
        "{\"replica_groups\": [[0]]}",
        "{\"replica_groups\": [[[0, 1]]",
        "{\"other\": [[[0, 1]]]}",
    };
    struct nccom_groups groups;
    struct error err;
    assert_true(nccom_read_groups(write_text(state, "{\"replica_groups\": [[[0, 2], [1, 3]]]}"), 0,
                                  &groups, &err));
    assert_int_equal(groups.size, 2);
    assert_int_equal(groups.count, 2);
    assert_int_equal(groups.ranks[1], 2);
    assert_int_equal(groups.ranks[2], 1);
    mem_free(groups.ranks);
    const char *two = "{\"src_target_pairs\": [[[0, 1]], [[1, 0]]]}";
    assert_true(nccom_read_pairs(write_text(state, two), 1, &groups, &err));
    assert_int_equal(groups.ranks[0], 1);
    mem_free(groups.ranks);
    assert_false(nccom_read_pairs(write_text(state, two), 2, &groups, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(nccom_read_groups(write_text(state, bad[i]), 0, &groups, &err));
        assert_true(err.text[0]);
    }
}

TEST(metadata_moves_what_both_sides_agree_on)
{
    static const char text[] =
        "{\"metadata\": [{\"send_counts\": [512, 1024], \"send_displs\": [0, 512], "
        "\"recv_counts\": [256, 768], \"recv_displs\": [0, 256]}]}";
    struct nccom_stream stream = {
        .op = NCCOM_ALL_TO_ALLV, .dtype = DTYPE_FP32, .bytes = 1 << 20, .ops_per_iter = 1};
    struct nccom_case nccom = {
        .streams = &stream, .stream_count = 1, .workers = 2, .nodes = 1, .iters = 1};
    struct plan plan;
    struct error err;
    assert_true(nccom_read_metadata(write_text(state, text), &stream.metadata, &err));
    assert_true(plan_make(&plan, &nccom, &err));
    const struct plan_part *part = &plan.parts[0];
    assert_int_equal(part->move_count, 4);
    /* From rank 0 to rank 1: 1,024 are sent from 512, 256 are taken to 0. */
    assert_int_equal(part->moves[1].source, 0);
    assert_int_equal(part->moves[1].target, 1);
    assert_int_equal(part->moves[1].from, 512 * 4);
    assert_int_equal(part->moves[1].to, 0);
    assert_int_equal(part->moves[1].bytes, 256 * 4);
    plan_free(&plan);
    stream.bytes = 1024; /* 256 elements */
    assert_false(plan_make(&plan, &nccom, &err));
    assert_non_null(strstr(err.text, "inputs have 256"));
    nccom.workers = 3;
    assert_false(plan_make(&plan, &nccom, &err));
    nccom_stream_free(&stream);
}

TEST(times_are_from_a_barriers_start_to_a_collectives_end)
{
    static const char text[] =
        "{\"events\":["
        "{\"event_type\":\"cc_exec_barrier\",\"phase\":\"start\",\"tracking_id\":5,\"nc_idx\":0,"
        "\"timestamp_ns\":1,\"data\":{\"exec_id\":9,\"nc_timestamp_ns\":1000,\"collective\":2}},\n"
        "{\"event_type\":\"cc_exec_barrier\",\"phase\":\"stop\",\"tracking_id\":5,\"nc_idx\":0,"
        "\"timestamp_ns\":1,\"data\":{\"nc_timestamp_ns\":1500}},\n"
        "{\"event_type\":\"nrt_execute\",\"phase\":\"start\",\"tracking_id\":6,\"data\":{}},\n"
        "{\"event_type\":\"cc_running\",\"phase\":\"start\",\"tracking_id\":7,\"nc_idx\":0,"
        "\"timestamp_ns\":1,\"data\":{\"exec_id\":9,\"nc_timestamp_ns\":1500,\"collective\":2,"
        "\"algorithm\":\"ring\"}},\n"
        "{\"event_type\":\"cc_running\",\"phase\":\"stop\",\"tracking_id\":7,\"nc_idx\":0,"
        "\"timestamp_ns\":1,\"data\":{\"nc_timestamp_ns\":4000}}],\"data_version\":2}";
    span_list spans;
    struct error err;
    assert_true(spans_read(TEXT(text), &spans, &err));
    assert_int_equal(spans.count, 1);
    assert_int_equal(spans.items[0].collective, 2);
    assert_int_equal(spans.items[0].start_ns, 1000);
    assert_int_equal(spans.items[0].end_ns, 4000);
    assert_true(text_equal(spans.items[0].algorithm, TEXT("ring")));
    array_free(&spans);
    for (size_t size = 0; size + 1 < sizeof text - 1; size++)
        assert_false(spans_read((struct text){text, size}, &spans, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(sizes_are_stepped_through),
        cmocka_unit_test(operations_and_data_types_have_names),
        cmocka_unit_test(figures_are_those_of_the_guide),
        cmocka_unit_test(sizes_that_do_not_divide_become_smaller_but_not_nothing),
        cmocka_unit_test(neffs_are_free_of_races),
        cmocka_unit_test(iterations_are_spread_over_neffs),
        cmocka_unit_test(the_check_accepts_what_is_right_and_finds_one_wrong_element),
        cmocka_unit_test(the_check_finds_a_missing_rank_and_swapped_ranks),
        cmocka_unit_test_setup_teardown(groups_and_pairs_are_read_and_wrong_ones_refused,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(metadata_moves_what_both_sides_agree_on, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(times_are_from_a_barriers_start_to_a_collectives_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
