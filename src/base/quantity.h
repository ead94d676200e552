/*
 * Quantities as text, with a unit and three digits: "4.34 ms".
 */
#ifndef KYMO_BASE_QUANTITY_H
#define KYMO_BASE_QUANTITY_H

#include <stdint.h>

enum { QUANTITY_SIZE = 40 };
const char *format_count(uint64_t count, char text[static QUANTITY_SIZE]);
const char *format_ps(double ps, char text[static QUANTITY_SIZE]);
const char *format_bytes(uint64_t bytes, char text[static QUANTITY_SIZE]);
/* 32 digits in groups of 8, 4, 4, 4 and 12. */
const char *format_uuid(const uint8_t uuid[static 16], char text[static QUANTITY_SIZE]);
/* "2026-11-14 22:42:23 UTC" */
const char *format_epoch(int64_t epoch_ns, char text[static QUANTITY_SIZE]);

#endif
