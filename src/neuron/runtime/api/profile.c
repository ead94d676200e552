/*
 * nrt_profile.h: device profiles, of one model or of all. Checks the order of calls; the device
 * profiler does the rest.
 */
#include "capture/recorder/lock.h"
#include "neuron/runtime/api/device.h"
#include "neuron/runtime/api/lists.h"

#include <stdlib.h>
#include <string.h>

struct nrt_profile_continuous_options {
    char *output_dir; /* NULL: the default */
};

struct lock profile_lock = LOCK_INITIALIZER;
struct open_profile { /* started, not stopped */
    struct open_profile *next;
    char *filename;
};
static struct open_profile *profiles;
static bool continuous;

static NRT_STATUS without_device(const char *function)
{
    say("%s: device profiling needs a device that executes models", function);
    return NRT_FAILURE;
}

/* With the lock held: where the profile with that file is linked, or the end of the list. */
static struct open_profile **find(const char *filename)
{
    struct open_profile **link = &profiles;
    while (*link && strcmp((*link)->filename, filename) != 0)
        link = &(*link)->next;
    return link;
}

/* With the lock held. */
static NRT_STATUS start(nrt_model_t *model, const char *filename)
{
    if (!device_profiler)
        return without_device("nrt_profile_start");
    if (*find(filename)) {
        say("nrt_profile_start: the profile %s was not stopped", filename);
        return NRT_FAILURE;
    }
    struct open_profile *profile = malloc(sizeof *profile);
    char *copy = strdup(filename);
    NRT_STATUS status = profile && copy ? device_profiler->start(model, filename) : NRT_RESOURCE;
    if (status == NRT_SUCCESS) {
        *profile = (struct open_profile){.next = profiles, .filename = copy};
        profiles = profile;
    } else {
        free(copy);
        free(profile);
    }
    return status;
}

NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename)
{
    if (!model || !filename || !*filename)
        return NRT_INVALID;
    lock_take(&profile_lock);
    NRT_STATUS status = start(model, filename);
    lock_release(&profile_lock);
    return status;
}

/* Takes the profile off the list first: stopping waits for executions. */
NRT_STATUS nrt_profile_stop(const char *filename)
{
    if (!filename || !*filename)
        return NRT_INVALID;
    if (!device_may_wait(__func__))
        return NRT_FAILURE;
    lock_take(&profile_lock);
    NRT_STATUS status = profiles ? NRT_INVALID : NRT_UNINITIALIZED;
    struct open_profile **link = find(filename), *profile = *link;
    if (profile)
        *link = profile->next;
    lock_release(&profile_lock);
    if (!profile)
        return status;
    status = device_profiler->stop(filename);
    free(profile->filename);
    free(profile);
    return status;
}

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options)
{
    if (!options)
        return NRT_INVALID;
    *options = calloc(1, sizeof **options);
    return *options ? NRT_SUCCESS : NRT_RESOURCE;
}

NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options)
{
    if (!options)
        return NRT_INVALID;
    free(options->output_dir);
    free(options);
    return NRT_SUCCESS;
}

NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                              const char *output_dir)
{
    return options ? config_set_path(&options->output_dir, output_dir) : NRT_INVALID;
}

/* With the lock held. */
static NRT_STATUS continuous_start(void)
{
    if (continuous) {
        say("nrt_profile_continuous_start: already running");
        return NRT_FAILURE;
    }
    if (device_profiler && kymo_wanted_devices(NULL, NULL, 0) != KYMO_DEVICES_NONE) {
        say("nrt_profile_continuous_start: the running session takes device profiles itself");
        return NRT_FAILURE;
    }
    if (!device_profiler)
        return without_device("nrt_profile_continuous_start");
    NRT_STATUS status = device_profiler->continuous_start();
    continuous = status == NRT_SUCCESS;
    return status;
}

NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options)
{
    if (!options)
        return NRT_INVALID;
    lock_take(&profile_lock);
    NRT_STATUS status = continuous_start();
    lock_release(&profile_lock);
    return status;
}

/* Without the lock: saving waits for executions, whose callback may begin a profile. */
NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options)
{
    if (!options || vnc >= RINGS_CORES)
        return NRT_INVALID;
    if (!device_may_wait(__func__))
        return NRT_FAILURE;
    lock_take(&profile_lock);
    bool is_running = continuous;
    lock_release(&profile_lock);
    if (!is_running)
        return NRT_UNINITIALIZED;
    return device_profiler->continuous_save(vnc,
                                            options->output_dir ? options->output_dir : "./output");
}

NRT_STATUS nrt_profile_continuous_stop(void)
{
    lock_take(&profile_lock);
    NRT_STATUS status = NRT_UNINITIALIZED;
    if (continuous) {
        status = device_profiler->continuous_stop();
        continuous = false;
    }
    lock_release(&profile_lock);
    return status;
}
