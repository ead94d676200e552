/*
 * CUPTI numbers calls; the numbers of launches are known, those of names are looked up. Its names
 * have the version in which a call got its present form: cudaMalloc_v3020.
 */
#include "capture/cuda/calls.h"

#include "capture/cuda/say.h"

#include <string.h>

enum { MOST_IDS = 2048, MOST_CHOSEN = 256 };

static const uint32_t driver_launches[] = {307, 442, 514, 515, 652, 653};
static const uint32_t runtime_launches[] = {211, 214, 269, 311, 312, 430, 431};

static struct {
    uint32_t domain, id;
} chosen[MOST_CHOSEN];
static size_t chosen_count;
static bool is_attached;

static bool is_form_of(const char *call, const char *name, size_t size)
{
    if (strncmp(call, name, size) != 0)
        return false;
    const char *rest = call + size;
    return *rest == '\0' || strncmp(rest, "_v", 2) == 0 || strncmp(rest, "_pts", 4) == 0;
}

/* All forms of a call. */
static size_t choose(const struct cupti *cupti, uint32_t domain, const char *name, size_t size)
{
    size_t before = chosen_count;
    for (uint32_t id = 1; id < MOST_IDS && chosen_count < MOST_CHOSEN; id++) {
        const char *call = NULL;
        if (cupti->GetCallbackName(domain, id, &call) == CUPTI_SUCCESS && call &&
            is_form_of(call, name, size)) {
            chosen[chosen_count].domain = domain;
            chosen[chosen_count++].id = id;
        }
    }
    return chosen_count - before;
}

static bool can_choose(const struct cupti *cupti)
{
    return cupti->ActivityEnableDriverApi && cupti->ActivityEnableRuntimeApi;
}

void calls_choose(const struct cupti *cupti, const char *names, bool attached)
{
    chosen_count = 0;
    is_attached = attached;
    if (names && !can_choose(cupti)) {
        say("this version of CUPTI cannot select calls: all runtime calls are recorded");
        return;
    }
    for (const char *name = names; name && *name;) {
        size_t size = strcspn(name, ",");
        if (size > 0 && choose(cupti, CUPTI_DOMAIN_DRIVER, name, size) +
                                choose(cupti, CUPTI_DOMAIN_RUNTIME, name, size) ==
                            0)
            say("CUPTI does not know the call %.*s: it is not recorded", (int)size, name);
        name += size + (name[size] == ',');
    }
}

static void enable(const struct cupti *cupti, uint32_t domain, uint32_t id, bool is_on)
{
    if (domain == CUPTI_DOMAIN_DRIVER)
        cupti->ActivityEnableDriverApi(id, is_on);
    else
        cupti->ActivityEnableRuntimeApi(id, is_on);
}

static void enable_kind(const struct cupti *cupti, uint32_t kind, bool is_on)
{
    if (is_on)
        cupti->ActivityEnable(kind);
    else
        cupti->ActivityDisable(kind);
}

/* In a program that has used CUDA before, CUPTI (13.0) records calls chosen by number only while
 * their kind is on: it is, without any call but those chosen. */
static void enable_no_calls(const struct cupti *cupti)
{
    enable_kind(cupti, CUPTI_DRIVER, true);
    enable_kind(cupti, CUPTI_RUNTIME, true);
    for (uint32_t id = 1; id < MOST_IDS; id++) {
        cupti->ActivityEnableDriverApi(id, false);
        cupti->ActivityEnableRuntimeApi(id, false);
    }
}

void calls_enable(const struct cupti *cupti, bool is_on)
{
    if (!can_choose(cupti)) {
        enable_kind(cupti, CUPTI_RUNTIME, is_on);
        return;
    }
    if (is_attached && is_on)
        enable_no_calls(cupti);
    for (size_t i = 0; i < sizeof driver_launches / sizeof *driver_launches; i++)
        enable(cupti, CUPTI_DOMAIN_DRIVER, driver_launches[i], is_on);
    for (size_t i = 0; i < sizeof runtime_launches / sizeof *runtime_launches; i++)
        enable(cupti, CUPTI_DOMAIN_RUNTIME, runtime_launches[i], is_on);
    for (size_t i = 0; i < chosen_count; i++)
        enable(cupti, chosen[i].domain, chosen[i].id, is_on);
    if (is_attached && !is_on) {
        enable_kind(cupti, CUPTI_DRIVER, false);
        enable_kind(cupti, CUPTI_RUNTIME, false);
    }
}
