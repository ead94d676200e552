/*
 * Commands that compare two profiles, captures or runs of many ranks.
 */
#ifndef KYMO_CLI_ON_DIFF_H
#define KYMO_CLI_ON_DIFF_H

#include "cli/cli.h"
#include "report/compare/diff.h"

struct diff_of_two {
    const char *places[2];
    const char *data_path;
    unsigned long jobs;
    unsigned kinds;                                           /* of rows that are read */
    int (*run)(const void *context, const struct diff *diff); /* returns the exit code */
    const void *context;
};
/* Reads both and compares them; errors are printed. */
int on_diff(const struct diff_of_two *call);

#endif
