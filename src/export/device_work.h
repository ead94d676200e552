/*
 * Inside export: the work of instructions and transfers in device profiles, as values of their
 * events.
 */
#ifndef KYMO_EXPORT_DEVICE_WORK_H
#define KYMO_EXPORT_DEVICE_WORK_H

#include "analyze/device/device.h"

enum device_key {
    KEY_OPERANDS, /* its value is a text: its number in device_work_list.texts */
    KEY_RAW_FLOPS,
    KEY_SBUF_READ,
    KEY_SBUF_WRITE,
    KEY_PSUM_READ,
    KEY_PSUM_WRITE,
    KEY_TRANSFER_BYTES,
    KEY_PACKETS,
    DEVICE_KEYS
};
const char *device_key_name(enum device_key key);

struct device_value {
    enum device_key key;
    uint64_t value;
};

struct lane_work;
struct device_work_list {
    struct lane_work *lanes; /* by track of the catalog */
    size_t lane_count;
    ARRAY(uint32_t *) operands; /* of each core and engine */
    struct intern texts;
};
/* tracks: the number of the catalog's tracks. */
void device_work_find(struct device_work_list *list, const struct device_cores *cores,
                      size_t tracks);
void device_work_free(struct device_work_list *list);
/* The work of an event of a track, without values that are 0 or unknown. */
size_t device_work_values(const struct device_work_list *list, uint32_t track, uint64_t event,
                          struct device_value values[static DEVICE_KEYS]);

#endif
