/*
 * What the programs of the tests tell the stand-in for libcupti to do.
 */
#ifndef KYMO_TESTS_MOCK_CUPTI_H
#define KYMO_TESTS_MOCK_CUPTI_H

#include <stddef.h>
#include <stdint.h>

struct mock_cupti {
    /* Puts a record into the buffer, if its kind is enabled. */
    void (*record)(const void *data, size_t size);
    /* Hands the buffer over on the calling thread. */
    void (*hand_over)(void);
    /* While on, flushes hand nothing over unless they are forced. */
    void (*hold)(int is_on);
    /* Counts records as dropped. */
    void (*drop)(size_t records);
    /* Calls back with a node of a graph: graph, original graph, node, original node. */
    void (*node)(uint32_t id, const uintptr_t handles[4], uint32_t type);
    /* What the clock that was registered says; 0 without one. */
    uint64_t (*clock)(void);
};

#define MOCK_CUPTI "mock_cupti" /* the symbol */

#endif
