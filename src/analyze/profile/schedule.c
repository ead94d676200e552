/*
 * Analysis pass: operations of kernels in CUDA graphs. XLA labels those with the graph alone, and
 * names a kernel after the first of all operations that it serves: equal fusions share one kernel,
 * and kernels of libraries have names of their own. A graph executes a stretch of a computation's
 * schedule, so the kernels of a launch are laid beside the schedule: where exactly one stretch fits
 * all of them, each kernel has its operation; otherwise their names alone tell.
 */
#include "analyze/profile/analysis_passes.h"

/* What an operation leaves on a stream. */
enum trace_left {
    LEAVES_NOTHING,
    LEAVES_KERNEL,  /* generated for it, or for one that is equal */
    LEAVES_LIBRARY, /* any number of kernels with names of their own */
    LEAVES_EITHER,  /* one of the two: a fusion for Triton or for cuDNN */
    LEAVES_COPY,
};

/* What is on the stream. */
enum node_kind { NODE_NAMED, NODE_LIBRARY, NODE_COPY };
struct node {
    enum node_kind kind;
    uint32_t operation; /* that it is named after */
};

struct slot {
    uint32_t operation;
    uint8_t leaves;  /* enum trace_left */
    bool ends_block; /* the last of its computation */
};

/* The operations of a program that leave something, computation by computation, as scheduled. */
struct schedule {
    bool is_made;
    ARRAY(struct slot) slots;
};

/* Bounds the cost of a crafted file: pairs of a node and a slot that are looked at. */
enum { MAX_COMPARISONS = 1 << 26, MAX_KNOWN = 4096 };

struct known_launch {
    uint64_t hash; /* of label and types */
    size_t first;  /* in `labels`; SIZE_MAX if the launch fits nowhere */
};

struct ordering {
    struct analysis *analysis;
    struct schedule *schedules; /* by program */
    struct idmap launches;      /* hash -> index in known */
    ARRAY(struct known_launch) known;
    ARRAY(uint32_t) labels; /* of the events of known launches: index plus one, 0 for the old one */
    struct idmap new_labels;
    uint64_t comparisons;
    /* Of the launch at hand: */
    ARRAY(uint64_t) events;
    ARRAY(struct node) nodes;
    ARRAY(uint32_t) found, candidate; /* by node: operation, NO_INDEX if it is not certain */
    struct idmap named;               /* operations that nodes are named after */
    struct idmap served;              /* operations that their kernels can serve, by likeness */
};

static bool is_one_of(struct text text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(text, text_of(list[i])))
            return true;
    return false;
}
#define ONE_OF_LIST(text, list) is_one_of(text, list, sizeof(list) / sizeof *(list))

/* Opcodes as XLA for GPUs compiles them: asynchronous work is done at its start, so the
 * matching -done operation leaves nothing. */
static enum trace_left left_by(const struct catalog *catalog, const struct operation *operation)
{
    static const char *const nothing[] = {"parameter",
                                          "constant",
                                          "tuple",
                                          "get-tuple-element",
                                          "bitcast",
                                          "after-all",
                                          "opt-barrier",
                                          "add-dependency",
                                          "domain",
                                          "partition-id",
                                          "replica-id",
                                          "copy-done",
                                          "async-done",
                                          "async-update",
                                          "all-reduce-done",
                                          "send-done",
                                          "all-gather-done",
                                          "recv-done",
                                          "collective-permute-done"};
    static const char *const library[] = {"custom-call",
                                          "fft",
                                          "convolution",
                                          "dot",
                                          "cholesky",
                                          "all-reduce",
                                          "all-gather",
                                          "all-to-all",
                                          "reduce-scatter",
                                          "send",
                                          "collective-permute",
                                          "recv",
                                          "all-reduce-start",
                                          "async-start",
                                          "all-gather-start",
                                          "triangular-solve",
                                          "collective-broadcast",
                                          "ragged-all-to-all",
                                          "collective-permute-start"};
    struct text opcode = catalog_text(catalog, operation->opcode);
    if (ONE_OF_LIST(opcode, nothing))
        return LEAVES_NOTHING;
    if (ONE_OF_LIST(opcode, library))
        return LEAVES_LIBRARY;
    if (text_equal(catalog_text(catalog, operation->category), TEXT("custom fusion")))
        return LEAVES_EITHER;
    return text_equal(opcode, TEXT("copy")) || text_equal(opcode, TEXT("copy-start"))
               ? LEAVES_COPY
               : LEAVES_KERNEL;
}

struct scheduled {
    uint32_t computation, position, operation;
};

static bool by_schedule(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct scheduled *m = a, *n = b;
    if (m->computation != n->computation)
        return m->computation < n->computation;
    return m->position < n->position;
}

/* Made on first use, as only programs that run as a graph need one; `ordering` owns it. */
static const struct schedule *schedule_of(struct ordering *ordering, uint32_t number)
{
    const struct catalog *catalog = ordering->analysis->catalog;
    const struct program *program = &catalog->programs.items[number];
    struct schedule *schedule = &ordering->schedules[number];
    if (schedule->is_made)
        return schedule;
    schedule->is_made = true;
    ARRAY(struct scheduled) order = {0};
    for (uint32_t i = 0; i < program->operations.count; i++) {
        const struct operation *operation = &program->operations.items[i];
        if (!operation->is_fused && left_by(catalog, operation) != LEAVES_NOTHING)
            *array_push(&order) =
                (struct scheduled){operation->computation, operation->schedule_index, i};
    }
    sort_items(order.items, order.count, sizeof *order.items, by_schedule, NULL);
    for (size_t i = 0; i < order.count; i++) {
        const struct scheduled *at = &order.items[i];
        *array_push(&schedule->slots) = (struct slot){
            .operation = at->operation,
            .leaves = (uint8_t)left_by(catalog, &program->operations.items[at->operation]),
            .ends_block = i + 1 == order.count || at[1].computation != at->computation};
    }
    array_free(&order);
    return schedule;
}

/* Operations of equal likeness can share a kernel. */
static uint64_t likeness(const struct program *program, uint32_t operation)
{
    const struct operation *at = &program->operations.items[operation];
    uint32_t identity[4] = {at->opcode, at->shape, at->category, at->compute_type};
    return hash_bytes(identity, sizeof identity);
}

static bool has_own_kernel(const struct ordering *ordering, uint32_t operation)
{
    return idmap_get(&ordering->named, operation) != IDMAP_NONE;
}

/* Whether a slot stands for kernels with names of their own. */
static bool is_library(const struct ordering *ordering, const struct program *program,
                       const struct slot *slot)
{
    if (slot->leaves == LEAVES_LIBRARY)
        return !has_own_kernel(ordering, slot->operation);
    return slot->leaves == LEAVES_EITHER &&
           idmap_get(&ordering->served, likeness(program, slot->operation)) == IDMAP_NONE;
}

/* Whether a node may come from a slot. */
static bool fits(const struct ordering *ordering, const struct program *program,
                 const struct node *node, const struct slot *slot)
{
    switch (node->kind) {
    case NODE_NAMED:
        if (node->operation == slot->operation)
            return true;
        return slot->leaves != LEAVES_COPY && !has_own_kernel(ordering, slot->operation) &&
               likeness(program, node->operation) == likeness(program, slot->operation);
    case NODE_LIBRARY:
        return is_library(ordering, program, slot);
    case NODE_COPY:
        return slot->leaves == LEAVES_COPY;
    }
    return false;
}

/* A run of libraries' kernels, copies among them, beside the operations that call libraries. Where
 * there are several and not one kernel for each, it is not certain which is whose. */
static size_t take_library(struct ordering *ordering, const struct program *program,
                           const struct schedule *schedule, size_t node, size_t *slot)
{
    size_t end = node, kernels = 0, calls = 0, last = node;
    for (; end < ordering->nodes.count && ordering->nodes.items[end].kind != NODE_NAMED; end++)
        if (ordering->nodes.items[end].kind == NODE_LIBRARY) {
            kernels++;
            last = end;
        }
    size_t at = *slot;
    while (at < schedule->slots.count &&
           is_library(ordering, program, &schedule->slots.items[at])) {
        calls++;
        if (schedule->slots.items[at++].ends_block)
            break;
    }
    for (size_t i = node, seen = 0; i <= last; i++) {
        bool is_kernel = ordering->nodes.items[i].kind == NODE_LIBRARY;
        if (is_kernel && (calls == 1 || calls == kernels))
            ordering->candidate.items[i] =
                schedule->slots.items[*slot + (calls == 1 ? 0 : seen)].operation;
        seen += is_kernel;
    }
    *slot = at;
    return last + 1;
}

/* Lays the nodes of the launch beside the schedule from a slot on. */
static bool lay(struct ordering *ordering, const struct program *program,
                const struct schedule *schedule, size_t slot)
{
    size_t node = 0;
    bool is_over = false; /* the computation ends */
    for (size_t i = 0; i < ordering->nodes.count; i++)
        ordering->candidate.items[i] = NO_INDEX;
    while (node < ordering->nodes.count) {
        const struct node *at = &ordering->nodes.items[node];
        const struct slot *here = &schedule->slots.items[slot];
        if (++ordering->comparisons > MAX_COMPARISONS || (is_over && at->kind != NODE_COPY))
            return false;
        if (!is_over && fits(ordering, program, at, here)) {
            if (at->kind == NODE_LIBRARY) {
                node = take_library(ordering, program, schedule, node, &slot);
                is_over = schedule->slots.items[slot - 1].ends_block;
                continue;
            }
            ordering->candidate.items[node++] = here->operation;
        } else if (at->kind == NODE_COPY) {
            node++; /* of an operation that has a kernel, too */
            continue;
        } else if (here->leaves != LEAVES_COPY && !is_library(ordering, program, here)) {
            return false;
        } /* else a call that leaves nothing, or a copy on another lane */
        is_over = here->ends_block;
        slot++;
    }
    return true;
}

/* Finds the only stretch of the schedule that the launch fits. */
static bool find_stretch(struct ordering *ordering, const struct program *program,
                         const struct schedule *schedule)
{
    size_t stretches = 0;
    size_t first = 0;
    while (first < ordering->nodes.count && ordering->nodes.items[first].kind == NODE_COPY)
        first++; /* may be of another operation */
    if (first == ordering->nodes.count)
        return false;
    for (size_t slot = 0; slot < schedule->slots.count; slot++) {
        ordering->comparisons++;
        bool can_begin =
            fits(ordering, program, &ordering->nodes.items[0], &schedule->slots.items[slot]) ||
            (first > 0 &&
             fits(ordering, program, &ordering->nodes.items[first], &schedule->slots.items[slot]));
        if (!can_begin || !lay(ordering, program, schedule, slot))
            continue;
        bool is_same =
            stretches > 0 && memcmp(ordering->found.items, ordering->candidate.items,
                                    ordering->nodes.count * sizeof *ordering->found.items) == 0;
        if (stretches > 0 && !is_same)
            return false;
        stretches = 1;
        memcpy(ordering->found.items, ordering->candidate.items,
               ordering->nodes.count * sizeof *ordering->found.items);
    }
    return stretches == 1 && ordering->comparisons <= MAX_COMPARISONS;
}

static struct node node_of(const struct analysis *analysis, const struct program *program,
                           uint32_t type)
{
    uint32_t name = analysis->catalog->types.items[type].name;
    struct text text = catalog_text(analysis->catalog, name);
    uint32_t operation = idmap_get(&program->by_kernel_name, name);
    if (operation != IDMAP_NONE)
        return (struct node){NODE_NAMED, operation};
    bool is_copy = text_starts(text, TEXT("Memcpy")) || text_starts(text, TEXT("Memset"));
    return (struct node){is_copy ? NODE_COPY : NODE_LIBRARY, NO_INDEX};
}

/* The label of an operation that was found; index plus one. */
static uint32_t label_for(struct ordering *ordering, uint32_t old, uint32_t operation)
{
    struct analysis *analysis = ordering->analysis;
    uint64_t key = (uint64_t)old << 32 | operation;
    uint32_t index = idmap_get(&ordering->new_labels, key);
    if (index != IDMAP_NONE)
        return index + 1;
    struct hlo_label label = analysis->labels.items[old];
    const struct program *program = &analysis->catalog->programs.items[label.program];
    label.operation = program->operations.items[operation].name;
    label.found = operation;
    label.is_by_order = true;
    index = (uint32_t)analysis->labels.count;
    *array_push(&analysis->labels) = label;
    idmap_put(&ordering->new_labels, key, index);
    return index + 1;
}

/* Finds the operations of a launch that was not seen before, and remembers them. */
static struct known_launch *learn(struct ordering *ordering, const struct lane_events *events,
                                  uint32_t label, uint64_t hash)
{
    struct analysis *analysis = ordering->analysis;
    uint32_t number = analysis->labels.items[label].program;
    const struct program *program = &analysis->catalog->programs.items[number];
    size_t count = ordering->events.count;
    ordering->nodes.count = 0;
    idmap_free(&ordering->named);
    idmap_free(&ordering->served);
    ordering->named = ordering->served = (struct idmap){0};
    array_reserve(&ordering->found, count);
    array_reserve(&ordering->candidate, count);
    for (size_t i = 0; i < count; i++) {
        struct node *node = array_push(&ordering->nodes);
        *node = node_of(analysis, program, events->type[ordering->events.items[i]]);
        if (node->kind != NODE_NAMED)
            continue;
        idmap_put(&ordering->named, node->operation, 1);
        idmap_put(&ordering->served, likeness(program, node->operation), 1);
    }
    bool fits_one = find_stretch(ordering, program, schedule_of(ordering, number));
    size_t first = ordering->labels.count;
    for (size_t i = 0; fits_one && i < count; i++) {
        uint32_t operation = ordering->found.items[i];
        uint32_t new_label = operation == NO_INDEX ? 0 : label_for(ordering, label, operation);
        *array_push(&ordering->labels) = new_label;
    }
    idmap_put(&ordering->launches, hash, (uint32_t)ordering->known.count);
    struct known_launch *known = array_push(&ordering->known);
    *known = (struct known_launch){hash, fits_one ? first : SIZE_MAX};
    return known;
}

/* Gives the events of a launch the labels of their operations. */
static void finish_launch(struct ordering *ordering, uint32_t track, uint32_t label)
{
    const struct lane_events *events = &ordering->analysis->trace.lanes[track];
    size_t count = ordering->events.count;
    if (count == 0)
        return;
    uint64_t hash = label;
    for (size_t i = 0; i < count; i++) {
        uint64_t pair[2] = {hash, events->type[ordering->events.items[i]]};
        hash = hash_bytes(pair, sizeof pair);
    }
    uint32_t index = idmap_get(&ordering->launches, hash);
    const struct known_launch *known = index != IDMAP_NONE ? &ordering->known.items[index] : NULL;
    if (!known && ordering->known.count < MAX_KNOWN)
        known = learn(ordering, events, label, hash);
    uint32_t *labels = ordering->analysis->lanes[track].label;
    for (size_t i = 0; known && known->first != SIZE_MAX && i < count; i++) {
        uint32_t found = ordering->labels.items[known->first + i];
        if (found)
            labels[ordering->events.items[i]] = found;
    }
    ordering->events.count = 0;
}

/* A label that names no operation of its program, or one that calls the graph's computation. */
static bool is_of_graph(const struct analysis *analysis, const struct hlo_label *label)
{
    const struct catalog *catalog = analysis->catalog;
    if (label->program == NO_INDEX)
        return false;
    const struct program *program = &catalog->programs.items[label->program];
    return label->found == NO_INDEX ||
           text_equal(catalog_text(catalog, program->operations.items[label->found].opcode),
                      TEXT("call"));
}

/* Labels, plus one, may differ in their operator. */
static bool are_of_one_graph(const struct analysis *analysis, uint32_t a, uint32_t b)
{
    const struct hlo_label *m = &analysis->labels.items[a - 1];
    const struct hlo_label *n = &analysis->labels.items[b - 1];
    return a == b || (m->program == n->program && m->operation == n->operation);
}

/* A launch of a graph ends with its correlation or with a label of another graph; events in
 * between without a label are skipped. */
static void order_lane(struct ordering *ordering, uint32_t track, const uint8_t *is_graph)
{
    struct analysis *analysis = ordering->analysis;
    const struct lane_analysis *lane = &analysis->lanes[track];
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint64_t correlation = 0;
    uint32_t open = 0; /* label plus one */
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = event_at(lane, i);
        touch_event(i);
        uint32_t label = lane->label[event];
        bool is_node = label && is_graph[label - 1] && event_is_timed(events, event);
        if (open && (lane->correlation[event] != correlation ||
                     (label && !are_of_one_graph(analysis, label, open)))) {
            finish_launch(ordering, track, open - 1);
            open = 0;
        }
        if (!is_node)
            continue;
        open = open ? open : label;
        correlation = lane->correlation[event];
        *array_push(&ordering->events) = event;
    }
    if (open)
        finish_launch(ordering, track, open - 1);
}

/* Runs on one thread: known launches and new labels are shared by all lanes. Without graphs it
 * costs a look at the labels. */
void order_kernels(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    size_t labels = analysis->labels.count;
    uint8_t *is_graph = mem_zeroed(labels, sizeof *is_graph);
    bool has_graphs = false;
    for (uint32_t i = 0; i < labels; i++)
        has_graphs |= is_graph[i] = is_of_graph(analysis, &analysis->labels.items[i]);
    struct ordering ordering = {.analysis = analysis};
    ordering.schedules = mem_zeroed(catalog->programs.count, sizeof *ordering.schedules);
    for (uint32_t i = 0; has_graphs && i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level == TRACK_LANE && track->source == SOURCE_DEVICE &&
            track->lane == LANE_STREAM && track->events > 0)
            order_lane(&ordering, i, is_graph);
    }
    for (size_t i = 0; i < catalog->programs.count; i++)
        array_free(&ordering.schedules[i].slots);
    mem_free(ordering.schedules);
    mem_free(is_graph);
    idmap_free(&ordering.launches);
    idmap_free(&ordering.new_labels);
    idmap_free(&ordering.named);
    idmap_free(&ordering.served);
    array_free(&ordering.known);
    array_free(&ordering.labels);
    array_free(&ordering.events);
    array_free(&ordering.nodes);
    array_free(&ordering.found);
    array_free(&ordering.candidate);
}
