/*
 * fleet: many ranks as one run. A dataset has the tables of ranks, by run; its analysis compares
 * them.
 */
#ifndef KYMO_REPORT_FLEET_FLEET_H
#define KYMO_REPORT_FLEET_FLEET_H

#include "report/fleet/analysis.h"
#include "report/fleet/dataset.h"
#include "report/fleet/heatmap.h"
#include "report/fleet/spark.h"

#endif
