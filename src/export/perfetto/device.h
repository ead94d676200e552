/*
 * Inside export: device profiles in a Perfetto trace: dependencies as flows, and the work of
 * slices.
 */
#ifndef KYMO_EXPORT_PERFETTO_DEVICE_H
#define KYMO_EXPORT_PERFETTO_DEVICE_H

#include "analyze/device/device.h"

/* One end of a flow. */
struct device_flow {
    uint32_t track; /* of the catalog */
    uint64_t event; /* of the track */
    uint64_t id;
};
typedef ARRAY(struct device_flow) device_flow_list;

/* By track and event. */
void device_flows_find(device_flow_list *flows, const struct device_cores *cores);
/* The first flow of an event, or where it would be. */
size_t device_flows_first(const device_flow_list *flows, uint32_t track, uint64_t event);

#endif
