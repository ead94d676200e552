/*
 * HLO modules: reading them, what they cost, the memory they need, and graphs of them.
 */
#ifndef KYMO_HLO_HLO_H
#define KYMO_HLO_HLO_H

#include "hlo/graph.h"
#include "hlo/memory.h"
#include "hlo/module.h"

#endif
