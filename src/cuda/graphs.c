/*
 * XLA makes a graph's nodes inside the NVTX ranges of their operations; the graph that is executed
 * consists of copies of them. Both are noted; which kernel belongs to which operation follows from
 * them later.
 */
#include "cuda/graphs.h"

#include "cuda/nvtx.h"
#include "cuda/trace_file.h"

#include <stdio.h>

static const uint32_t listened[] = {CUPTI_GRAPHNODE_CREATED, CUPTI_GRAPHNODE_CLONED};

static const struct cupti *library;
static void *subscriber;

static void note(uint32_t id, const struct cupti_graph_data *data)
{
    uint64_t node = 0, original = 0;
    uint32_t graph = 0, original_graph = 0;
    library->GetGraphNodeId(data->node, &node);
    library->GetGraphId(data->graph, &graph);
    if (id == CUPTI_GRAPHNODE_CLONED) {
        library->GetGraphNodeId(data->original_node, &original);
        library->GetGraphId(data->original_graph, &original_graph);
    }
    trace_file_lock();
    trace_row(TRACE_NODES, (const uint64_t[]){node, original, trace_text(nvtx_operation()), graph,
                                              original_graph, data->node_type});
    trace_file_unlock();
}

static void listen(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    const struct cupti_resource_data *resource = data;
    if (domain == CUPTI_DOMAIN_RESOURCE && resource && resource->graph)
        note(id, resource->graph);
}

bool graphs_start(const struct cupti *cupti, char problem[static 256])
{
    library = cupti;
    uint32_t result = cupti->Subscribe(&subscriber, listen, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS)
        snprintf(problem, 256, "another profiler of this process uses CUPTI");
    else if (result != CUPTI_SUCCESS)
        snprintf(problem, 256, "cannot subscribe: %s", cupti_result(cupti, result));
    for (size_t i = 0; result == CUPTI_SUCCESS && i < sizeof listened / sizeof *listened; i++)
        cupti->EnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, listened[i]);
    return result == CUPTI_SUCCESS;
}

void graphs_stop(const struct cupti *cupti)
{
    cupti->Unsubscribe(subscriber);
}
