/*
 * Tables of what happens in executions of devices. Executions are independent: a task fills all
 * tables from one, or from a few small ones, which are one row group of each table.
 */
#include "store/tables/device_tables.h"

enum { TASK_NOTIFICATIONS = 65536, TASK_GROUPS = 1 << 16 };

static const struct {
    enum table_number table;
    device_put *put;
} tables[] = {
    {TABLE_INSTRUCTION, put_instructions},
    {TABLE_PACKET, put_packets},
    {TABLE_TRANSFER, put_transfers},
    {TABLE_UPDATE, put_updates},
    {TABLE_FLOWS, put_dependencies},
    {TABLE_CRITICAL_PATH, put_critical_path},
    {TABLE_SBUF_ALLOCATION, put_allocations},
    {TABLE_ACTIVE, put_active_times},
    {TABLE_CC_OP, put_collectives},
    {TABLE_CC_INSTRUCTION, put_cc_steps},
    {TABLE_BARRIER, put_barriers},
    {TABLE_DEVICE_ERROR, put_errors},
    {TABLE_THROTTLE, put_throttles},
    {TABLE_EXECUTION, put_execution},
    {TABLE_SCRATCHPAD_USAGE, put_scratchpad_usage},
    {TABLE_SCRATCHPAD_ALLOCATION, put_scratchpad_allocations},
    {TABLE_DEVICE_WARNING, put_device_warnings},
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Executions of a core. */
struct span {
    uint32_t core, first, count;
};

/* What a worker keeps from task to task. */
struct worker {
    struct parquet_encoder *encoder;
    struct device_tracker *tracker;
    struct filler fillers[TABLES];
};

struct execution_tables {
    struct profile_maker *maker;
    ARRAY(struct span) tasks;
    struct worker *workers;
};

struct execution_tables *execution_tables_begin(struct profile_maker *maker)
{
    struct execution_tables *made = mem_zeroed(1, sizeof *made);
    made->maker = maker;
    made->workers = mem_zeroed(pool_workers(maker->pool), sizeof *made->workers);
    for (uint32_t core = 0; maker->devices && core < maker->devices->count; core++) {
        const struct device_core *from = &maker->devices->items[core];
        uint64_t together = TASK_NOTIFICATIONS;
        for (uint32_t i = 0; i < from->execution_count; i++) {
            if (together >= TASK_NOTIFICATIONS) {
                *array_push(&made->tasks) = (struct span){core, i, 0};
                together = 0;
            }
            made->tasks.items[made->tasks.count - 1].count++;
            together += from->executions[i].notifications;
        }
    }
    return made;
}

size_t execution_tables_tasks(const struct execution_tables *made)
{
    return made->tasks.count;
}

void execution_tables_free(struct execution_tables *made)
{
    for (unsigned i = 0; i < pool_workers(made->maker->pool); i++) {
        struct worker *worker = &made->workers[i];
        for (size_t k = 0; worker->encoder && k < TABLES; k++)
            fill_free(&worker->fillers[k]);
        parquet_encoder_free(worker->encoder);
        device_tracker_free(worker->tracker);
    }
    mem_free(made->workers);
    array_free(&made->tasks);
    mem_free(made);
}

static int64_t *instruction_ids(const struct device_at *at, enum engine engine)
{
    size_t count = at->execution->instructions[engine].count;
    const struct instruction_facts *facts = at->core->profile->facts[engine];
    int64_t *ids = mem_alloc(count * sizeof *ids);
    int64_t plain = device_first_id(at, device_lane_of(at->core, DEVICE_LANE_ENGINE, engine, 0));
    int64_t matrix = device_first_id(at, device_lane_of(at->core, DEVICE_LANE_MATRIX, 0, 0));
    for (size_t i = 0; i < count; i++) {
        mem_touched(sizeof *ids + sizeof(struct device_instruction));
        ids[i] =
            facts[at->execution->instructions[engine].items[i].pc].is_matmul ? matrix++ : plain++;
    }
    return ids;
}

/* Ids of a list whose items of one lane stand together. */
static int64_t *block_ids(const struct device_at *at)
{
    size_t count = at->execution->blocks.count;
    int64_t *ids = mem_alloc(count * sizeof *ids), next = 0;
    uint32_t queue = NO_INDEX;
    for (size_t i = 0; i < count; i++) {
        uint32_t own = at->program->blocks[at->execution->blocks.items[i].block].queue;
        if (own != queue)
            next = device_first_id(at, device_lane_of(at->core, DEVICE_LANE_QUEUE, own, 0));
        queue = own;
        ids[i] = next++;
    }
    return ids;
}

static int64_t *collective_ids(const struct device_at *at)
{
    size_t count = at->execution->collectives.count;
    int64_t *ids = mem_alloc(count * sizeof *ids), next = 0;
    uint32_t unit = NO_INDEX;
    for (size_t i = 0; i < count; i++) {
        uint32_t own = at->execution->collectives.items[i].cc_core;
        if (own != unit)
            next = device_first_id(at, device_lane_of(at->core, DEVICE_LANE_COLLECTIVES, own, 0));
        unit = own;
        ids[i] = next++;
    }
    return ids;
}

static struct device_item_ids make_ids(const struct device_at *at)
{
    struct device_item_ids ids = {.blocks = block_ids(at), .collectives = collective_ids(at)};
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        ids.instructions[e] = instruction_ids(at, (enum engine)e);
    return ids;
}

static void free_ids(struct device_item_ids *ids)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(ids->instructions[e]);
    mem_free(ids->blocks);
    mem_free(ids->collectives);
}

/* All rows of an execution. */
static void put_all(struct worker *worker, struct device_at *at)
{
    struct device_dependencies dependencies;
    struct device_path path = {0};
    at->execution = &at->core->executions[at->number];
    at->ids = make_ids(at);
    device_dependencies_find(&dependencies, at->core->profile, at->execution);
    device_critical_path(&dependencies, &path);
    at->dependencies = &dependencies;
    at->path = &path;
    at->tracker = worker->tracker;
    for (size_t i = 0; i < TABLES; i++)
        tables[i].put(&worker->fillers[i], at);
    device_path_free(&path);
    device_dependencies_free(&dependencies);
    free_ids(&at->ids);
}

/* Runs on any thread; a worker's encoder and fillers are made on first use and kept. Group
 * numbers come from the task, so files do not depend on threads. */
bool execution_tables_make(struct execution_tables *made, size_t index, unsigned number,
                           struct error *err)
{
    const struct span *span = &made->tasks.items[index];
    struct worker *worker = &made->workers[number];
    if (!worker->encoder) {
        worker->encoder = parquet_encoder_create(&made->maker->analysis->catalog->strings);
        worker->tracker = device_tracker_create();
        for (size_t i = 0; i < TABLES; i++)
            worker->fillers[i] = fill_with(made->maker, tables[i].table, worker->encoder);
    }
    for (size_t i = 0; i < TABLES; i++) {
        worker->fillers[i].groups = (uint64_t)index * TASK_GROUPS;
        worker->fillers[i].err = err;
    }
    struct device_at at = device_at_core(made->maker, span->core);
    for (at.number = span->first; at.number < span->first + span->count; at.number++) {
        const struct device_execution *execution = &at.core->executions[at.number];
        at.is_alike = at.number > span->first && device_executions_alike(execution - 1, execution);
        put_all(worker, &at);
    }
    bool ok = true;
    for (size_t i = 0; i < TABLES; i++)
        ok = fill_group(&worker->fillers[i]) && ok;
    return ok;
}
