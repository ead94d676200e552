/*
 * Options of kymo fleet, and its actions in files of their own; each returns the exit code.
 */
#ifndef KYMO_CLI_FLEET_OPTIONS_H
#define KYMO_CLI_FLEET_OPTIONS_H

#include "cli/cli.h"

#define NOT_GIVEN ULONG_MAX

struct fleet_options {
    const char *dataset;
    const char *const *operands; /* what comes after it: captures, a query */
    size_t operand_count;
    const char *run, *instance, *format, *engine, *file, *data_path;
    unsigned long rank, jobs, limit, progress_fd; /* NOT_GIVEN: not given */
    bool force, with_sql;
};

int fleet_add(const struct fleet_options *options);
int fleet_list(const struct fleet_options *options);
int fleet_remove(const struct fleet_options *options);
int fleet_sql(const struct fleet_options *options);
int fleet_print_report(const struct fleet_options *options);
int fleet_print_queries(const struct fleet_options *options);

#endif
