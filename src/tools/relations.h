/*
 * Inside tools: the relations that tools are queries over.
 *
 *     option     one row: what was asked for (host, group_by)
 *     kernel     kernels on GPUs, with the host and what XProf takes for the operation
 *     memory     allocations and frees, as XProf numbers them
 */
#ifndef KYMO_TOOLS_RELATIONS_H
#define KYMO_TOOLS_RELATIONS_H

#include "tools/tool.h"

bool relations_begin(struct output *sql, struct sql_connection *connection,
                     const struct tool_options *options, struct error *err);

#endif
