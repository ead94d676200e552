/*
 * The device profiler of this process, if it has one.
 */
#include "nrt/device.h"

const struct device_profiler *device_profiler;
