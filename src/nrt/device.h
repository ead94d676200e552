/*
 * Device profiler interface: what a runtime that executes models provides for nrt_profile.h.
 * Without one, functions that need it fail with a message.
 */
#ifndef KYMO_NRT_DEVICE_H
#define KYMO_NRT_DEVICE_H

#include <nrt/nrt_profile.h>

struct device_profiler {
    NRT_STATUS (*start)(nrt_model_t *model, const char *filename);
    NRT_STATUS (*stop)(const char *filename);
    NRT_STATUS (*continuous_start)(void);
    NRT_STATUS (*continuous_save)(uint32_t vnc, const char *output_dir);
    NRT_STATUS (*continuous_stop)(void);
};

/* Set before the first call of nrt_profile.h, or never. */
extern const struct device_profiler *device_profiler;

/* Whether a session takes device profiles. */
bool inspect_has_devices(void);

#endif
