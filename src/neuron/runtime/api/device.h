/*
 * Device profiler interface: what a runtime that executes models provides for nrt_profile.h.
 * Without one, functions that need it fail with a message.
 */
#ifndef KYMO_NEURON_RUNTIME_API_DEVICE_H
#define KYMO_NEURON_RUNTIME_API_DEVICE_H

#include <nrt/nrt_profile.h>

struct device_profiler {
    NRT_STATUS (*start)(nrt_model_t *model, const char *filename);
    NRT_STATUS (*stop)(const char *filename);
    NRT_STATUS (*continuous_start)(void);
    NRT_STATUS (*continuous_save)(uint32_t vnc, const char *output_dir);
    NRT_STATUS (*continuous_stop)(void);
    void (*session_end)(void); /* finishes a session's open files; may be NULL */
    /* The rest may be NULL. False, after a message: the caller must not wait for executions. */
    bool (*may_wait)(const char *function);
    /* Around a fork: take and release the runtime's locks. */
    void (*before_fork)(void);
    void (*after_fork)(bool is_child);
};

/* Set before the first call of nrt_profile.h, or never. */
extern const struct device_profiler *device_profiler;
static inline bool device_may_wait(const char *function)
{
    return !device_profiler || !device_profiler->may_wait || device_profiler->may_wait(function);
}

/* Whether executions that fail leave a profile, as the call that began the session asked, else as
 * the variables say. Any thread may ask, at any time. */
bool inspect_on_fail(void);
int inspect_session_id(void);

/* For fork. */
extern struct lock inspect_lock, profile_lock;

#endif
