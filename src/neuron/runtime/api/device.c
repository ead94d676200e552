/*
 * The device profiler of this process, if it has one.
 */
#include "neuron/runtime/api/device.h"

const struct device_profiler *device_profiler;
