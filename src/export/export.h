/*
 * export: a profile as text and files for people and other tools. Exporters print what the analysis
 * found; none works out a figure of its own.
 */
#ifndef KYMO_EXPORT_H
#define KYMO_EXPORT_H

#include "analyze/analyze.h"

struct text_style {
    bool coloured;
    size_t width; /* of a line, in characters */
    size_t top;   /* rows a ranking shows */
};

/* The summary for people. */
void export_summary_text(const struct analysis *analysis, const struct text_style *style,
                         struct output *out);
/* The same as one JSON object, with all rows of the rankings. */
void export_summary_json(const struct analysis *analysis, bool pretty, struct output *out);

/* What a profile consists of, as text and as JSON. */
void export_info_text(const struct analysis *analysis, const struct text_style *style,
                      struct output *out);
void export_info_json(const struct analysis *analysis, bool pretty, struct output *out);

/* Everything, events with all their args included; reads the source once more and streams. */
bool export_json(const struct analysis *analysis, struct source *source, struct pool *pool,
                 bool pretty, struct output *out, struct error *err);

#endif
