/*
 * The compiler's checker, on programs with seeded faults: a wait that is missing, buffers that
 * overlap, instructions in another order, memory that is given to two values; and what graphs are
 * refused for.
 */
#include "support.h"

#include "neuron/compiler/compile.h"

/* Products, a chain, reductions, a copy, rows by index, a dynamic slice, values whose memory is
 * used again; several tiles of each. */
static const char graph[] =
    "{\"name\":\"g\",\"inputs\":[{\"name\":\"x\",\"shape\":[300,200]},"
    "{\"name\":\"ids\",\"shape\":[140],\"dtype\":\"int32\"},{\"name\":\"at\",\"shape\":[],"
    "\"dtype\":\"int32\"}],"
    "\"weights\":[{\"name\":\"w\",\"shape\":[200,160],\"init\":{\"seed\":1}},"
    "{\"name\":\"v\",\"shape\":[700,160],\"init\":{\"seed\":2}}],"
    "\"ops\":["
    "{\"name\":\"a\",\"op\":\"matmul\",\"inputs\":[\"x\",\"w\"],\"layer\":\"/a\"},"
    "{\"name\":\"b\",\"op\":\"softmax\",\"inputs\":[\"a\"],\"source\":\"m.py:3\"},"
    "{\"name\":\"c\",\"op\":\"matmul\",\"inputs\":[\"b\",\"v\"],\"transpose_b\":true},"
    "{\"name\":\"d\",\"op\":\"gelu\",\"inputs\":[\"c\"]},"
    "{\"name\":\"e\",\"op\":\"transpose\",\"inputs\":[\"d\"]},"
    "{\"name\":\"f\",\"op\":\"reshape\",\"inputs\":[\"e\"],\"shape\":[300,700]},"
    "{\"name\":\"g\",\"op\":\"embedding\",\"inputs\":[\"f\",\"ids\"]},"
    "{\"name\":\"h\",\"op\":\"scatter_add\",\"inputs\":[\"f\",\"ids\",\"g\"]},"
    "{\"name\":\"i\",\"op\":\"dynamic_slice\",\"inputs\":[\"h\",\"at\",\"at\"],\"size\":[30,40]},"
    "{\"name\":\"j\",\"op\":\"reduce_add\",\"inputs\":[\"h\"],\"axes\":[0]},"
    "{\"name\":\"k\",\"op\":\"pad\",\"inputs\":[\"j\"],\"low\":[3],\"high\":[4]}],"
    "\"outputs\":[\"i\",\"k\",\"b\"]}";

static bool compile_text(struct compiled *compiled, const char *text, struct error *err)
{
    struct compile_request request = {
        .bytes = text,
        .size = strlen(text),
        .hardware = hardware_core(2),
        .is_unchecked = true,
    };
    return compile_graph(compiled, &request, err);
}

static void compile_example(struct compiled *compiled)
{
    struct error err;
    if (!compile_text(compiled, graph, &err))
        fail_msg("%s", err.text);
    if (!compile_check(&compiled->program, &err))
        fail_msg("%s", err.text);
}

static bool is_refused(const struct compiled *compiled, const char *why)
{
    struct error err;
    return !compile_check(&compiled->program, &err) && (!why || strstr(err.text, why));
}

TEST(a_program_has_a_limit)
{
    struct compiled compiled;
    struct error err;
    struct compile_request request = {
        .bytes = graph, .size = strlen(graph), .hardware = hardware_core(2), .program_limit = 100};
    assert_false(compile_graph(&compiled, &request, &err));
    assert_non_null(strstr(err.text, "more than 100 instructions and transfers"));
}

/* Each core of two writes its part of the outputs, all of it and no more. */
TEST(the_parts_of_two_cores_are_checked)
{
    struct compiled compiled;
    struct error err;
    struct compile_request request = {
        .bytes = graph, .size = strlen(graph), .hardware = hardware_core(2), .logical_cores = 2};
    if (!compile_graph(&compiled, &request, &err))
        fail_msg("%s", err.text);
    assert_int_equal(compiled.program_count, 2);
    assert_false(compile_check(&compiled.programs[0], &err)); /* not all of it */
    uint32_t divided = 0;
    for (uint32_t core = 0; core < 2; core++) {
        const struct core_program *program = &compiled.programs[core];
        for (uint32_t i = 0, k = 0; i < program->variable_count; i++) {
            if (program->variables[i].kind != VARIABLE_OUTPUT)
                continue;
            while (compiled.programs[1 - core].variables[k].kind != VARIABLE_OUTPUT)
                k++;
            struct output_part *part = &compiled.parts[core][i],
                               other = compiled.parts[1 - core][k++], own = *part;
            assert_int_equal(own.end - own.first + other.end - other.first,
                             program->variables[i].size);
            assert_true(own.first == own.end || other.first == other.end ||
                        own.end == other.first || own.first == other.end);
            if (own.first == own.end)
                continue;
            divided += own.end - own.first < program->variables[i].size;
            *part = (struct output_part){0, program->variables[i].size};
            assert_true(own.end - own.first == program->variables[i].size ||
                        !compile_check_part(program, compiled.parts[core], &err));
            *part = (struct output_part){own.first, own.end - 1};
            assert_false(compile_check_part(program, compiled.parts[core], &err));
            *part = own;
        }
        assert_true(compile_check_part(program, compiled.parts[core], &err));
    }
    assert_true(divided > 0);
    compiled_free(&compiled);
}

TEST(each_wait_is_needed)
{
    struct compiled compiled;
    compile_example(&compiled);
    size_t waits = 0, kept = 0;
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < compiled.program.code_count[e]; i++) {
            struct instruction *item = &compiled.program.code[e][i];
            uint16_t semaphore = item->wait_semaphore;
            if (semaphore == NO_SEMAPHORE)
                continue;
            waits++;
            item->wait_semaphore = NO_SEMAPHORE;
            if (!is_refused(&compiled, NULL)) {
                kept++;
                print_message("%s %u %s\n", hardware_engine_name((enum engine)e), i,
                              opcode_name(item->opcode));
            }
            item->wait_semaphore = semaphore;
        }
    assert_true(waits > 100);
    assert_int_equal(kept, 0);
    compiled_free(&compiled);
}

TEST(a_wait_for_less_is_found)
{
    struct compiled compiled;
    compile_example(&compiled);
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < compiled.program.code_count[e]; i++) {
            struct instruction *item = &compiled.program.code[e][i];
            if (item->wait_semaphore == NO_SEMAPHORE)
                continue;
            item->wait_value--;
            assert_true(is_refused(&compiled, NULL));
            item->wait_value++;
        }
    compiled_free(&compiled);
}

TEST(a_wait_for_more_than_ever_comes_is_found)
{
    struct compiled compiled;
    compile_example(&compiled);
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < compiled.program.code_count[e]; i++) {
            struct instruction *item = &compiled.program.code[e][i];
            if (item->wait_semaphore == NO_SEMAPHORE)
                continue;
            item->wait_value += 1000000;
            assert_true(is_refused(&compiled, "never happens"));
            item->wait_value -= 1000000;
            i += 10;
        }
    compiled_free(&compiled);
}

/* Buffers that begin where another buffer is. */
TEST(overlapping_buffers_are_found)
{
    struct compiled compiled;
    compile_example(&compiled);
    struct rng rng = {5};
    size_t tried = 0, found = 0;
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < compiled.program.code_count[e]; i++) {
            struct instruction *item = &compiled.program.code[e][i];
            if (item->dst.memory != MEMORY_SBUF)
                continue;
            uint32_t offset = item->dst.offset;
            item->dst.offset = (uint32_t)rng_below(&rng, 64) * 256;
            if (item->dst.offset != offset) {
                tried++;
                found += is_refused(&compiled, NULL);
            }
            item->dst.offset = offset;
        }
    assert_true(tried > 50);
    assert_int_equal(found, tried); /* its reader finds nothing, or another value's bytes */
    compiled_free(&compiled);
}

TEST(swapped_instructions_are_found)
{
    struct compiled compiled;
    compile_example(&compiled);
    struct instruction *code = compiled.program.code[ENGINE_TENSOR];
    size_t tried = 0;
    for (uint32_t i = 0; i + 1 < compiled.program.code_count[ENGINE_TENSOR]; i++) {
        if (code[i].opcode != OP_MATMUL || code[i].flags & FLAG_ACCUMULATE ||
            code[i + 2].opcode != OP_MATMUL || !(code[i + 2].flags & FLAG_ACCUMULATE))
            continue;
        struct instruction first = code[i], second = code[i + 2];
        code[i] = second;
        code[i + 2] = first;
        assert_true(is_refused(&compiled, NULL)); /* it accumulates to what is not there */
        code[i] = first;
        code[i + 2] = second;
        tried++;
    }
    assert_true(tried > 1);
    compiled_free(&compiled);
}

TEST(a_missing_transfer_is_found)
{
    struct compiled compiled;
    compile_example(&compiled);
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < compiled.program.code_count[e]; i++) {
            struct instruction *item = &compiled.program.code[e][i];
            if (item->opcode != OP_DMA_TRIGGER)
                continue;
            item->opcode = OP_NOP;
            assert_true(is_refused(&compiled, NULL));
            item->opcode = OP_DMA_TRIGGER;
        }
    compiled_free(&compiled);
}

TEST(values_in_the_same_memory_are_found)
{
    struct compiled compiled;
    compile_example(&compiled);
    struct core_program *program = &compiled.program;
    size_t found = 0, tried = 0;
    for (uint32_t i = 0; i < program->variable_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            struct variable *a = &program->variables[i], *b = &program->variables[k];
            if (a->kind != VARIABLE_VIRTUAL || b->kind != VARIABLE_VIRTUAL ||
                a->backing_offset == b->backing_offset ||
                b->backing_offset + a->size > program->scratchpad_bytes)
                continue;
            uint64_t offset = a->backing_offset;
            a->backing_offset = b->backing_offset;
            tried++;
            found += is_refused(&compiled, NULL);
            a->backing_offset = offset;
        }
    assert_true(tried > 0);
    assert_true(found > 0);
    compiled_free(&compiled);
}

TEST(instructions_tell_where_they_come_from)
{
    struct compiled compiled;
    compile_example(&compiled);
    const struct core_program *program = &compiled.program;
    bool has_matmul = false, has_softmax = false;
    for (uint32_t i = 0; i < program->code_count[ENGINE_TENSOR]; i++) {
        const struct instruction *item = &program->code[ENGINE_TENSOR][i];
        const struct origin *origin = &program->origins[item->origin];
        has_matmul |= item->opcode == OP_MATMUL && strcmp(origin->layer, "/a") == 0 &&
                      strcmp(origin->opcode, "matmul") == 0 &&
                      origin->model_flops == 2ull * 300 * 200 * 160;
    }
    for (uint32_t i = 0; i < program->code_count[ENGINE_SCALAR]; i++) {
        const struct instruction *item = &program->code[ENGINE_SCALAR][i];
        const struct origin *origin = &program->origins[item->origin];
        has_softmax |= item->opcode == OP_ACTIVATE && item->alu == FUNCTION_EXP &&
                       strcmp(origin->operation, "b") == 0 && strcmp(origin->file, "m.py") == 0 &&
                       origin->line == 3;
    }
    assert_true(has_matmul);
    assert_true(has_softmax);
    compiled_free(&compiled);
}

TEST(the_same_graph_gives_the_same_program)
{
    struct compiled compiled[2];
    uint8_t *bytes[2];
    size_t size[2];
    struct error err;
    for (int i = 0; i < 2; i++) {
        compile_example(&compiled[i]);
        struct neff_source source = {
            .name = "g", .programs = &compiled[i].program, .program_count = 1, .worker_count = 1};
        assert_true(neff_encode(&source, &bytes[i], &size[i], &err));
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    for (int i = 0; i < 2; i++) {
        mem_free(bytes[i]);
        compiled_free(&compiled[i]);
    }
}

#define OPS(ops)                                                                                   \
    "{\"inputs\":[{\"name\":\"x\",\"shape\":[4,6]},{\"name\":\"n\",\"shape\":[3],\"dtype\":"       \
    "\"int32\"}],\"ops\":[" ops "],\"outputs\":[\"y\"]}"

TEST(what_is_not_possible_is_refused_by_name_opcode_and_source)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "not a graph"},
        {"[]", "not a graph"},
        {"{\"inputs\":[]", "not a graph"},
        {"{}", "it has no outputs"},
        {"{\"name\":1}", "name is not a string"},
        {"{\"name\":\"a\",\"name\":\"b\"}", "\"name\" appears twice"},
        {"{\"input\":[]}", "it has no member \"input\""},
        {"{\"inputs\":{}}", "\"inputs\" is not a list"},
        {"{\"inputs\":[{\"name\":\"x\"}]}", "input \"x\": \"shape\" is missing"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[0]}]}", "shape is 0, not 1 to"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1,1,1,1,1,1,1,1,1]}]}", "more than 8 items"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[4000000000,4000000000,4000000000]}]}",
         "a tensor of more than 64 GiB"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"dtype\":\"fp64\"}]}",
         "input \"x\": the data type \"fp64\" is not supported"},
        {"{\"weights\":[{\"name\":\"w\",\"shape\":[2]}]}", "a weight needs one of"},
        {"{\"weights\":[{\"name\":\"w\",\"shape\":[2],\"data\":[1]}]}",
         "\"data\" has 1 numbers, not 2"},
        {"{\"weights\":[{\"name\":\"w\",\"shape\":[2],\"data\":[1,[2,3]]}]}",
         "\"data\" has more than 2 numbers"},
        {"{\"weights\":[{\"name\":\"w\",\"shape\":[2],\"file\":\"../w.npy\"}]}",
         "is not beside the graph"},
        {"{\"weights\":[{\"name\":\"w\",\"shape\":[2],\"init\":{\"speed\":1}}]}", "unknown member"},
        {OPS("{\"name\":\"y\",\"op\":\"conv3d\",\"inputs\":[\"x\"],\"source\":\"model.py:7\"}"),
         "operation \"y\" (conv3d, model.py:7): this operation is not supported"},
        {OPS("{\"name\":\"y\",\"op\":\"reduce_xor\",\"inputs\":[\"x\"]}"), "not supported"},
        {OPS("{\"name\":\"y\",\"op\":\"convert\",\"inputs\":[\"x\"],\"dtype\":\"fp64\","
             "\"source\":\"m.py:9\"}"),
         "operation \"y\" (convert, m.py:9): the data type \"fp64\" is not supported"},
        {OPS("{\"name\":\"y\",\"op\":\"exp\",\"inputs\":[\"x\"],\"axis\":1}"),
         "it has no member \"axis\""},
        {OPS("{\"name\":\"y\",\"op\":\"exp\",\"inputs\":[\"z\"]}"), "no value is named \"z\""},
        {OPS("{\"name\":\"y\",\"op\":\"exp\",\"inputs\":[\"n\"]}"), "takes floats, not int32"},
        {OPS("{\"name\":\"y\",\"op\":\"exp\",\"inputs\":[\"x\",\"x\"]}"),
         "it has 2 operands, not 1"},
        {OPS("{\"name\":\"x\",\"op\":\"exp\",\"inputs\":[\"x\"]}"), "two values are named \"x\""},
        {OPS("{\"name\":\"y\",\"op\":\"add\",\"inputs\":[\"x\",\"n\"]}"), "broadcast of"},
        {OPS("{\"name\":\"y\",\"op\":\"matmul\",\"inputs\":[\"x\",\"x\"]}"),
         "dimensions do not match"},
        {OPS("{\"name\":\"y\",\"op\":\"reshape\",\"inputs\":[\"x\"],\"shape\":[5,-1]}"),
         "reshape of fp32[4,6] to fp32[5,4]"},
        {OPS("{\"name\":\"y\",\"op\":\"transpose\",\"inputs\":[\"x\"],\"permutation\":[0,0]}"),
         "does not name each"},
        {OPS("{\"name\":\"y\",\"op\":\"slice\",\"inputs\":[\"x\"],\"start\":[0,9]}"),
         "no elements in this slice"},
        {OPS("{\"name\":\"y\",\"op\":\"select\",\"inputs\":[\"x\",\"x\",\"x\"]}"),
         "by a condition"},
        {OPS("{\"name\":\"y\",\"op\":\"embedding\",\"inputs\":[\"x\",\"x\"]}"), "by indices"},
        {OPS("{\"repeat\":2,\"ops\":[]}"), "needs the name of its variable"},
        {OPS("{\"repeat\":2000000,\"as\":\"i\",\"ops\":[]}"), "\"repeat\" is 2000000"},
        {OPS("{\"name\":\"y\",\"op\":\"all_gather\",\"inputs\":[\"x\"],\"groups\":[[0,1]]}"),
         "groups is 1, not 0 to 0"},
        {OPS("{\"name\":\"y\",\"op\":\"all_reduce\",\"inputs\":[\"x\"],\"groups\":[[0],[0]]}"),
         "a rank is in two of its groups"},
        {OPS("{\"name\":\"y\",\"op\":\"permute\",\"inputs\":[\"x\"],\"pairs\":[[0,0],[0,0]]}"),
         "a rank is in two of its groups"},
        {OPS("{\"name\":\"z\",\"op\":\"exp\",\"inputs\":[\"x\"]}"), "no value is named \"y\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct compiled compiled;
        struct error err;
        assert_false(compile_text(&compiled, cases[i].text, &err));
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s: \"%s\" has no \"%s\"", cases[i].text, err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_has_a_limit),
        cmocka_unit_test(the_parts_of_two_cores_are_checked),
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(a_wait_for_less_is_found),
        cmocka_unit_test(a_wait_for_more_than_ever_comes_is_found),
        cmocka_unit_test(overlapping_buffers_are_found),
        cmocka_unit_test(swapped_instructions_are_found),
        cmocka_unit_test(a_missing_transfer_is_found),
        cmocka_unit_test(values_in_the_same_memory_are_found),
        cmocka_unit_test(instructions_tell_where_they_come_from),
        cmocka_unit_test(the_same_graph_gives_the_same_program),
        cmocka_unit_test(what_is_not_possible_is_refused_by_name_opcode_and_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
