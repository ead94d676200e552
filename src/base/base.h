/*
 * base: data structures and system services that all other modules build on. Depends on libc alone,
 * so that the capture side can use it inside any program.
 */
#ifndef KYMO_BASE_BASE_H
#define KYMO_BASE_BASE_H

#include "base/memory.h"
#include "base/out_of_memory.h"

#include "base/arena.h"
#include "base/arithmetic.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/child.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/installed.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/output.h"
#include "base/pool.h"
#include "base/quantity.h"
#include "base/readers.h"
#include "base/sort.h"
#include "base/source_file.h"
#include "base/text.h"

#endif
