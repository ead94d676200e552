/*
 * Finds which tools have nothing to show for a profile, without running them.
 */
#include "report/xprof/tool.h"

/* One query for all of them, as most of its time goes into its plan. */
bool tools_find_empty(struct sql_connection *connection, bool *are_empty, struct error *err)
{
    const struct tool_options options = {.format = TOOL_JSON};
    struct tool_run run = {.connection = connection, .options = &options};
    struct sql_result *result = NULL;
    struct output sql;
    size_t rows = 0;
    output_memory(&sql);
    for (size_t i = 0; i < xprof_tool_count; i++)
        output_format(&sql, "%s NOT EXISTS (%s)", i ? "," : "SELECT",
                      xprof_tools[i]->needs ? xprof_tools[i]->needs : "SELECT 1");
    output_char(&sql, '\0');
    bool ok = present_find(&run.present, connection, err) &&
              tool_query(&result, &run, sql.data, err) && sql_next(result, &rows, err);
    for (size_t i = 0; ok && i < xprof_tool_count; i++)
        are_empty[i] = rows > 0 && text_equal(sql_value(result, 0, i), TEXT("true"));
    sql_free(result);
    output_discard(&sql);
    present_free(run.present);
    return ok;
}
