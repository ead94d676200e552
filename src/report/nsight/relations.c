/*
 * The relations that reports are queries over, as common table expressions.
 */
#include "report/nsight/relations.h"

/* A kernel's name as it is recorded, or without its return type, namespaces, template arguments and
 * parameters. */
#define FULL_NAME "k.name"
#define BASE_NAME                                                                                  \
    "regexp_extract(regexp_replace(replace(k.name, '(anonymous namespace)::', ''), '[<(].*$', "    \
    "''), "                                                                                        \
    "'([^: ]+) *$', 1)"

static const char relations[] =
    ", kernel AS ("
    "SELECT k.*, regexp_matches(k.name, 'nccl|rccl', 'i') AS is_nccl,"
    " printf('%4d %4d %4d', grid_x, grid_y, grid_z) AS grid,"
    " printf('%4d %4d %4d', block_x, block_y, block_z) AS block,"
    " e.instance_id, e.track_id "
    "FROM named k JOIN SystemProfileEvents e ON e.id = k.id)"

    ", copy AS ("
    "SELECT c.* EXCLUDE (operation), e.instance_id, e.track_id, c.operation = 'memset' AS is_set,"
    " CASE WHEN c.operation = 'memset' THEN '[CUDA memset]'"
    "  WHEN regexp_matches(c.name, 'HtoD|H2D') THEN '[CUDA memcpy Host-to-Device]'"
    "  WHEN regexp_matches(c.name, 'DtoH|D2H') THEN '[CUDA memcpy Device-to-Host]'"
    "  WHEN regexp_matches(c.name, 'DtoD|D2D') THEN '[CUDA memcpy Device-to-Device]'"
    "  WHEN regexp_matches(c.name, 'PtoP|P2P') THEN '[CUDA memcpy Peer-to-Peer]'"
    "  WHEN regexp_matches(c.name, 'HtoH|H2H') THEN '[CUDA memcpy Host-to-Host]'"
    "  ELSE '[CUDA memcpy]' END AS operation "
    "FROM GpuCopy c JOIN SystemProfileEvents e ON e.id = c.id)"

    ", work AS ("
    "SELECT id, start_ts, end_ts, duration_ns, instance_id, track_id, device_idx, stream_id,"
    " context_id, correlation_id, launch_event_id, 'CUDA_KERNEL' AS category,"
    " shown_name AS operation, is_nccl "
    "FROM kernel UNION ALL BY NAME "
    "SELECT id, start_ts, end_ts, duration_ns, instance_id, track_id, device_idx, stream_id,"
    " context_id, correlation_id, launch_event_id, 'MEMORY_OPER' AS category, operation,"
    " false AS is_nccl "
    "FROM copy)"

    /* What events are is a property of their types. Names of calls have the graph in brackets in
     * captures of JAX. What has no category is an annotation, unless it is something else. */
    ", kind AS MATERIALIZED ("
    "SELECT *, NOT is_call AND coalesce(category IN ('user_annotation', 'nvtx'),"
    " name[1] <> '$' AND name NOT IN ('<UNKNOWN>', 'BUFFER_FLUSH', 'MemoryAllocation',"
    " 'MemoryDeallocation')) AS is_span, category IS NULL AS is_guessed "
    "FROM (SELECT id, name, category,"
    " regexp_replace(name, ' \\(.*\\)$', '') AS call_name,"
    " coalesce(category IN ('cuda_runtime', 'cuda_driver', 'Runtime'),"
    " regexp_matches(name, '^(cuda|cu|hip)[A-Z]')) AS is_call,"
    " regexp_matches(name, '^(cuda|hip)(Device|Stream|Event)Synchronize') OR"
    " regexp_matches(name, '^cu(Ctx|Stream|Event)Synchronize') AS is_wait,"
    " regexp_matches(name, '^(cuda|cu|hip)Mem(cpy|set)') AND NOT contains(name, 'Async') AS"
    " is_blocking_copy "
    "FROM (SELECT id, name, json_extract_string(attributes_json, '$.cat') AS category"
    " FROM EventType)))"

    ", call AS ("
    "SELECT e.id, e.start_ts, e.end_ts, e.duration_ns, e.instance_id, e.process_id, e.thread_id,"
    " e.track_id, t.call_name AS name, t.is_wait, t.is_blocking_copy "
    "FROM SystemProfileEvents e JOIN kind t ON t.id = e.event_type_id "
    "WHERE t.is_call AND e.trace_event_source NOT LIKE '%hw')"

    ", launched AS ("
    "SELECT w.*, c.id AS call_id, c.name AS call_name, c.start_ts AS call_start,"
    " c.end_ts AS call_end, c.duration_ns AS call_ns, c.process_id, c.thread_id,"
    " c.track_id AS call_track,"
    " CASE WHEN w.start_ts > c.end_ts THEN w.start_ts - c.end_ts END AS queue_ns "
    "FROM work w JOIN call c ON c.id = w.launch_event_id)"

    ", copied AS ("
    "SELECT c.*, l.name AS call_name, l.process_id,"
    " coalesce(l.is_blocking_copy, NOT c.is_async, false) AS is_blocking "
    "FROM copy c LEFT JOIN call l ON l.id = c.launch_event_id)"

    /* How much work is under way, as changes, and when there is any. */
    ", edge AS ("
    "SELECT instance_id, device_idx, category, is_nccl, start_ts AS ts, 1 AS change FROM work "
    "UNION ALL "
    "SELECT instance_id, device_idx, category, is_nccl, end_ts, -1 FROM work)"

    ", gap_before AS ("
    "SELECT *, max(end_ts) OVER (PARTITION BY instance_id, device_idx ORDER BY start_ts, id"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ts FROM work)"

    ", busy AS ("
    "SELECT instance_id, device_idx, min(start_ts) AS from_ts, max(end_ts) AS to_ts "
    "FROM (SELECT *, sum(CASE WHEN start_ts <= from_ts THEN 0 ELSE 1 END) OVER ("
    "PARTITION BY instance_id, device_idx ORDER BY start_ts, id ROWS UNBOUNDED PRECEDING) AS island"
    " FROM gap_before) "
    "GROUP BY instance_id, device_idx, island)"

    /* A device's time, in 30 parts of the same width. */
    ", extent AS ("
    "SELECT instance_id, device_idx, min(start_ts) AS first_ts,"
    " max(end_ts) - min(start_ts) AS whole_ns,"
    " greatest((max(end_ts) - min(start_ts) + 29) // 30, 1) AS width "
    "FROM work GROUP BY instance_id, device_idx)"

    /* A gap is due to the last wait of the thread that launched what follows, if the wait lasted
     * into the gap. */
    ", gap AS ("
    "SELECT g.instance_id, g.device_idx, g.from_ts, g.start_ts AS to_ts, g.operation,"
    " g.id AS next_id,"
    " CASE WHEN c.id IS NULL THEN 'launch not recorded'"
    "  WHEN c.end_ts <= g.from_ts THEN 'queued'"
    "  WHEN b.end_ts > g.from_ts AND b.is_wait THEN 'synchronization'"
    "  WHEN b.end_ts > g.from_ts THEN 'copy'"
    "  ELSE 'nothing launched' END AS cause,"
    " CASE WHEN c.end_ts > g.from_ts AND b.end_ts > g.from_ts THEN b.name END AS waited_in "
    "FROM gap_before g LEFT JOIN call c ON c.id = g.launch_event_id "
    "ASOF LEFT JOIN (SELECT * FROM call WHERE is_wait OR is_blocking_copy) b"
    " ON b.track_id = c.track_id AND b.start_ts < c.start_ts "
    "WHERE g.start_ts > g.from_ts)"

    /* What CUPTI tells of a process and of no thread has lanes of its own in recordings. */
    ", beside AS ("
    "SELECT id FROM Track WHERE role = 'async' AND"
    " name IN ('CUDA synchronization', 'CUPTI overhead', 'CUDA memory', 'GPU windows'))"

    ", span AS ("
    "SELECT e.id, e.name, e.start_ts, e.end_ts, e.duration_ns, e.process_id, e.thread_id,"
    " e.track_id "
    "FROM SystemProfileEvents e JOIN kind t ON t.id = e.event_type_id "
    "WHERE t.is_span AND e.duration_ns > 0"
    " AND (e.trace_event_source = 'framework' OR NOT t.is_guessed)"
    " AND e.track_id NOT IN (SELECT id FROM beside)"
    " AND e.trace_event_source NOT LIKE '%hw')"

    /* Joined by slices of time, as all ranges and calls of a thread are too many pairs. */
    ", slice AS ("
    "SELECT greatest((max(end_ts) - min(start_ts)) // 4096, 1) AS ns FROM span)"

    ", enclosed AS ("
    "SELECT s.id AS span_id, c.call_id "
    "FROM (SELECT id, track_id, start_ts, end_ts,"
    " unnest(range(start_ts // ns, end_ts // ns + 1)) AS slice FROM span, slice) s "
    "JOIN (SELECT DISTINCT call_id, call_track, call_start, call_start // ns AS slice"
    " FROM launched, slice) c "
    "ON c.call_track = s.track_id AND c.slice = s.slice"
    " AND c.call_start >= s.start_ts AND c.call_start < s.end_ts)";

static const enum table_number tables[] = {
    TABLE_KERNELS, TABLE_COPIES, TABLE_COLLECTIVES, TABLE_EVENT_TYPES,
    TABLE_TRACKS,  TABLE_RUNS,   TABLE_MODULES,     TABLE_OPERATIONS,
};

bool relations_missing(struct output *sql, struct sql_connection *connection, struct error *err)
{
    struct present_tables *present;
    bool ok = present_find(&present, connection, err);
    missing_put(sql, present, tables, sizeof tables / sizeof *tables);
    present_free(present);
    return ok;
}

void relations_put(struct output *sql, const struct output *missing, bool has_base_names)
{
    output_text(sql, "WITH ");
    output_write(sql, missing->data, missing->size);
    output_format(sql, "named AS (SELECT k.*, %s AS shown_name FROM GpuKernel k)",
                  has_base_names ? BASE_NAME : FULL_NAME);
    output_text(sql, relations);
}
