/*
 * Inside store: the tables that compare ranks.
 */
#ifndef KYMO_STORE_TABLES_RANK_TABLES_H
#define KYMO_STORE_TABLES_RANK_TABLES_H

#include "store/tables/fill.h"
#include "store/tables/schema_rank.h"

/* By device: its number among the devices of the rank, those that did something; free it with
 * mem_free. */
int64_t *rank_device_numbers(const struct analysis *analysis);

#endif
