/*
 * File formats, recognized by content; internal to the importers.
 */
#ifndef KYMO_IMPORT_FORMATS_H
#define KYMO_IMPORT_FORMATS_H

#include "import/import.h"
#include "import/json_file.h"

enum format {
    FORMAT_UNKNOWN,
    FORMAT_RECORDING,
    FORMAT_XPLANE,
    FORMAT_SYSTEM_TRACE,
    FORMAT_CHROME,
    FORMAT_EXPLORER,
    FORMAT_NTFF,
    FORMATS
};

bool is_xplane_name(const char *name);
enum format format_of(const char *path, const struct file *file);
enum json_format format_of_json(const char *path, const struct file *file);
/* Fails with a description of the file. */
bool format_refuse(const char *path, const struct file *file, struct error *err);

#endif
