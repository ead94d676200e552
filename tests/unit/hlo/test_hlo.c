/*
 * HLO modules, put together here instruction by instruction: what internal form they become, what
 * is known of where it came from, and which of them are refused.
 */
#include "base/wire/wire.h"
#include "hlo/hlo.h"
#include "neuron/compiler/hlo/read.h"
#include "support.h"

enum { F32 = 11, S32 = 4, PRED = 1, F64 = 12 };

/* A module of one or more computations that is being written. */
struct module {
    struct output out;
    size_t computation;
    uint64_t next_id, computation_id;
};

static void module_begin(struct module *module)
{
    memset(module, 0, sizeof *module);
    output_memory(&module->out);
    pb_put_text(&module->out, 1, TEXT("made_up"));
}

static void put_shape(struct output *out, uint32_t number, uint64_t type, const char *sizes)
{
    size_t mark = pb_begin(out, number);
    pb_put_varint(out, 2, type);
    for (; *sizes; sizes++)
        pb_put_varint(out, 3, (uint64_t)(*sizes - '0'));
    pb_end(out, mark);
}

static void computation_begin(struct module *module, const char *name)
{
    module->computation = pb_begin(&module->out, 3);
    pb_put_text(&module->out, 1, text_of(name));
}

/* Returns the computation's id. */
static uint64_t computation_end(struct module *module, uint64_t root)
{
    pb_put_varint(&module->out, 5, ++module->computation_id);
    pb_put_varint(&module->out, 6, root);
    pb_end(&module->out, module->computation);
    return module->computation_id;
}

struct part {
    const char *opcode;
    uint64_t type;
    const char *sizes;    /* a digit for each dimension */
    uint64_t operands[3]; /* 0: none */
    uint64_t callees[2];
    uint64_t parameter;
    const char *op_name;
    const char *file;
    int32_t value; /* of constants */
    const char *direction;
    const char *dimensions;
    uint64_t tuple_index;
    const uint64_t *tuple; /* types of a tuple of scalars, ended by 0 */
};

static uint64_t put(struct module *module, struct part part)
{
    struct output *out = &module->out;
    size_t mark = pb_begin(out, 2);
    char name[32];
    snprintf(name, sizeof name, "%s.%d", part.opcode, (int)++module->next_id);
    pb_put_text(out, 1, text_of(name));
    pb_put_text(out, 2, text_of(part.opcode));
    if (part.tuple) {
        size_t shape = pb_begin(out, 3);
        pb_put_varint(out, 2, 13);
        for (const uint64_t *type = part.tuple; *type; type++)
            put_shape(out, 4, *type, "");
        pb_end(out, shape);
    } else {
        put_shape(out, 3, part.type, part.sizes ? part.sizes : "");
    }
    size_t metadata = pb_begin(out, 7);
    if (part.op_name)
        pb_put_text(out, 2, text_of(part.op_name));
    if (part.file) {
        pb_put_text(out, 3, text_of(part.file));
        pb_put_varint(out, 4, 42);
    }
    pb_end(out, metadata);
    if (strcmp(part.opcode, "constant") == 0) {
        size_t literal = pb_begin(out, 8);
        put_shape(out, 1, part.type, "");
        pb_put_varint(out, part.type == S32 ? 4 : 2, (uint64_t)part.value);
        pb_end(out, literal);
    }
    pb_put_varint(out, 9, part.parameter);
    pb_put_varint(out, 13, part.tuple_index);
    for (const char *at = part.dimensions ? part.dimensions : ""; *at; at++)
        pb_put_varint(out, 14, (uint64_t)(*at - '0'));
    if (part.direction)
        pb_put_text(out, 63, text_of(part.direction));
    pb_put_varint(out, 35, module->next_id);
    for (size_t i = 0; i < 3; i++)
        if (part.operands[i])
            pb_put_varint(out, 36, part.operands[i]);
    for (size_t i = 0; i < 2; i++)
        if (part.callees[i])
            pb_put_varint(out, 38, part.callees[i]);
    pb_end(out, mark);
    return module->next_id;
}

/* Reads the module, whose entry is the last computation. */
static bool module_read(struct module *module, struct ir *ir, struct error *err)
{
    pb_put_varint(&module->out, 6, module->computation_id);
    struct text bytes = (struct text){module->out.data, module->out.size};
    uint8_t *copy = exact_copy(bytes.data, bytes.size);
    ir_init(ir);
    assert_true(hlo_recognize(copy, bytes.size));
    bool ok = hlo_read(copy, bytes.size, "made_up.hlo.pb", ir, err);
    free(copy);
    output_discard(&module->out);
    return ok;
}

static uint32_t count_kind(const struct ir *ir, enum ir_kind kind)
{
    uint32_t count = 0;
    const struct ir_node *node;
    array_each (node, &ir->nodes)
        count += node->kind == kind;
    return count;
}

TEST(parameters_and_results_are_numbered)
{
    struct module module;
    struct ir ir;
    struct error err;
    module_begin(&module);
    computation_begin(&module, "main");
    uint64_t a = put(
        &module, (struct part){.opcode = "parameter", .type = F32, .sizes = "23", .parameter = 0});
    uint64_t b = put(
        &module, (struct part){.opcode = "parameter", .type = F32, .sizes = "23", .parameter = 1});
    uint64_t sum = put(
        &module, (struct part){.opcode = "add", .type = F32, .sizes = "23", .operands = {a, b}});
    uint64_t bigger = put(&module, (struct part){.opcode = "compare",
                                                 .type = PRED,
                                                 .sizes = "23",
                                                 .operands = {a, b},
                                                 .direction = "GT"});
    const uint64_t types[] = {F32, PRED, 0};
    uint64_t pair =
        put(&module, (struct part){.opcode = "tuple", .operands = {sum, bigger}, .tuple = types});
    computation_end(&module, pair);
    assert_true(module_read(&module, &ir, &err));
    assert_string_equal(ir.name, "made_up");
    assert_int_equal(ir.nodes.count, 4);
    assert_string_equal(ir.nodes.items[0].name, "input0");
    assert_string_equal(ir.nodes.items[1].name, "input1");
    assert_int_equal(ir.outputs.count, 2);
    assert_string_equal(ir.outputs.items[1].name, "output1");
    const struct ir_node *added = &ir.nodes.items[ir.outputs.items[0].value];
    const struct ir_node *compared = &ir.nodes.items[ir.outputs.items[1].value];
    assert_int_equal(added->operation, ALU_ADD);
    assert_int_equal(compared->operation, ALU_GREATER);
    assert_true(compared->type.is_bool);
    ir_free(&ir);
}

/* i = 0; while (i < 5) { i += 2; x += x; } */
static void put_loop(struct module *module, int32_t end, const char *direction)
{
    static const uint64_t state[] = {S32, F32, 0};
    computation_begin(module, "body");
    uint64_t in = put(module, (struct part){.opcode = "parameter", .tuple = state});
    uint64_t i =
        put(module, (struct part){.opcode = "get-tuple-element", .type = S32, .operands = {in}});
    uint64_t x =
        put(module,
            (struct part){
                .opcode = "get-tuple-element", .type = F32, .operands = {in}, .tuple_index = 1});
    uint64_t two = put(module, (struct part){.opcode = "constant", .type = S32, .value = 2});
    uint64_t next = put(module, (struct part){.opcode = "add", .type = S32, .operands = {i, two}});
    uint64_t twice = put(
        module, (struct part){
                    .opcode = "add", .type = F32, .operands = {x, x}, .op_name = "layer7/double"});
    uint64_t both =
        put(module, (struct part){.opcode = "tuple", .operands = {next, twice}, .tuple = state});
    uint64_t body = computation_end(module, both);
    computation_begin(module, "condition");
    in = put(module, (struct part){.opcode = "parameter", .tuple = state});
    i = put(module, (struct part){.opcode = "get-tuple-element", .type = S32, .operands = {in}});
    uint64_t limit = put(module, (struct part){.opcode = "constant", .type = S32, .value = end});
    uint64_t test =
        put(module,
            (struct part){
                .opcode = "compare", .type = PRED, .operands = {i, limit}, .direction = direction});
    uint64_t condition = computation_end(module, test);
    computation_begin(module, "main");
    x = put(module, (struct part){.opcode = "parameter", .type = F32});
    uint64_t zero = put(module, (struct part){.opcode = "constant", .type = S32});
    both = put(module, (struct part){.opcode = "tuple", .operands = {zero, x}, .tuple = state});
    uint64_t loop = put(module, (struct part){.opcode = "while",
                                              .operands = {both},
                                              .callees = {body, condition},
                                              .tuple = state,
                                              .op_name = "jit(step)/jvp(model)/while/body",
                                              .file = "model.py"});
    x = put(module,
            (struct part){
                .opcode = "get-tuple-element", .type = F32, .operands = {loop}, .tuple_index = 1});
    computation_end(module, x);
}

TEST(a_loop_is_expanded)
{
    struct module module;
    struct ir ir;
    struct error err;
    module_begin(&module);
    put_loop(&module, 5, "LT");
    assert_true(module_read(&module, &ir, &err));
    assert_int_equal(count_kind(&ir, IR_BINARY), 3);
    const struct ir_node *last = &ir.nodes.items[ir.outputs.items[0].value];
    const struct origin *origin = &ir.origins.items[last->origin];
    assert_string_equal(origin->framework, "jit(step)/jvp(model)/while/body/layer7/double");
    assert_string_equal(origin->layer, "/model/layer7");
    assert_string_equal(origin->opcode, "add");
    assert_string_equal(origin->file, "model.py");
    assert_int_equal(origin->line, 42);
    ir_free(&ir);
}

static void assert_refused(struct module *module, const char *expected)
{
    struct ir ir;
    struct error err;
    assert_false(module_read(module, &ir, &err));
    assert_string_equal(err.file, "made_up.hlo.pb");
    if (!strstr(err.text, expected))
        fail_msg("\"%s\" does not say \"%s\"", err.text, expected);
    ir_free(&ir);
}

TEST(a_loop_that_does_not_end_is_refused)
{
    struct module module;
    module_begin(&module);
    put_loop(&module, -1, "NE");
    assert_refused(&module, "the module is too large");
}

TEST(an_operation_that_is_not_supported_is_named_with_its_place)
{
    struct module module;
    module_begin(&module);
    computation_begin(&module, "main");
    uint64_t a = put(&module, (struct part){.opcode = "parameter", .type = F32, .sizes = "3"});
    uint64_t sorted =
        put(&module,
            (struct part){
                .opcode = "sort", .type = F32, .sizes = "3", .operands = {a}, .file = "model.py"});
    computation_end(&module, sorted);
    assert_refused(&module, "instruction sort.2 (sort, from model.py:42): this operation is not "
                            "supported");
}

TEST(types_that_are_not_supported_are_named)
{
    struct module module;
    module_begin(&module);
    computation_begin(&module, "main");
    uint64_t a = put(&module, (struct part){.opcode = "parameter", .type = F64, .sizes = "3"});
    computation_end(&module, a);
    assert_refused(&module, "f64");
}

TEST(what_the_file_says_must_be_what_operations_give)
{
    struct module module;
    module_begin(&module);
    computation_begin(&module, "main");
    uint64_t a = put(&module, (struct part){.opcode = "parameter", .type = F32, .sizes = "23"});
    uint64_t sum = put(
        &module, (struct part){.opcode = "add", .type = F32, .sizes = "24", .operands = {a, a}});
    computation_end(&module, sum);
    assert_refused(&module, "it gives fp32[2,3], the file says fp32[2,4]");
}

TEST(a_computation_that_calls_itself_is_refused)
{
    struct module module;
    module_begin(&module);
    computation_begin(&module, "main");
    uint64_t a = put(&module, (struct part){.opcode = "parameter", .type = F32, .sizes = "3"});
    uint64_t called = put(
        &module, (struct part){
                     .opcode = "call", .type = F32, .sizes = "3", .operands = {a}, .callees = {1}});
    computation_end(&module, called);
    assert_refused(&module, "nested more than");
}

TEST(an_operand_that_comes_later_is_refused)
{
    struct module module;
    module_begin(&module);
    computation_begin(&module, "main");
    uint64_t sum =
        put(&module, (struct part){.opcode = "add", .type = F32, .sizes = "3", .operands = {2, 2}});
    put(&module, (struct part){.opcode = "parameter", .type = F32, .sizes = "3"});
    computation_end(&module, sum);
    assert_refused(&module, "operand 0 is not an earlier instruction");
}

TEST(other_files_are_not_taken_for_modules)
{
    static const char json[] = "{\"name\": \"mlp\", \"inputs\": []}";
    static const char zeros[64];
    assert_false(hlo_recognize((const uint8_t *)json, sizeof json - 1));
    assert_false(hlo_recognize((const uint8_t *)zeros, sizeof zeros));
    assert_false(hlo_recognize(NULL, 0));
}

/* Every prefix of a module, and the module with any byte changed: an answer or an error. */
TEST(damaged_modules_are_read_or_refused)
{
    struct module module;
    struct rng rng = {.state = 3};
    module_begin(&module);
    put_loop(&module, 5, "LT");
    pb_put_varint(&module.out, 6, module.computation_id);
    struct text bytes = (struct text){module.out.data, module.out.size};
    for (size_t i = 0; i < bytes.size; i++)
        for (int damage = 0; damage < 3; damage++) {
            size_t size = damage == 0 ? i : bytes.size;
            uint8_t *copy = exact_copy(bytes.data, size);
            if (damage > 0)
                copy[i] = (uint8_t)rng_u64(&rng);
            struct ir ir;
            struct error err;
            ir_init(&ir);
            if (hlo_recognize(copy, size) && !hlo_read(copy, size, "damaged", &ir, &err))
                assert_true(err.text[0] != '\0');
            ir_free(&ir);
            free(copy);
        }
    output_discard(&module.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_results_are_numbered),
        cmocka_unit_test(a_loop_is_expanded),
        cmocka_unit_test(a_loop_that_does_not_end_is_refused),
        cmocka_unit_test(an_operation_that_is_not_supported_is_named_with_its_place),
        cmocka_unit_test(types_that_are_not_supported_are_named),
        cmocka_unit_test(what_the_file_says_must_be_what_operations_give),
        cmocka_unit_test(a_computation_that_calls_itself_is_refused),
        cmocka_unit_test(an_operand_that_comes_later_is_refused),
        cmocka_unit_test(other_files_are_not_taken_for_modules),
        cmocka_unit_test(damaged_modules_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
