/*
 * wire: encodings: protobuf, JSON, line protocol, NumPy arrays, bit packing, gzip and zstd. Readers
 * work on byte ranges and check every length; writers append to outputs. The protobuf part needs
 * libc alone; compressed streams need zlib and libzstd.
 */
#ifndef KYMO_BASE_WIRE_WIRE_H
#define KYMO_BASE_WIRE_WIRE_H

#include "base/wire/bits.h"
#include "base/wire/json.h"
#include "base/wire/json_read.h"
#include "base/wire/line_protocol.h"
#include "base/wire/npy.h"
#include "base/wire/protobuf.h"
#include "base/wire/stream.h"

#endif
