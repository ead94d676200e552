/*
 * store: processed profiles on disk. A profile is a directory of Parquet files and one timeline
 * index; profiles lie in a workspace, by name.
 */
#ifndef KYMO_STORE_H
#define KYMO_STORE_H

#include "store/profile.h"
#include "store/schema.h"
#include "store/workspace.h"

#endif
