/*
 * Options of kymo neff, and its actions in files of their own; each returns the exit code.
 */
#ifndef KYMO_CLI_NEFF_OPTIONS_H
#define KYMO_CLI_NEFF_OPTIONS_H

#include "cli/cli.h"

struct neff_options {
    const char *file, *output, *core;
    unsigned long logical_cores; /* 0: 1 */
    bool force, json;
};

int neff_build(const struct neff_options *options);
int neff_unpack(const struct neff_options *options);

#endif
