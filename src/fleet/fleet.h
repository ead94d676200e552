/*
 * fleet: runs of many ranks. A dataset holds the tables of their profiles; see dataset.h.
 */
#ifndef KYMO_FLEET_H
#define KYMO_FLEET_H

#include "fleet/dataset.h"

#endif
