/*
 * store: processed profiles on disk. A profile is a directory of Parquet files and a timeline
 * index; a workspace holds profiles by name.
 */
#ifndef KYMO_STORE_TABLES_STORE_H
#define KYMO_STORE_TABLES_STORE_H

#include "store/tables/profile.h"
#include "store/tables/schema.h"
#include "store/tables/workspace.h"

#endif
