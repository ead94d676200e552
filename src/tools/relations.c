/*
 * The relations that tools are queries over, as common table expressions.
 */
#include "tools/relations.h"

#include "stats/stats.h"

/* Rows of the host that was asked for. */
#define ON_HOST(column) " coalesce(" column " = (SELECT host FROM option), true)"

static const char relations[] =
    ", host AS (SELECT DISTINCT instance_id FROM Track)"

    /* The framework's operation of a kernel: that of its HLO operation, else what the source wrote
     * as "name:type". */
    ", kernel AS ("
    "SELECT k.*, e.instance_id,"
    " coalesce(o.op_name, regexp_replace(k.framework_op, '(^|[^:]):[A-Za-z_0-9]*$', '\\1'), '')"
    " AS op_name "
    "FROM GpuKernel k JOIN SystemProfileEvents e ON e.id = k.id"
    " LEFT JOIN HloOperation o ON o.id = k.operation_id WHERE" ON_HOST(
        "e.instance_id") ")"

                         /* Events without a step are of the one after the last that is known, as in
                            XProf. */
                         ", memory AS ("
                         "SELECT * EXCLUDE (known_step), coalesce(known_step,"
                         " coalesce(last_value(known_step IGNORE NULLS) OVER (PARTITION BY "
                         "memory_id ORDER BY position"
                         " ROWS UNBOUNDED PRECEDING), -1) + 1) AS step "
                         "FROM (SELECT *, row_number() OVER (PARTITION BY memory_id ORDER BY "
                         "time_ps, id) - 1 AS"
                         " position "
                         "FROM (SELECT a.id, CASE WHEN (SELECT count(*) FROM host WHERE" ON_HOST(
                             "instance_id") ") > 1 THEN e.instance_id || '/' ELSE '' END || "
                                            "coalesce(a.allocator_name,"
                                            " CASE WHEN a.device_idx < 0 THEN 'host' END, "
                                            "a.device_idx::VARCHAR, '') AS memory_id,"
                                            " a.timestamp * 1000 + e.start_fraction_ps AS time_ps, "
                                            "s.id AS known_step,"
                                            " a.name NOT ILIKE '%dealloc%' AND "
                                            "coalesce(a.allocation_bytes, 0) >= 0 AS is_allocation,"
                                            " coalesce(a.requested_bytes, 0) AS requested, "
                                            "coalesce(a.allocation_bytes, 0) AS allocated,"
                                            " coalesce(a.address, 0) AS address, "
                                            "coalesce(a.bytes_allocated, 0) AS heap,"
                                            " coalesce(a.bytes_reserved, 0) AS stack, "
                                            "coalesce(a.bytes_available, 0) AS free,"
                                            " coalesce(a.peak_bytes_in_use, 0) AS lifetime_peak,"
                                            " coalesce(a.fragmentation, 0) AS fragmentation,"
                                            " coalesce(json_extract_string(e.extra_attributes_json,"
                                            " '$.tf_op'), '') AS tf_op,"
                                            " coalesce(json_extract_string(e.extra_attributes_json,"
                                            " '$.region_type'), '') AS region,"
                                            " coalesce(json_extract_string(e.extra_attributes_json,"
                                            " '$.shape'), '') AS shape,"
                                            " a.data_type AS type_number "
                                            "FROM MemoryAllocation a JOIN SystemProfileEvents e ON "
                                            "e.id = a.id WHERE" ON_HOST(
                                                "e.instance_id") ")))"

                                                                 /* Samples of counters that devices
                                                                    have, and events that carry a
                                                                    counter's value. */
                                                                 ", device_lane AS (SELECT t.id, "
                                                                 "t.name, t.number, d.name AS "
                                                                 "device, t.instance_id,"
                                                                 " try_cast(regexp_extract(d.name, "
                                                                 "'([0-9]+)$', 1) AS BIGINT) AS "
                                                                 "chip"
                                                                 " FROM Track t JOIN Track d ON "
                                                                 "d.id = t.parent_id AND d.role = "
                                                                 "'device'"
                                                                 " WHERE" ON_HOST(
                                                                     "t.instance_id") ")"
                                                                                      ", counter "
                                                                                      "AS ("
                                                                                      "SELECT "
                                                                                      "l.instance_"
                                                                                      "id AS host, "
                                                                                      "l.device, "
                                                                                      "l.chip, "
                                                                                      "l.name AS "
                                                                                      "lane, "
                                                                                      "l.number AS "
                                                                                      "line,"
                                                                                      " c.name AS "
                                                                                      "counter, "
                                                                                      "c.value, "
                                                                                      "c.timestamp "
                                                                                      "AS time_ns, "
                                                                                      "'' AS "
                                                                                      "description,"
                                                                                      " '' AS "
                                                                                      "set_name "
                                                                                      "FROM "
                                                                                      "CounterSampl"
                                                                                      "e c JOIN "
                                                                                      "device_lane "
                                                                                      "l ON l.id = "
                                                                                      "c.track_id "
                                                                                      "UNION ALL "
                                                                                      "SELECT "
                                                                                      "l.instance_"
                                                                                      "id, "
                                                                                      "l.device, "
                                                                                      "l.chip, "
                                                                                      "l.name, "
                                                                                      "l.number, "
                                                                                      "e.name,"
                                                                                      " json_"
                                                                                      "extract(e."
                                                                                      "extra_"
                                                                                      "attributes_"
                                                                                      "json, "
                                                                                      "'$.counter_"
                                                                                      "value')::"
                                                                                      "DOUBLE, "
                                                                                      "e.start_ts,"
                                                                                      " coalesce("
                                                                                      "json_"
                                                                                      "extract_"
                                                                                      "string(e."
                                                                                      "extra_"
                                                                                      "attributes_"
                                                                                      "json,"
                                                                                      " '$."
                                                                                      "performance_"
                                                                                      "counter_"
                                                                                      "description'"
                                                                                      "), ''),"
                                                                                      " coalesce("
                                                                                      "json_"
                                                                                      "extract_"
                                                                                      "string(e."
                                                                                      "extra_"
                                                                                      "attributes_"
                                                                                      "json, "
                                                                                      "'$."
                                                                                      "performance_"
                                                                                      "counter_"
                                                                                      "sets'), '') "
                                                                                      "FROM "
                                                                                      "SystemProfil"
                                                                                      "eEvents e "
                                                                                      "JOIN "
                                                                                      "device_lane "
                                                                                      "l ON l.id = "
                                                                                      "e.track_id "
                                                                                      "WHERE "
                                                                                      "contains(e."
                                                                                      "extra_"
                                                                                      "attributes_"
                                                                                      "json, "
                                                                                      "'\"counter_"
                                                                                      "value\"'))";

static const enum table_number tables[] = {
    TABLE_EVENTS, TABLE_KERNELS, TABLE_COPIES,     TABLE_ALLOCATIONS, TABLE_COUNTERS,
    TABLE_STEPS,  TABLE_TRACKS,  TABLE_OPERATIONS, TABLE_MODULES,     TABLE_EVENT_TYPES,
};

static void put_option(struct output *sql, const char *name, const char *value)
{
    if (!value) {
        output_format(sql, "NULL::VARCHAR AS %s", name);
        return;
    }
    output_char(sql, '\'');
    for (const char *at = value; *at; at++)
        output_format(sql, *at == '\'' ? "''" : "%c", *at);
    output_format(sql, "' AS %s", name);
}

bool relations_begin(struct output *sql, struct sql_connection *connection,
                     const struct tool_options *options, struct error *err)
{
    output_text(sql, "WITH ");
    bool ok = missing_put(sql, connection, tables, sizeof tables / sizeof *tables, err);
    output_text(sql, "option AS (SELECT ");
    put_option(sql, "host", options->host);
    output_text(sql, ", ");
    put_option(sql, "group_by", options->group_by);
    output_char(sql, ')');
    output_text(sql, relations);
    return ok;
}
