/*
 * Inside fleet: the tables of ranks that an analysis reads, as views of their names.
 */
#ifndef KYMO_REPORT_FLEET_RANK_TABLES_H
#define KYMO_REPORT_FLEET_RANK_TABLES_H

#include "report/fleet/work.h"
#include "store/tables/store.h"

enum { RANK_TABLES = 4 };
extern const enum table_number rank_tables[RANK_TABLES];

/* Where the file of a rank is; free with mem_free. */
char *rank_path(const struct fleet_analysis *analysis, const struct table_schema *schema,
                const struct rank_file *rank);
/* Has the tables as views, of all ranks or of chosen ones (ascending), without those that are
 * damaged. */
bool rank_tables_open(struct fleet_analysis *analysis, const uint64_t *chosen, size_t count,
                      struct error *err);

#endif
