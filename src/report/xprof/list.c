/*
 * The list of tools (tools.def), and what is asked of each.
 */
#include "report/xprof/tool.h"

const struct xprof_tool *const xprof_tools[] = {
#define TOOL(name) &name,
#include "report/xprof/tools.def"
};
const size_t xprof_tool_count = sizeof xprof_tools / sizeof *xprof_tools;

const char *const tool_groupings[] = {"program", "category", "provenance", "source", NULL};

const struct xprof_tool *tool_find(const char *name)
{
    for (size_t i = 0; i < xprof_tool_count; i++)
        if (strcmp(xprof_tools[i]->name, name) == 0)
            return xprof_tools[i];
    return NULL;
}

const char *tool_name(const struct xprof_tool *tool)
{
    return tool->name;
}

const char *tool_about(const struct xprof_tool *tool)
{
    return tool->about;
}

const char *tool_why(const struct xprof_tool *tool)
{
    return tool->why;
}

const char *tool_table(const struct xprof_tool *tool, size_t i)
{
    for (size_t at = 0; at < tool->table_count; at++)
        if ((tool->tables[at].forms & FOR_SCRIPTS) && i-- == 0)
            return tool->tables[at].name;
    return NULL;
}

static const struct tool_table *find_table(const struct xprof_tool *tool, const char *name)
{
    for (size_t i = 0; i < tool->table_count; i++)
        if (strcmp(tool->tables[i].name, name) == 0)
            return &tool->tables[i];
    return NULL;
}

static bool is_before(const struct tool_table *table, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(table->columns[i].id, table->columns[at].id) == 0 &&
            (table->columns[i].forms & FOR_USERS))
            return true;
    return false;
}

const char *tool_figure(const struct xprof_tool *tool, const char *name, size_t i,
                        const char **label)
{
    const struct tool_table *table = find_table(tool, name);
    for (size_t at = 0; table && at < table->column_count; at++) {
        const struct tool_column *column = &table->columns[at];
        if (column->cell != CELL_NUMBER || !(column->forms & FOR_USERS) || is_before(table, at))
            continue;
        *label = column->label;
        if (i-- == 0)
            return column->id;
    }
    return NULL;
}

const char *tool_table_query(const struct xprof_tool *tool, const char *name)
{
    const struct tool_table *table = find_table(tool, name);
    return table ? table->sql : NULL;
}

bool tool_heeds(const struct xprof_tool *tool, enum tool_option option)
{
    return (tool->options & option) != 0;
}

bool tool_grouping(const char *name, const char **grouping)
{
    *grouping = tool_groupings[0];
    for (size_t i = 0; name && tool_groupings[i]; i++)
        if (strcmp(name, tool_groupings[i]) == 0) {
            *grouping = tool_groupings[i];
            return true;
        }
    return name == NULL;
}

bool tool_has_xprof_table(const struct xprof_tool *tool)
{
    return !tool->write && !tool->document && !tool->write_document;
}
