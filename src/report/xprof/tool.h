/*
 * Inside tools: how a tool is described.
 */
#ifndef KYMO_REPORT_XPROF_TOOL_H
#define KYMO_REPORT_XPROF_TOOL_H

#include "report/relations/relations.h"
#include "report/xprof/tools.h"

enum cell { CELL_TEXT, CELL_NUMBER, CELL_FLAG };

/* What a column or a table is part of. */
enum {
    FOR_PEOPLE = 1,  /* text */
    FOR_SCRIPTS = 2, /* CSV and JSON */
    FOR_XPROF = 4,   /* gviz */
    FOR_ALL = FOR_PEOPLE | FOR_SCRIPTS | FOR_XPROF,
    FOR_PROGRAMS = FOR_SCRIPTS | FOR_XPROF,
    FOR_USERS = FOR_PEOPLE | FOR_SCRIPTS,
};

struct tool_column {
    const char *id, *label; /* XProf's; the id is the column of the query */
    enum cell cell;
    unsigned forms;
    unsigned digits;  /* behind the point, for people */
    bool is_hex;      /* also written in hexadecimal, for XProf */
    const char *role; /* of Google's charts; NULL: none */
    /* XProf has it for these devices alone: "GPU", "TPU" or "not TPU"; NULL: for all. */
    const char *kind;
};

struct tool_table {
    const char *name, *title;
    unsigned forms;
    const struct tool_column *columns; /* none: an empty object, for XProf */
    size_t column_count;
    const char *sql;        /* over the relations of relations.h */
    const char *properties; /* a query of one row; NULL: none */
};

struct tool_run {
    struct sql_connection *connection;
    const struct tool_options *options;
    struct present_tables *present;
    char kind[16]; /* of the devices that the tables are about; for XProf */
    bool has_gpus, has_tpus;
    struct output *out;
};

struct xprof_tool {
    const char *name, *about;
    const char *why; /* there may be nothing to show */
    /* A query without rows if there is nothing to show. It reads only the beginning of a table, or
     * small ones, so it may have a row where the tool has none. NULL: there always is something. */
    const char *needs;
    const struct tool_table *tables;
    size_t table_count;
    bool is_list;     /* a list of tables for XProf, not one */
    unsigned options; /* enum tool_option */
    /* Instead of tables, in all formats; NULL: tables. */
    bool (*write)(struct tool_run *run, bool *is_empty, struct error *err);
    /* Instead of tables, for XProf; one of them, or none. */
    const char *document; /* a query of one value, which is JSON */
    bool (*write_document)(struct tool_run *run, struct error *err);
    /* Instead of tables, for people; NULL: tables. */
    bool (*write_text)(struct tool_run *run, bool *is_empty, struct error *err);
};

#define COLUMNS_OF(list) .columns = (list), .column_count = sizeof(list) / sizeof *(list)
/* Why tools over DeviceOperation have nothing to show. */
#define NO_OPERATIONS                                                                              \
    "the profile has no operations of a device; if an earlier version of kymo made it, "           \
    "`kymo view CAPTURE --force` adds them"
#define NEEDS_OPERATIONS                 "SELECT 1 FROM op WHERE occurrences > 0"
#define TABLES_OF(list)                  .tables = (list), .table_count = sizeof(list) / sizeof *(list)
#define NUMBER(id, label, forms, digits) {id, label, CELL_NUMBER, forms, digits, false, NULL, NULL}
#define STRING(id, label, forms)         {id, label, CELL_TEXT, forms, 0, false, NULL, NULL}
#define FLAG(id, label, forms)           {id, label, CELL_FLAG, forms, 0, false, NULL, NULL}
#define ON(kind_, id, label, cell, forms, digits)                                                  \
    {id, label, cell, forms, digits, false, NULL, kind_}

#define TOOL(name) extern const struct xprof_tool name;
#include "report/xprof/tools.def"

/* The table of messages that XProf has at the end of most lists. */
extern const struct tool_column diagnostics_columns[2];
#define DIAGNOSTICS .columns = diagnostics_columns, .column_count = 2, .sql = xprof_sql_diagnostics

/* Runs a query over the relations; all columns are text. */
bool tool_query(struct sql_result **result, struct tool_run *run, const char *sql,
                struct error *err);
/* A number of a result; 0 for NULL. */
double cell_number(struct text value);
/* A highlighted line. */
void put_tool_title(struct tool_run *run, const char *title);

#endif
