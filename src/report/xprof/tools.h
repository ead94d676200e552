/*
 * tools: the analyses that users of XProf know, under XProf's names, as queries over the tables of
 * a processed profile. Columns have XProf's ids; docs/xprof-tools.md says where figures differ.
 */
#ifndef KYMO_REPORT_XPROF_TOOLS_H
#define KYMO_REPORT_XPROF_TOOLS_H

#include "export/export.h"
#include "sql/sql.h"

/* What graph_viewer answers with, in XProf's form. */
enum tool_graph {
    TOOL_GRAPH_NEAR,      /* operations near one, for Graphviz */
    TOOL_GRAPH_NEIGHBORS, /* names of those that one uses, and that use it, as JSON */
    TOOL_GRAPH_PROTO,     /* the module's HloProto */
};

enum tool_format {
    TOOL_TEXT,
    TOOL_CSV,
    TOOL_JSON, /* an object with a list of records for each table */
    TOOL_GVIZ, /* what XProf's server answers */
};

struct tool_options {
    enum tool_format format;
    const char *host;  /* NULL: all */
    const char *table; /* only this one, for people and scripts; NULL: all */
    /* Of some tools; see tool_heeds. */
    const char *group_by; /* one of tool_groupings */
    const char *module;   /* HLO module: name, name and id, or id; NULL: that takes most time */
    const char *op;       /* of the module; NULL: the module itself */
    bool has_long_text;   /* of a module: also large constants */
    uint32_t width;       /* operations this far from op are shown; 0: 1 */
    /* Of a computation with more operations than are shown at once, those from this one on, in the
     * order in which they execute; without it, JSON has what is near the root. */
    bool has_first;
    uint32_t first;
    enum tool_graph graph;
    bool has_bodies, has_metadata; /* of a graph for Graphviz: fusions' bodies, scopes */
    uint64_t memory_space;
    const char *directory; /* of the profile */
    uint64_t limit;        /* rows of a table, children of a node; 0: all */
    struct text_style style;
    /* Why there is nothing to show, a sentence; may be NULL. */
    void (*notice)(void *context, const char *sentence);
    void *context;
};

extern const char *const tool_groupings[]; /* NULL-terminated */

/* The grouping of that name, or the first for NULL; false if there is none. */
bool tool_grouping(const char *name, const char **grouping);

struct xprof_tool;
extern const struct xprof_tool *const xprof_tools[];
extern const size_t xprof_tool_count;

const struct xprof_tool *tool_find(const char *name);
const char *tool_name(const struct xprof_tool *tool);
/* One line about it. */
const char *tool_about(const struct xprof_tool *tool);
/* Why there may be nothing to show, and what to capture then; may be NULL. */
const char *tool_why(const struct xprof_tool *tool);

/* Which tools are known to have nothing to show, from a profile's small tables: in the order of
 * xprof_tools. */
bool tools_find_empty(struct sql_connection *connection, bool *are_empty, struct error *err);

/* Whether it heeds an option. */
enum tool_option { TOOL_GROUP_BY = 1, TOOL_MODULE = 2, TOOL_OP = 4, TOOL_MEMORY_SPACE = 8 };
bool tool_heeds(const struct xprof_tool *tool, enum tool_option option);
/* Names of its tables for scripts, the i-th; NULL after the last. */
const char *tool_table(const struct xprof_tool *tool, size_t i);

/* Columns of a table that are numbers, the i-th, with what it is called; NULL after the last. */
const char *tool_figure(const struct xprof_tool *tool, const char *table, size_t i,
                        const char **label);
/* The query of a table over the relations; NULL if there is no such table. */
const char *tool_table_query(const struct xprof_tool *tool, const char *table);

/* Writes a tool. */
bool tool_write(const struct xprof_tool *tool, struct sql_connection *connection,
                const struct tool_options *options, struct output *out, struct error *err);

/* The first table that XProf has, as its server writes CSV: titles, and everything in quotes. */
bool tool_has_xprof_table(const struct xprof_tool *tool);
bool tool_write_xprof_csv(const struct xprof_tool *tool, struct sql_connection *connection,
                          const struct tool_options *options, struct output *out,
                          struct error *err);

#endif
