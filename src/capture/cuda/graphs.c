/*
 * XLA makes a graph's nodes inside the NVTX ranges of their operations; the graph that is executed
 * consists of copies of them. Both are noted; which kernel belongs to which operation follows from
 * them later. The threads that make nodes put them on a list: they do not wait while the file is
 * written, unless the list is full.
 */
#include "capture/cuda/graphs.h"

#include "capture/cuda/nvtx.h"
#include "capture/cuda/say.h"
#include "capture/cuda/trace_file.h"
#include "capture/recorder/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 8192, TEXTS_SIZE = 1 << 20, LONGEST_TEXT = 1024 };

static const uint32_t listened[] = {CUPTI_GRAPHNODE_CREATED, CUPTI_GRAPHNODE_CLONED};

struct node {
    uint64_t node, original;
    uint32_t graph, original_graph, type;
    uint32_t text; /* plus 1; 0: none */
};

struct list {
    uint32_t count, texts_size, last_text;
    struct node nodes[MOST_NODES];
    char texts[TEXTS_SIZE];
};

static struct {
    struct lock lock;
    struct list *filling, *spare;
} made = {.lock = LOCK_INITIALIZER};

static const struct cupti *library;
static void *subscriber;

/* Nodes of one operation follow each other: they share its text. */
static uint32_t put_text(struct list *list, const char *text)
{
    if (!text)
        return 0;
    if (list->last_text && strcmp(list->texts + list->last_text - 1, text) == 0)
        return list->last_text;
    size_t size = strnlen(text, LONGEST_TEXT - 1);
    list->last_text = list->texts_size + 1;
    memcpy(list->texts + list->texts_size, text, size);
    list->texts[list->texts_size + size] = '\0';
    list->texts_size += (uint32_t)size + 1;
    return list->last_text;
}

static bool put_node(struct node node)
{
    lock_take(&made.lock);
    struct list *list = made.filling;
    bool ok = !list || (list->count < MOST_NODES && TEXTS_SIZE - list->texts_size >= LONGEST_TEXT);
    if (ok && list) {
        node.text = put_text(list, nvtx_operation());
        list->nodes[list->count++] = node;
    }
    lock_release(&made.lock);
    return ok;
}

void graphs_drain(void)
{
    lock_take(&made.lock);
    struct list *full = made.filling;
    made.filling = made.spare;
    made.spare = full;
    lock_release(&made.lock);
    for (uint32_t i = 0; full && i < full->count; i++) {
        const struct node *node = &full->nodes[i];
        uint32_t text = node->text ? trace_annotation(full->texts + node->text - 1) : 0;
        trace_row(TRACE_NODES, (const uint64_t[]){node->node, node->original, text, node->graph,
                                                  node->original_graph, node->type});
    }
    if (full)
        full->count = full->texts_size = full->last_text = 0;
}

static void note(uint32_t id, const struct cupti_graph_data *data)
{
    struct node node = {.type = data->node_type};
    if (library->GetGraphNodeId(data->node, &node.node) != CUPTI_SUCCESS)
        return;
    library->GetGraphId(data->graph, &node.graph);
    if (id == CUPTI_GRAPHNODE_CLONED) {
        library->GetGraphNodeId(data->original_node, &node.original);
        library->GetGraphId(data->original_graph, &node.original_graph);
    }
    while (!put_node(node)) {
        trace_file_lock();
        graphs_drain();
        trace_file_unlock();
    }
}

static void listen(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    const struct cupti_resource_data *resource = data;
    if (domain == CUPTI_DOMAIN_RESOURCE && resource && resource->graph)
        note(id, resource->graph);
}

static void enable(const struct cupti *cupti)
{
    for (size_t i = 0; i < sizeof listened / sizeof *listened; i++) {
        uint32_t result = cupti->EnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, listened[i]);
        if (result != CUPTI_SUCCESS) {
            say("nodes of CUDA graphs have no names: CUPTI does not report them: %s",
                cupti_result(cupti, result));
            return;
        }
    }
}

static bool subscribe(const struct cupti *cupti, char problem[static 256])
{
    uint32_t result = cupti->Subscribe(&subscriber, listen, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS)
        snprintf(problem, 256, "another profiler of this process uses CUPTI");
    else if (result != CUPTI_SUCCESS)
        snprintf(problem, 256, "cannot subscribe to CUPTI: %s", cupti_result(cupti, result));
    return result == CUPTI_SUCCESS;
}

bool graphs_start(const struct cupti *cupti, bool nodes, char problem[static 256])
{
    library = cupti;
    if (!subscribe(cupti, problem))
        return false;
    lock_take(&made.lock);
    if (!made.filling) {
        made.filling = calloc(1, sizeof *made.filling);
        made.spare = calloc(1, sizeof *made.spare);
    }
    bool ok = made.filling && made.spare;
    lock_release(&made.lock);
    if (ok && nodes)
        enable(cupti);
    if (!ok) {
        snprintf(problem, 256, "out of memory");
        graphs_stop(cupti);
    }
    return ok;
}

void graphs_stop(const struct cupti *cupti)
{
    cupti->Unsubscribe(subscriber);
}

void graphs_lock(void)
{
    lock_take(&made.lock);
}

void graphs_unlock(void)
{
    lock_release(&made.lock);
}
