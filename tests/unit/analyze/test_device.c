/*
 * Device profiles: notifications become instructions, transfers, collectives and updates. Those
 * made by hand have known answers; those of the simulated core are compared with what a plain
 * search through all of them finds; those of chance lose nothing and crash nothing.
 */
#include "analyze/device/execution.h"

#include "../neuron/neuroncore_programs.h"
#include "device_model.h"

#include <time.h>

static struct scratch *scratch_of(void **state)
{
    return *state;
}

static void simulate(struct device_model *device, struct model *model, struct outcome *outcome,
                     const struct scratch *scratch)
{
    struct error err;
    if (!program_check(&model->program, &err))
        fail_msg("%s", err.text);
    model_run(model, false, outcome);
    assert_int_equal(outcome->result.status, 0);
    device_model_make(device, scratch, &model->program, outcome->items, outcome->count);
}

static void starts_and_ends_become_instructions(void **state)
{
    struct model *model = model_new(2);
    load_weights(model, DTYPE_BF16);
    matmul(model, DTYPE_BF16, 512);
    matmul(model, DTYPE_BF16, 512);
    struct notification items[] = {
        traced(ENGINE_TENSOR, PHASE_START, 28, 0), traced(ENGINE_TENSOR, PHASE_START, 56, 1),
        /* the weights are loaded behind the first matmul */
        traced(ENGINE_TENSOR, PHASE_END, 84, 1), traced(ENGINE_TENSOR, PHASE_START, 84, 2),
        traced(ENGINE_TENSOR, PHASE_END, 112, 0), traced(ENGINE_TENSOR, PHASE_END, 140, 2)};
    items[1].value = 14;
    items[3].detail = 7;
    items[5].detail = 7;
    struct device_model device;
    device_model_make(&device, scratch_of(state), &model->program, items, COUNT_OF(items));
    const struct device_execution *execution = &device.execution;
    assert_int_equal(execution->instructions[ENGINE_TENSOR].count, 3);
    const struct device_instruction *found = execution->instructions[ENGINE_TENSOR].items;
    static const int64_t times[3][2] = {{5000, 20000}, {10000, 15000}, {15000, 25000}};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(found[i].pc, i);
        assert_int_equal(found[i].start_ps, times[i][0]);
        assert_int_equal(found[i].end_ps, times[i][1]);
        assert_int_equal(found[i].wait_ps, i == 1 ? 2500 : 0);
        assert_int_equal(found[i].iteration, i == 2 ? 7 : 0);
    }
    assert_int_equal(execution->unpaired, 0);
    assert_int_equal(execution->notifications, 6);
    assert_int_equal(execution->start_ps, 5000); /* nothing explicit: the span of all */
    assert_int_equal(execution->end_ps, 25000);
    device_model_free(&device);
    model_free(model);
}

static void what_makes_no_sense_is_left_out_and_counted(void **state)
{
    struct model *model = dma_model(2, 4, 64, 2);
    matmul(model, DTYPE_BF16, 512)->src[0].partitions = 1;
    model->program.code_count[ENGINE_TENSOR] = 0; /* no code: every instruction is beyond it */
    const struct notification items[] = {
        traced(ENGINE_TENSOR, PHASE_START, 28, 0), /* of an engine without code */
        traced(ENGINE_SYNC, PHASE_END, 28, 0),     /* without a start */
        traced(ENGINE_SYNC, PHASE_START, 56, 1),   /* beyond the code */
        traced(ENGINE_SYNC, PHASE_START, 84, 0),
        traced(ENGINE_SYNC, PHASE_END, 83, 0),    /* before its start: both go */
        traced(ENGINE_SYNC, PHASE_START, 112, 0), /* without an end */
        traced(9, PHASE_START, 1, 0),             /* of an engine that is not there */
        {.type = NOTIFICATION_TRACE_DMA, .phase = PHASE_START, .time = 1, .id = 2, .value = 0},
        {.type = NOTIFICATION_TRACE_DMA, .phase = PHASE_START, .time = 1, .id = 0, .value = 1},
        {.type = NOTIFICATION_TRACE_DMA, .phase = PHASE_START, .time = 1, .id = 0, .unit = 99},
        {.type = NOTIFICATION_COLLECTIVE, .time = 1, .id = 0, .value = STEP_TPB_TRIGGER},
        {.type = NOTIFICATION_EVENT, .time = 1, .id = SEMAPHORES, .detail = NO_ID},
        {.type = NOTIFICATION_EVENT, .time = UINT64_MAX, .id = 0, .detail = NO_ID},
        {.type = NOTIFICATION_THROTTLE, .time = 1, .id = 77, .value = 512},
        {.type = NOTIFICATION_NOTIFY, .time = 1, .id = 2},
    };
    struct device_model device;
    device_model_make(&device, scratch_of(state), &model->program, items, COUNT_OF(items));
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        assert_int_equal(device.execution.instructions[e].count, 0);
    assert_int_equal(device.execution.transfers.count, 0);
    assert_int_equal(device.execution.unpaired, COUNT_OF(items));
    device_model_free(&device);
    model_free(model);
}

/* The first of three blocks ends with a start, the third begins with an end: of another run, since
 * the block between them is damaged. */
static void runs_are_not_joined_across_what_is_damaged(void **state)
{
    enum { BLOCK = 4096, COUNT = 3 * BLOCK };
    struct model *model = dma_model(2, 4, 64, 2);
    struct notification *items = calloc(COUNT, sizeof *items);
    struct device_files files = {0};
    for (uint32_t i = 0; i < COUNT; i++)
        items[i] = (struct notification){.type = NOTIFICATION_TRACE_DMA,
                                         .phase = i % 2 ? PHASE_START : PHASE_END,
                                         .time = 28 * (uint64_t)i};
    device_encode(&files, scratch_of(state), &model->program);
    struct ntff_writer *writer = device_write(&files, 2);
    device_write_execution(writer, 1, items, COUNT, 0, 28 * COUNT);
    device_write_end(writer);
    size_t count;
    struct device_model device = {.files = files, .profile = device_joined(&files)};
    struct ntff_block damaged = ntff_blocks(device.profile->ntff, &count)[1];
    assert_int_equal(count, 3);
    FILE *file = fopen(files.ntff, "r+b");
    fseek(file, (long)(damaged.offset + damaged.bytes / 2), SEEK_SET);
    assert_int_equal(fwrite("damage", 6, 1, file), 1);
    fclose(file);
    device_model_read(&device, 0);
    const struct device_execution *execution = &device.execution;
    assert_int_equal(execution->loss.places, 1);
    assert_int_equal(execution->loss.offset, damaged.offset);
    assert_int_equal(execution->loss.notifications, BLOCK);
    assert_int_equal(execution->loss.first_execution, 1);
    assert_int_equal(execution->transfers.count, BLOCK - 2);
    assert_int_equal(execution->unpaired, 4); /* the ends of what is left */
    for (size_t i = 0; i < execution->transfers.count; i++)
        assert_int_equal(
            execution->transfers.items[i].end_ps - execution->transfers.items[i].start_ps, 5000);
    device_model_free(&device);
    model_free(model);
    free(items);
}

/* Work is in proportion to descriptors, blocks and notifications, not to what blocks have in
 * common. */
static void blocks_that_share_their_descriptors_take_linear_time(void **state)
{
    enum { MANY = 50000, RUNS = 20000, ITEMS = 4 * RUNS };
    struct model *model = dma_model(2, 4, 64, 1);
    struct core_program *program = &model->program;
    struct notification *items = calloc(ITEMS, sizeof *items);
    struct device_files files = {0};
    struct error err;
    for (uint32_t i = 0; i < RUNS; i++) {
        uint64_t time = 28 * (uint64_t)i;
        items[4 * i] = traced(ENGINE_SYNC, PHASE_START, time, 0);
        items[4 * i + 1] = traced(ENGINE_SYNC, PHASE_END, time + 14, 0);
        items[4 * i].detail = items[4 * i + 1].detail = i;
        for (unsigned end = 0; end < 2; end++)
            items[4 * i + 2 + end] = (struct notification){.type = NOTIFICATION_TRACE_DMA,
                                                           .phase = end ? PHASE_END : PHASE_START,
                                                           .time = time + 14 + 7 * end,
                                                           .id = i,
                                                           .value = end ? 0 : i};
    }
    device_encode(&files, scratch_of(state), program);
    struct ntff_writer *writer = device_write(&files, 2);
    device_write_execution(writer, 1, items, ITEMS, 0, 28 * RUNS);
    device_write_end(writer);
    struct device_profile *profile = device_joined(&files);

    clock_t start = clock();
    struct dma_descriptor *descriptors = calloc(MANY, sizeof *descriptors);
    struct dma_block *blocks = calloc(MANY, sizeof *blocks);
    for (uint32_t i = 0; i < MANY; i++) {
        descriptors[i] = model->descriptors[0];
        blocks[i] = model->blocks[0];
        blocks[i].count = MANY;
    }
    program->descriptors = descriptors;
    program->blocks = blocks;
    program->descriptor_count = program->block_count = MANY;
    assert_true(program_check(program, &err)); /* they may */
    profile->program = program;
    for (unsigned e = 0; e <= ENGINE_COUNT; e++) {
        if (e < ENGINE_COUNT)
            mem_free(profile->facts[e]);
        mem_free(profile->accesses[e]);
    }
    mem_free(profile->descriptors);
    device_find_facts(profile);
    device_find_accesses(profile);
    assert_int_equal(profile->block_facts[MANY - 1].bytes, UINT64_C(256) * MANY);
    struct device_cores cores = {0};
    struct pool *pool = pool_create(1);
    device_cores_add(&cores, profile, "by hand", files.ntff);
    device_cores_read(&cores, pool);
    assert_int_equal(cores.items[0].executions[0].transfers.count, RUNS);
    assert_int_equal(cores.items[0].executions[0].blocks.count, RUNS);
    assert_true(clock() - start < 5 * CLOCKS_PER_SEC); /* each with each: 2.5 milliards */
    pool_destroy(pool);
    device_cores_free(&cores);
    mem_free(files.neff);
    free(descriptors);
    free(blocks);
    free(items);
    model_free(model);
}

static void executions_out_of_proportion_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    struct core_program program = {.code_count = {1000000}, .descriptor_count = 1000000};
    struct device_profile profile = {.program = &program, .span_count = 2000};
    assert_true(device_check_size(&profile, &err)); /* nothing was notified, but it is little */
    profile.span_count = 100000;
    assert_false(device_check_size(&profile, &err));
    assert_non_null(strstr(err.text, "100000 executions of a program of 2000000 instructions"));
    profile.notifications = UINT64_C(2) * 2000000 * 100000; /* all of them ran */
    assert_true(device_check_size(&profile, &err));
}

static void executions_follow_each_other_and_one_may_be_cut_off(void **state)
{
    struct model *model = model_new(2);
    struct device_files files = {0};
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 16, 0, 64);
    const struct notification items[] = {traced(ENGINE_VECTOR, PHASE_START, 5600, 0),
                                         traced(ENGINE_VECTOR, PHASE_END, 11200, 0)};
    device_encode(&files, scratch_of(state), &model->program);
    struct ntff_writer *writer = device_write(&files, 2);
    device_write_execution(writer, 3, items, 2, 100000, 100000 + 16800);
    device_write_execution(writer, 4, items, 2, 100000 + 56000, 100000 + 84000);
    ntff_begin(writer, 5);
    ntff_push(writer, items, 1);
    device_write_end(writer);
    struct device_model device = {.files = files, .profile = device_joined(&files)};
    assert_int_equal(device_execution_count(device.profile), 3);
    assert_int_equal(device.profile->notifications, 5);
    static const int64_t starts[] = {0, 10000000, 15000000};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(device.profile->spans[i].index, 3 + i);
        assert_int_equal(device.profile->spans[i].start_ps, starts[i]);
        device_model_read(&device, i);
        assert_int_equal(device.execution.has_info, i < 2);
        assert_int_equal(device.execution.instructions[ENGINE_VECTOR].count, i < 2);
        if (i < 2)
            assert_int_equal(device.execution.instructions[ENGINE_VECTOR].items[0].start_ps,
                             starts[i] + 1000000);
        assert_int_equal(device.execution.unpaired, i == 2);
    }
    device_model_free(&device);
    model_free(model);
}

/* The file of a session: each NEFF has its own executions of it. */
static void executions_of_other_neffs_are_apart(void **state)
{
    struct model *model = model_new(2);
    struct device_files files[2] = {0};
    const struct notification items[] = {traced(ENGINE_VECTOR, PHASE_START, 28, 0),
                                         traced(ENGINE_VECTOR, PHASE_END, 56, 0)};
    struct ntff_neff other = {.name = "other"};
    struct error err;
    for (unsigned i = 0; i < 2; i++) {
        copy(model, ENGINE_VECTOR, DTYPE_FP32, 16, 0, 64);
        device_encode(&files[i], scratch_of(state), &model->program);
    }
    struct neff *neff = neff_parse(files[1].neff, files[1].neff_size, "other", &err);
    memcpy(other.uuid, neff_info(neff)->header.uuid, sizeof other.uuid);
    neff_close(neff);
    struct ntff_writer *writer = device_write(&files[0], 2);
    device_write_execution(writer, 1, items, 2, 100, 200);
    ntff_use_neff(writer, &other);
    device_write_execution(writer, 2, items, 2, 300, 400);
    device_write_execution(writer, 3, items, 2, 500, 600);
    device_write_end(writer);
    for (unsigned i = 0; i < 2; i++) {
        struct device_model device = {.files = files[i], .profile = device_joined(&files[i])};
        assert_int_equal(device_execution_count(device.profile), 1 + i);
        assert_int_equal(device.profile->other_executions, 2 - i);
        assert_int_equal(device.profile->notifications, 2 + 2 * i);
        assert_string_equal(device_neff(device.profile)->name, i ? "other" : "by hand");
        for (uint32_t n = 0; n <= i; n++) {
            device_model_read(&device, n);
            assert_int_equal(device.execution.info.index, 1 + i + n);
            assert_int_equal(device.execution.instructions[ENGINE_VECTOR].count, 1);
        }
        device_model_free(&device);
    }
    model_free(model);
}

static void files_that_do_not_belong_together_are_refused(void **state)
{
    struct model *model = model_new(2);
    struct device_files files = {0}, other = {0};
    struct error err;
    char path[300];
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 16, 0, 64);
    device_encode(&files, scratch_of(state), &model->program);
    device_write_end(device_write(&files, 2));
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 16, 0, 64);
    device_encode(&other, scratch_of(state), &model->program);
    snprintf(path, sizeof path, "%s/other.neff", scratch_of(state)->path);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(other.neff, 1, other.neff_size, file), other.neff_size);
    fclose(file);
    assert_null(device_open(path, files.ntff, &err));
    assert_non_null(strstr(err.text, "another NEFF: of 'by hand', uuid "));
    assert_string_equal(err.file, files.ntff);
    assert_null(device_open(files.ntff, files.ntff, &err));
    assert_null(device_open(path, path, &err));
    mem_free(files.neff);
    mem_free(other.neff);
    model_free(model);
}

/* The first end of the same instruction and iteration that comes after a start, by search. */
static void assert_same_as_search(const struct device_execution *execution,
                                  const struct outcome *outcome)
{
    size_t starts = 0;
    for (size_t i = 0; i < outcome->count; i++) {
        const struct notification *n = &outcome->items[i];
        if (n->type != NOTIFICATION_TRACE || n->phase != PHASE_START)
            continue;
        const struct notification *end = n + 1;
        while (end->type != n->type || end->phase != PHASE_END || end->unit != n->unit ||
               end->id != n->id || end->detail != n->detail)
            assert_true(++end < outcome->items + outcome->count);
        size_t found = 0;
        for (size_t k = 0; k < execution->instructions[n->unit].count; k++) {
            const struct device_instruction *at = &execution->instructions[n->unit].items[k];
            found += at->pc == n->id && at->iteration == n->detail &&
                     at->start_ps == (int64_t)(n->time * 1000000 / 4800) &&
                     at->end_ps == (int64_t)(end->time * 1000000 / 4800);
        }
        assert_int_equal(found, 1);
        starts++;
    }
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        starts -= execution->instructions[e].count;
    assert_int_equal(starts, 0);
}

/* Each block's semaphore is due 700 ns after its last transfer. */
static void assert_updates_follow_blocks(const struct device_model *device)
{
    const struct device_execution *execution = &device->execution;
    const struct core_program *program = device->profile->program;
    size_t of_blocks = 0;
    for (size_t i = 0; i < execution->updates.count; i++) {
        const struct device_update *update = &execution->updates.items[i];
        if (update->instruction != NO_INDEX) {
            const struct device_instruction *at =
                &execution->instructions[update->engine].items[update->instruction];
            const struct instruction *code = &program->code[update->engine][at->pc];
            if (code->opcode != OP_SEMAPHORE_RANGE_CLEAR && code->update_time == UPDATE_AT_COMPLETE)
                assert_int_equal(update->time_ps, at->end_ps);
            assert_true(update->time_ps >= at->start_ps && update->time_ps <= at->end_ps);
            continue;
        }
        assert_int_not_equal(update->block, NO_INDEX);
        const struct device_block *block = &execution->blocks.items[update->block];
        assert_int_equal(update->semaphore, program->blocks[block->block].semaphore);
        assert_in_range((uint64_t)(update->time_ps - block->end_ps), 699900, 700100);
        of_blocks++;
    }
    assert_int_equal(of_blocks, execution->blocks.count);
}

static void assert_transfers_are_in_their_blocks(const struct device_model *device)
{
    const struct device_execution *execution = &device->execution;
    size_t count = execution->blocks.count;
    uint32_t *seen = calloc(count + 1, sizeof *seen);
    for (size_t i = 0; i < execution->transfers.count; i++) {
        const struct device_transfer *at = &execution->transfers.items[i];
        const struct device_block *run = &execution->blocks.items[at->run];
        const struct dma_block *block = &device->profile->program->blocks[run->block];
        assert_true(at->start_ps >= run->start_ps && at->end_ps <= run->end_ps);
        assert_true(at->descriptor >= block->first && at->descriptor < block->first + block->count);
        assert_int_equal(seen[at->run] >> (at->descriptor - block->first) & 1, 0);
        seen[at->run] |= 1u << (at->descriptor - block->first);
    }
    for (size_t i = 0; i < count; i++) {
        const struct device_block *run = &execution->blocks.items[i];
        uint32_t expected = device->profile->program->blocks[run->block].count;
        assert_int_equal(seen[i], (1u << expected) - 1);
        assert_int_equal(run->transfers, expected);
        assert_int_not_equal(run->trigger, NO_INDEX);
    }
    free(seen);
}

/* A loop whose body triggers blocks faster than they are done: several runs of a block are on their
 * way at once, on a queue with fewer rings than DMA engines, and overtake each other. */
static struct model *overtaking_model(void)
{
    struct model *model = model_new(3);
    model->program.queue_count = 2;
    model->queues[0].rings = 4;
    model->queues[1] = (struct dma_queue){.name = "qActData0", .engine = ENGINE_SCALAR, .rings = 2};
    for (unsigned b = 0; b < 4; b++) {
        enum engine engine = b < 2 ? ENGINE_SYNC : ENGINE_SCALAR;
        uint32_t bytes = b % 2 ? 64 : 16384;
        uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_UINT8, 8 * (uint64_t)bytes);
        struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_UINT8, 8, bytes);
        from.variable = in;
        model_dma(model, engine, from, dma_rows(MEMORY_SBUF, DTYPE_UINT8, 8, bytes),
                  (uint16_t)(10 + b));
        model->blocks[b].queue = b / 2;
        if (b == 0) {
            struct dma_end part = from;
            part.size[0] = 1;
            model->descriptors[model->program.descriptor_count] =
                (struct dma_descriptor){.from = part, .to = model->descriptors[0].to};
            model->descriptors[model->program.descriptor_count++].to.size[0] = 1;
            model->blocks[0].count = 2;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        enum engine engine = i ? ENGINE_SCALAR : ENGINE_SYNC;
        struct instruction *count = model_add(model, engine, OP_REGISTER_ALU);
        count->alu = ALU_ADD;
        count->immediate_int[0] = 1;
        struct instruction *again = model_add(model, engine, OP_COMPARE_BRANCH);
        again->alu = ALU_LESS;
        again->immediate_int[0] = 25;
        then_add(again, (uint16_t)(3 + i), 1);
        again->update_time = UPDATE_AT_READ;
    }
    return model;
}

static void runs_of_a_block_are_told_apart(void **state)
{
    struct model *model = overtaking_model();
    struct outcome outcome;
    struct device_model device;
    simulate(&device, model, &outcome, scratch_of(state));
    assert_int_equal(device.execution.blocks.count, 100);
    assert_int_equal(device.execution.transfers.count, 125);
    assert_int_equal(device.execution.unpaired, 0);
    assert_same_as_search(&device.execution, &outcome);
    assert_transfers_are_in_their_blocks(&device);
    assert_updates_follow_blocks(&device);
    size_t overtaken = 0;
    for (size_t i = 0; i < device.execution.blocks.count; i++)
        for (size_t k = i + 1; k < device.execution.blocks.count; k++) {
            const struct device_block *a = &device.execution.blocks.items[i],
                                      *b = &device.execution.blocks.items[k];
            overtaken += a->block == b->block && a->trigger > b->trigger;
        }
    assert_true(overtaken > 0); /* else this tests nothing */
    device_model_free(&device);
    outcome_free(&outcome);
    model_free(model);
}

static void collectives_have_steps_and_triggers(void **state)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    struct device_model device;
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_FP32, 1024);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, 1024);
    static const uint32_t alone = 0;
    model->program.collective_count = 1;
    model->collectives[0] = (struct collective){.kind = COLLECTIVE_ALL_REDUCE,
                                                .dtype = DTYPE_FP32,
                                                .alu = ALU_ADD,
                                                .semaphore = 4,
                                                .increment = 2,
                                                .input = in,
                                                .output = out,
                                                .input_bytes = 4096,
                                                .output_bytes = 4096,
                                                .group_size = 1,
                                                .group_count = 1,
                                                .members = &alone};
    model_add(model, ENGINE_GPSIMD, OP_TRIGGER_COLLECTIVE);
    wait_for(model_add(model, ENGINE_GPSIMD, OP_TRIGGER_COLLECTIVE), 4, 2);
    simulate(&device, model, &outcome, scratch_of(state));
    const struct device_execution *execution = &device.execution;
    assert_int_equal(execution->collectives.count, 2);
    assert_int_equal(execution->cc_steps.count, 6);
    assert_int_equal(execution->unpaired, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct device_collective *run = &execution->collectives.items[i];
        assert_int_equal(run->trigger_engine, ENGINE_GPSIMD);
        assert_int_equal(run->trigger, i);
        assert_int_equal(run->trigger_ps, execution->instructions[ENGINE_GPSIMD].items[i].start_ps);
        assert_int_equal(run->end_ps - run->start_ps, 12000000); /* 10 us, and a step of 2 us */
        for (uint32_t k = 0; k < 3; k++) {
            const struct device_cc_step *step = &execution->cc_steps.items[3 * i + k];
            assert_int_equal(step->collective, i);
            assert_int_equal(step->step, k);
            assert_true(step->start_ps >= run->start_ps && step->end_ps <= run->end_ps);
        }
    }
    assert_int_equal(execution->updates.count, 2);
    assert_int_equal(execution->updates.items[1].collective, 1);
    assert_int_equal(execution->updates.items[1].value, 4);
    device_model_free(&device);
    outcome_free(&outcome);
    model_free(model);
}

static void throttling_lasts_until_the_next_notification(void **state)
{
    struct model *model = model_new(2);
    load_weights(model, DTYPE_BF16);
    const struct notification items[] = {
        {.type = NOTIFICATION_NOTIFY, .time = 0, .id = 0},
        {.type = NOTIFICATION_THROTTLE, .time = 5600, .id = 0, .value = 512},
        {.type = NOTIFICATION_THROTTLE, .time = 11200, .id = 1, .value = 1024},
        {.type = NOTIFICATION_THROTTLE, .time = 16800, .id = 1, .value = 256},
        {.type = NOTIFICATION_ERROR, .time = 20000, .id = ERROR_NAN, .value = 3, .detail = 1},
        {.type = NOTIFICATION_NOTIFY, .time = 28000, .id = 1},
    };
    struct device_model device;
    device_model_make(&device, scratch_of(state), &model->program, items, COUNT_OF(items));
    const struct device_throttle *found = device.execution.throttles.items;
    assert_int_equal(device.execution.throttles.count, 2);
    assert_int_equal(found[0].start_ps, 1000000);
    assert_int_equal(found[0].end_ps, 2000000);
    assert_int_equal(found[0].rate, 512);
    assert_int_equal(found[1].kind, THROTTLE_ACTIVITY_1);
    assert_int_equal(found[1].end_ps, 5000000);
    assert_int_equal(device.execution.end_ps, 5000000);
    assert_int_equal(device.execution.errors.count, 1);
    assert_int_equal(device.execution.errors.items[0].at, 3);
    device_model_free(&device);
    model_free(model);
}

/* Fields are often right, so that much of it pairs by chance. */
static struct notification any_notification(struct rng *rng)
{
    struct notification item = {
        .time = rng_below(rng, 8) ? rng_below(rng, 100000) : rng_any_width(rng),
        .id = rng_below(rng, 8) ? (uint32_t)rng_below(rng, 7) : (uint32_t)rng_any_width(rng),
        .value = rng_below(rng, 8) ? (uint32_t)rng_below(rng, 5) : (uint32_t)rng_any_width(rng),
        .detail = rng_below(rng, 8) ? (uint32_t)rng_below(rng, 3) : (uint32_t)rng_any_width(rng),
        .phase = (uint8_t)rng_below(rng, 3),
        .unit = (uint8_t)rng_below(rng, 5)};
    static const uint8_t types[] = {
        NOTIFICATION_TRACE,      NOTIFICATION_TRACE, NOTIFICATION_TRACE_DMA, NOTIFICATION_TRACE_DMA,
        NOTIFICATION_COLLECTIVE, NOTIFICATION_EVENT, NOTIFICATION_ERROR};
    item.type = types[rng_below(rng, COUNT_OF(types))];
    return item;
}

static void nothing_is_lost_whatever_the_notifications(void **state)
{
    struct model *model = overtaking_model();
    struct rng rng = {.state = 5};
    for (unsigned round = 0; round < 300; round++) {
        struct notification items[400];
        struct device_model device;
        size_t count = 1 + rng_below(&rng, COUNT_OF(items)), found = 0, transfers = 0;
        for (size_t i = 0; i < count; i++)
            items[i] = any_notification(&rng);
        device_model_make(&device, scratch_of(state), &model->program, items, count);
        const struct device_execution *execution = &device.execution;
        for (unsigned e = 0; e < ENGINE_COUNT; e++) {
            found += 2 * execution->instructions[e].count;
            for (size_t i = 1; i < execution->instructions[e].count; i++)
                assert_true(execution->instructions[e].items[i - 1].start_ps <=
                            execution->instructions[e].items[i].start_ps);
        }
        for (size_t i = 0; i < execution->blocks.count; i++) {
            transfers += execution->blocks.items[i].transfers;
            assert_true(execution->blocks.items[i].start_ps <= execution->blocks.items[i].end_ps);
        }
        assert_int_equal(transfers, execution->transfers.count);
        found += 2 * transfers + execution->updates.count + execution->errors.count;
        for (size_t i = 0; i < execution->cc_steps.count; i++)
            found += execution->cc_steps.items[i].step == STEP_TPB_TRIGGER ? 1 : 2;
        assert_int_equal(found + execution->unpaired, count);
        assert_int_equal(execution->notifications, count);
        device_model_free(&device);
    }
    model_free(model);
}

static void facts_are_those_of_the_operands(void **state)
{
    struct model *model = dma_model(3, 4, 64, 2);
    struct device_model device;
    load_weights(model, DTYPE_FP8_E4);
    matmul(model, DTYPE_FP8_E4, 512);
    load_weights(model, DTYPE_FP32);
    struct instruction *wide = matmul(model, DTYPE_BF16, 256);
    wide->flags = FLAG_ACCUMULATE;
    wait_for(wide, 5, 2);
    then_add(wide, 7, 1);
    struct instruction *transpose = model_add(model, ENGINE_TENSOR, OP_TRANSPOSE);
    transpose->src[0] = on_chip(MEMORY_SBUF, DTYPE_BF16, 0, 64, 0, 32);
    transpose->dst = on_chip(MEMORY_PSUM, DTYPE_BF16, 0, 32, 0, 64);
    device_model_make(&device, scratch_of(state), &model->program, NULL, 0);
    const struct instruction_facts *facts = device.profile->facts[ENGINE_TENSOR];
    assert_int_equal(facts[0].flops, 0);
    assert_int_equal(facts[0].sbuf_read, 128 * 128);
    assert_int_equal(facts[0].elements, 128);
    assert_int_equal(facts[1].flops, 2 * 128 * 128 * 512);
    assert_int_equal(facts[1].adjusted_flops, 128 * 128 * 512);
    assert_int_equal(facts[1].psum_write, 128 * 512 * 4);
    assert_int_equal(facts[3].flops, 2 * 128 * 128 * 256);
    assert_int_equal(facts[3].adjusted_flops, 4 * facts[3].flops);
    assert_true(facts[3].is_matmul && !facts[3].is_transpose && !facts[3].is_overhead);
    assert_int_equal(facts[4].flops, 2 * 64 * 64 * 32);
    assert_true(facts[4].is_matmul && facts[4].is_transpose);
    assert_true(device.profile->facts[ENGINE_SYNC][0].is_overhead);
    const struct descriptor_facts *moved = &device.profile->descriptors[1];
    assert_int_equal(moved->bytes, 256);
    assert_int_equal(moved->hbm_read, 256);
    assert_int_equal(moved->sbuf_write, 256);
    assert_int_equal(moved->hbm_write, 0);
    assert_int_equal(moved->variable, 0);
    assert_int_equal(moved->queue_type, DMA_TYPE_INPUT);
    char text[256], little[12];
    device_operands(device.profile->program, ENGINE_TENSOR, 3, text, sizeof text);
    assert_string_equal(text, "S[5]>=2 S[7]++@complete acc=1 src=bf16@SBUF[0..127]+0x0[1][256] "
                              "dst=fp32@PSUM[0..127]+0x0[1][256] 128*128");
    assert_int_equal(
        device_operands(device.profile->program, ENGINE_TENSOR, 3, little, sizeof little), 11);
    assert_string_equal(little, "S[5]>=2 S[7");
    device_operands(device.profile->program, ENGINE_SYNC, 0, text, sizeof text);
    assert_string_equal(text, "id=0 queue=qSyncIO0 descriptors=2 S[1]+=1@done");
    device_model_free(&device);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(starts_and_ends_become_instructions),
        SCRATCH_TEST(what_makes_no_sense_is_left_out_and_counted),
        SCRATCH_TEST(runs_are_not_joined_across_what_is_damaged),
        SCRATCH_TEST(blocks_that_share_their_descriptors_take_linear_time),
        cmocka_unit_test(executions_out_of_proportion_are_refused),
        SCRATCH_TEST(executions_follow_each_other_and_one_may_be_cut_off),
        SCRATCH_TEST(executions_of_other_neffs_are_apart),
        SCRATCH_TEST(files_that_do_not_belong_together_are_refused),
        SCRATCH_TEST(runs_of_a_block_are_told_apart),
        SCRATCH_TEST(collectives_have_steps_and_triggers),
        SCRATCH_TEST(throttling_lasts_until_the_next_notification),
        SCRATCH_TEST(nothing_is_lost_whatever_the_notifications),
        SCRATCH_TEST(facts_are_those_of_the_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
