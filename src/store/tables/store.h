/*
 * store: processed profiles on disk. A profile is a directory of Parquet files and a timeline
 * index; a workspace holds profiles by name.
 */
#ifndef KYMO_STORE_H
#define KYMO_STORE_H

#include "store/profile.h"
#include "store/schema.h"
#include "store/workspace.h"

#endif
