/*
 * Files of a session that grow while the capture runs.
 */
#ifndef KYMO_CAPTURE_RECORDER_APPEND_H
#define KYMO_CAPTURE_RECORDER_APPEND_H

#include <stdbool.h>
#include <stddef.h>

/* Appends in one write, so that a killed program leaves whole pieces; no descriptor is kept. False
 * after one line on standard error. */
bool append_to_file(const char *rings, const char *name, const void *data, size_t size);

#endif
