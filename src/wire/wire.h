/*
 * wire: encodings: protobuf, JSON, line protocol, NumPy arrays, bit packing, gzip and zstd. Readers
 * work on byte ranges and check every length; writers append to outputs. The protobuf part needs
 * libc alone; compressed streams need zlib and libzstd.
 */
#ifndef KYMO_WIRE_H
#define KYMO_WIRE_H

#include "wire/bits.h"
#include "wire/json.h"
#include "wire/json_read.h"
#include "wire/line_protocol.h"
#include "wire/npy.h"
#include "wire/protobuf.h"
#include "wire/stream.h"

#endif
