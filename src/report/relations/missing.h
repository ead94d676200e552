/*
 * Inside relations: tables and columns that a profile does not have.
 */
#ifndef KYMO_REPORT_RELATIONS_MISSING_H
#define KYMO_REPORT_RELATIONS_MISSING_H

#include "report/relations/relations.h"

/* Puts the definition, for a WITH clause and with a comma behind it, of a table that the profile
 * does not have, that lacks columns, or that is in another schema; nothing for one that is
 * complete. */
void missing_put(struct output *sql, const struct present_tables *present, enum table_number table);

/* Whether the profile has the table, but not the column: an earlier version made it. */
bool missing_column(const struct present_tables *present, enum table_number table, size_t field);

#endif
