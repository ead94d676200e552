/*
 * Inside fleet: ranks whose files cannot be read. They are left out of the analysis, which says so.
 */
#ifndef KYMO_REPORT_FLEET_DAMAGED_H
#define KYMO_REPORT_FLEET_DAMAGED_H

#include "report/fleet/work.h"

/* Reads the files of all ranks and marks the ranks that have one that cannot be
 * read; how many there are is put into *damaged. False if that is interrupted, or if no rank would
 * be left. */
bool damaged_find(struct fleet_analysis *analysis, size_t *damaged, struct error *err);

#endif
