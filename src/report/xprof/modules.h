/*
 * Inside tools: HLO modules that are kept with a profile.
 */
#ifndef KYMO_REPORT_XPROF_MODULES_H
#define KYMO_REPORT_XPROF_MODULES_H

#include "hlo/hlo.h"
#include "report/xprof/tool.h"

struct kept_module {
    char *label;    /* "jit_train_step(15913)" */
    uint8_t *bytes; /* of its HloProto */
    size_t size;
    struct hlo_module module;
};

/* The module that was asked for, by name, name with id, or id; else the one whose operations take
 * most time. *is_there is false, and nothing is read, if the profile has none. */
bool module_load(struct kept_module *kept, struct tool_run *run, bool *is_there, struct error *err);
void module_free(struct kept_module *kept);

#endif
