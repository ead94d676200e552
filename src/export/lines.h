/*
 * Lines of text around tables.
 */
#ifndef KYMO_EXPORT_LINES_H
#define KYMO_EXPORT_LINES_H

#include "export/export.h"

/* The number of rows of a ranking that are shown, and a line about the others. */
size_t rows_shown(size_t count, const struct text_style *style);
void put_omitted(size_t shown, size_t count, struct output *out);

/* A line with a label and a text from a file. */
void put_labeled(struct output *out, const char *label, const char *value);

/* The messages of the capture, if any, except for those about dropped events. */
void put_messages_text(const struct catalog *catalog, const struct text_style *style,
                       struct output *out);

/* A highlighted heading. */
void put_heading(struct output *out, const struct text_style *style, const char *heading);

#endif
