/*
 * Words for collectives, whoever names them, and what texts of HLO instructions say of them.
 */
#include "store/tables/collectives.h"

#include "support.h"

static void assert_operation(const char *name, const char *operation)
{
    char buffer[OPERATION_SIZE];
    struct text found = collective_operation(text_of(name), buffer);
    assert_int_equal(found.size, strlen(operation));
    assert_memory_equal(found.data, operation, found.size);
}

TEST(an_operation_has_one_name)
{
    static const char *const names[][2] = {
        {"all-reduce.3", "allreduce"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce"},
        {"allreduce_coalesced", "allreduce"},
        {"_allgather_base", "allgather"},
        {"all-gather-done.2", "allgather"},
        {"_reduce_scatter_base", "reducescatter"},
        {"ncclKernel_ReduceScatter_RING_LL_Sum_half", "reducescatter"},
        {"all_to_allv", "alltoall"},
        {"collective-permute.1", "permute"},
        {"ncclKernel_SendRecv_RING_SIMPLE", "sendrecv"},
        {"recv-done.5", "recv"},
        {"send", "send"},
        {"reduce", "reduce"},
        {"barrier", "barrier"},
        {"cc_Running", "cc_running"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_operation(names[i][0], names[i][1]);
    assert_operation("A name that is longer than any name of an operation is cut",
                     "a name that is longer than any n");
}

TEST(elements_have_the_size_of_their_type)
{
    assert_int_equal(element_bytes(TEXT("BFloat16")), 2);
    assert_int_equal(element_bytes(TEXT("Float8_e4m3fn")), 1);
    assert_int_equal(element_bytes(TEXT("Float")), 4);
    assert_int_equal(element_bytes(TEXT("bf16")), 2);
    assert_int_equal(element_bytes(TEXT("f8e4m3fn")), 1);
    assert_int_equal(element_bytes(TEXT("pred")), 1);
    assert_int_equal(element_bytes(TEXT("token")), 0);
}

static void assert_groups(const char *expression, const char *groups, int64_t size)
{
    struct text found = hlo_groups(text_of(expression));
    assert_int_equal(found.size, strlen(groups));
    assert_memory_equal(found.data, groups, found.size);
    assert_int_equal(hlo_group_size(found), size);
}

TEST(groups_are_found_in_the_text_of_an_instruction)
{
    assert_groups("%a = f32[8]{0} all-reduce(f32[8]{0} %x), channel_id=1, "
                  "replica_groups={{0,1,2},{3,4,5}}, to_apply=%add",
                  "{{0,1,2},{3,4,5}}", 3);
    assert_groups("%a = f32[8] all-gather(%x), replica_groups=[2,4]<=[8], dimensions={0}",
                  "[2,4]<=[8]", 4);
    assert_groups("%a = f32[8] all-reduce(%x), replica_groups=[2,4]<=[4,2]T(1,0)",
                  "[2,4]<=[4,2]T(1,0)", 4);
    assert_groups("%p = f32[8] collective-permute(%x), source_target_pairs={{0,1},{1,0}}",
                  "{{0,1},{1,0}}", 2);
    assert_groups("%a = f32[8] all-reduce(%x), replica_groups={{0,1},{2}}", "{{0,1},{2}}",
                  NOT_KNOWN);
    assert_groups("%a = f32[8] all-reduce(%x), replica_groups={}", "{}", NOT_KNOWN);
    assert_groups("%a = f32[8] add(%x, %y)", "", NOT_KNOWN);
    assert_groups("%a = f32[8] all-reduce(%x), replica_groups={{0,1", "{{0,1", NOT_KNOWN);
    assert_groups("%a = f32[8] all-reduce(%x), replica_groups=[", "[", NOT_KNOWN);
}

static void assert_own(const char *groups, int64_t device, const char *own)
{
    struct output out;
    output_memory(&out);
    assert_int_equal(hlo_own_group(text_of(groups), device, &out), own != NULL);
    assert_int_equal(out.size, own ? strlen(own) : 0);
    if (own)
        assert_memory_equal(out.data, own, out.size);
    output_discard(&out);
}

TEST(a_device_is_in_one_of_the_groups)
{
    assert_own("{{0,1,2},{3,4,5}}", 4, "{3,4,5}");
    assert_own("{{0,1,2},{3,4,5}}", 0, "{0,1,2}");
    assert_own("{{0,1,2},{3,4,5}}", 6, NULL);
    assert_own("[2,4]<=[8]", 5, "{4,5,6,7}");
    assert_own("[2,4]<=[8]", 8, NULL);
    /* Columns of a box of four rows of two. */
    assert_own("[2,4]<=[4,2]T(1,0)", 5, "{1,3,5,7}");
    assert_own("[4,2]<=[2,2,2]T(1,0,2)", 5, "{4,5}");
    assert_own("[2,4]<=[2,2,2]T(1,0,2)", 5, "{0,1,4,5}");
    static const char *const broken[] = {"",
                                         "{",
                                         "[",
                                         "[2,4]",
                                         "[2,4]<=",
                                         "[2,4]<=[",
                                         "[2,4]<=[8",
                                         "[2,4]<=[0]",
                                         "[2,3]<=[8]",
                                         "[2,4]<=[4,2]T(1,1)",
                                         "[2,4]<=[4,2]T(2,0)",
                                         "[2,4]<=[4,2]T(1",
                                         "{}",
                                         "{{}}"};
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        char *copy = exact_copy(broken[i], strlen(broken[i]));
        struct output out;
        output_memory(&out);
        assert_false(hlo_own_group((struct text){copy, strlen(broken[i])}, 1, &out));
        output_discard(&out);
        free(copy);
    }
}

static void assert_bytes(const char *expression, int64_t bytes)
{
    struct text type;
    assert_int_equal(hlo_result_bytes(text_of(expression), &type), bytes);
}

TEST(the_bytes_of_a_result_are_those_of_its_shapes)
{
    assert_bytes("%a = f32[8,16]{1,0:T(8,128)} all-reduce(f32[8,16]{1,0} %x)", 512);
    assert_bytes("%a = (bf16[4]{0}, f32[2,2]{1,0}) all-reduce(bf16[4] %x, f32[2,2] %y)", 24);
    assert_bytes("%a = (f32[4]{0:T(128)}, f32[2]{0:T(128)}) all-reduce(f32[4] %x)", 24);
    assert_bytes("%a = f32[] all-reduce(f32[] %x)", 4);
    assert_bytes("%a = token[] after-all()", NOT_KNOWN);
    assert_bytes("%a = f32[9223372036854775807,9223372036854775807] all-reduce(%x)", NOT_KNOWN);
    assert_bytes("", NOT_KNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_has_one_name),
        cmocka_unit_test(elements_have_the_size_of_their_type),
        cmocka_unit_test(groups_are_found_in_the_text_of_an_instruction),
        cmocka_unit_test(a_device_is_in_one_of_the_groups),
        cmocka_unit_test(the_bytes_of_a_result_are_those_of_its_shapes),
    };
    return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
