/*
 * fleet: many ranks as one run. A dataset has the tables of ranks, by run; its analysis compares
 * them.
 */
#ifndef KYMO_FLEET_H
#define KYMO_FLEET_H

#include "fleet/analysis.h"
#include "fleet/dataset.h"
#include "fleet/heatmap.h"
#include "fleet/spark.h"

#endif
