/*
 * What the programs of the tests tell the stand-in for CUPTI's sampling of hardware counters to do.
 */
#ifndef KYMO_TESTS_MOCK_PM_H
#define KYMO_TESTS_MOCK_PM_H

#include <stdint.h>

struct mock_pm {
    /* The device has sampled: its metrics have the value, and the value plus 1, 2, ... */
    void (*sample)(uint32_t device, uint64_t start, uint64_t end, double value);
    /* The next time that samples are decoded, this is the result. */
    void (*fail)(uint32_t result);
};

#define MOCK_PM "mock_pm" /* the symbol */

#endif
