/*
 * memory_profile: what the framework's allocators hold over time, and what is alive at the peak.
 */
#include "report/xprof/tool.h"

/* SQL has its own lines. */
/* clang-format off */

/* Where most memory is in use, the last time; XProf's peak. A number that has both, as sorting all
 * events takes three times as long. */
#define USED "(stack + heap)::HUGEINT * 1099511627776"
#define PEAK                                                                                       \
    "peak AS (SELECT m.*, stack + heap AS used FROM memory m JOIN (SELECT memory_id,"              \
    " max(" USED " + position) % 1099511627776 AS position FROM memory GROUP BY memory_id)"        \
    " USING (memory_id, position))"

/* Frees take what the allocation of the same address says, if any says something: JAX's do not. */
#define FREED                                                                                     \
    "told AS (SELECT coalesce(bool_or(tf_op <> '' OR region <> '' OR shape <> '' OR"               \
    " type_number <> 0), false) AS is_any FROM memory)"                                            \
    ", freed AS (SELECT id, before.* EXCLUDE (is_allocation) FROM (SELECT id, is_allocation,"      \
    " lag({'is_allocation': is_allocation, 'before_op': tf_op, 'before_region': region,"           \
    " 'before_shape': shape, 'before_type': type_number})"                                         \
    " OVER (PARTITION BY memory_id, address ORDER BY position) AS before"                          \
    " FROM memory WHERE (SELECT is_any FROM told)) WHERE NOT is_allocation AND"                    \
    " before.is_allocation)"
#define FILLED(events)                                                                             \
    "(SELECT m.* EXCLUDE (tf_op, region, shape, type_number),"                                     \
    " coalesce(before_op, tf_op) AS tf_op, coalesce(before_region, region) AS region,"             \
    " coalesce(before_shape, shape) AS shape, coalesce(before_type, type_number) AS type_number"   \
    " FROM (" events ") m LEFT JOIN freed ON freed.id = m.id)"

/* The types of TensorFlow, as it numbers them. */
#define TYPE_NAME                                                                                  \
    "coalesce(['float', 'double', 'int32', 'uint8', 'int16', 'int8', 'string', 'complex64',"       \
    " 'int64', 'bool', 'qint8', 'quint8', 'qint32', 'bfloat16', 'qint16', 'quint16', 'uint16',"    \
    " 'complex128', 'half', 'resource', 'variant', 'uint32', 'uint64'][type_number], 'INVALID')"

static const struct tool_column summary_columns[] = {
    STRING("memory_id", "Memory", FOR_USERS),
    NUMBER("peak_bytes", "Peak (B)", FOR_USERS, 0),
    NUMBER("peak_time_ms", "At (ms)", FOR_USERS, 3),
    NUMBER("lifetime_peak_bytes", "Lifetime peak (B)", FOR_USERS, 0),
    NUMBER("capacity_bytes", "Capacity (B)", FOR_USERS, 0),
    NUMBER("heap_bytes", "Heap (B)", FOR_SCRIPTS, 0),
    NUMBER("stack_bytes", "Stack (B)", FOR_SCRIPTS, 0),
    NUMBER("fragmentation_percent", "Fragmentation (%)", FOR_USERS, 1),
    NUMBER("allocations", "Allocations", FOR_USERS, 0),
    NUMBER("frees", "Frees", FOR_USERS, 0),
};
static const struct tool_column alive_columns[] = {
    STRING("memory_id", "Memory", FOR_USERS),
    NUMBER("occurrences", "Count", FOR_USERS, 0),
    NUMBER("allocation_bytes", "Each (B)", FOR_USERS, 0),
    NUMBER("requested_bytes", "Requested (B)", FOR_USERS, 0),
    NUMBER("total_bytes", "Total (B)", FOR_USERS, 0),
    NUMBER("percent_of_peak", "Of peak (%)", FOR_USERS, 1),
    STRING("data_type", "Type", FOR_USERS),
    STRING("shape", "Shape", FOR_USERS),
    STRING("region", "Region", FOR_SCRIPTS),
    STRING("op_name", "Operation", FOR_USERS),
};
static const struct tool_column timeline_columns[] = {
    STRING("memory_id", "Memory", FOR_SCRIPTS),
    NUMBER("time_ms", "Time (ms)", FOR_SCRIPTS, 3),
    NUMBER("heap_bytes", "Heap (B)", FOR_SCRIPTS, 0),
    NUMBER("stack_bytes", "Stack (B)", FOR_SCRIPTS, 0),
    NUMBER("free_bytes", "Free (B)", FOR_SCRIPTS, 0),
    NUMBER("fragmentation", "Fragmentation", FOR_SCRIPTS, 3),
    NUMBER("step", "Step", FOR_SCRIPTS, 0),
};

static const struct tool_table memory_tables[] = {
    {.name = "summary",
     .title = "Memory of the framework's allocators",
     .forms = FOR_USERS,
     COLUMNS_OF(summary_columns),
     .sql = "WITH " PEAK " SELECT memory_id, any_value(p.used) AS peak_bytes,"
            " any_value(p.time_ps) / 1e9 AS peak_time_ms,"
            " max(m.lifetime_peak) AS lifetime_peak_bytes,"
            " any_value(p.used + p.free) AS capacity_bytes, any_value(p.heap) AS heap_bytes,"
            " any_value(p.stack) AS stack_bytes,"
            " any_value(CASE WHEN isnan(p.fragmentation) THEN NULL ELSE 100 * p.fragmentation END)"
            " AS fragmentation_percent,"
            " count(*) FILTER (m.is_allocation) AS allocations,"
            " count(*) FILTER (NOT m.is_allocation) AS frees "
            "FROM memory m JOIN peak p USING (memory_id) GROUP BY memory_id"
            " ORDER BY peak_bytes DESC, memory_id"},

    /* All that is alive, not only what the peak's step has allocated, as XProf has it. */
    {.name = "at_peak",
     .title = "Allocations at the peak",
     .forms = FOR_USERS,
     COLUMNS_OF(alive_columns),
     .sql = "WITH " PEAK ", alive AS (SELECT DISTINCT ON (m.memory_id, m.address) m.*, p.used"
            " FROM memory m JOIN peak p ON p.memory_id = m.memory_id AND m.position <= p.position"
            " ORDER BY m.memory_id, m.address, m.position DESC)"
            ", shown AS (SELECT memory_id, used, count(*) AS occurrences, allocated, requested,"
            " " TYPE_NAME " AS type, shape, region, tf_op FROM alive WHERE is_allocation GROUP BY"
            " ALL)"
            ", known AS (SELECT memory_id, sum(occurrences * allocated) AS bytes FROM shown GROUP"
            " BY memory_id)"
            " SELECT memory_id, occurrences, allocated AS allocation_bytes,"
            " requested AS requested_bytes, occurrences * allocated AS total_bytes,"
            " 100.0 * occurrences * allocated / nullif(used, 0) AS percent_of_peak,"
            " nullif(type, 'INVALID') AS data_type, nullif(shape, '') AS shape,"
            " nullif(region, '') AS region, nullif(tf_op, '') AS op_name FROM shown "
            "UNION ALL SELECT p.memory_id, NULL, NULL, NULL,"
            " p.heap - coalesce(k.bytes, 0), 100.0 * (p.heap - coalesce(k.bytes, 0)) /"
            " nullif(p.used, 0), NULL, NULL, NULL, 'allocated before the capture'"
            " FROM peak p LEFT JOIN known k USING (memory_id) WHERE p.heap > coalesce(k.bytes, 0) "
            "UNION ALL SELECT memory_id, NULL, NULL, NULL, stack, 100.0 * stack / nullif(used, 0),"
            " NULL, NULL, NULL, 'stack' FROM peak WHERE stack > 0 "
            "ORDER BY memory_id, total_bytes DESC, allocation_bytes DESC NULLS FIRST,"
            " requested_bytes, op_name, shape"},

    {.name = "timeline",
     .title = "Timeline",
     .forms = FOR_SCRIPTS,
     COLUMNS_OF(timeline_columns),
     .sql = "SELECT memory_id, time_ps / 1e9 AS time_ms, heap AS heap_bytes, stack AS stack_bytes,"
            " free AS free_bytes, fragmentation, step FROM memory ORDER BY memory_id, position"},
};

/* An event as XProf's MemoryProfileSnapshot. 64-bit numbers are text in JSON of protocol buffers. */
#define NUMBER_TEXT(value) "(" value ")::VARCHAR"
#define METADATA                                                                                   \
    "{'memoryActivity': CASE WHEN is_allocation THEN 'ALLOCATION' ELSE 'DEALLOCATION' END,"        \
    " 'requestedBytes': " NUMBER_TEXT("requested")                                                 \
    ", 'allocationBytes': " NUMBER_TEXT("allocated") ", 'address': " NUMBER_TEXT("address")        \
    ", 'tfOpName': tf_op, 'stepId': " NUMBER_TEXT("step")                                          \
    ", 'regionType': region, 'dataType': " TYPE_NAME ", 'tensorShape': shape}"
#define STATS(peak)                                                                                \
    "{'stackReservedBytes': " NUMBER_TEXT("stack") ", 'heapAllocatedBytes': " NUMBER_TEXT("heap")  \
    ", 'freeMemoryBytes': " NUMBER_TEXT("free") ", 'fragmentation': CASE WHEN"                     \
    " isnan(fragmentation) THEN to_json('NaN') ELSE to_json(fragmentation) END,"                   \
    " 'peakBytesInUse': " NUMBER_TEXT(peak) "}"
#define SNAPSHOT                                                                                   \
    "to_json({'timeOffsetPs': " NUMBER_TEXT("time_ps") ", 'aggregationStats': "                    \
    STATS("lifetime_peak") ", 'activityMetadata': " METADATA "})"

static const char document[] =
    ", " FREED ", " PEAK
    /* Of the peak's step, up to the peak. */
    ", during AS (SELECT f.*, coalesce(lag(f.is_allocation) OVER (PARTITION BY f.memory_id,"
    " f.address ORDER BY f.position), false) AS is_alive_before,"
    " lead(f.id) OVER (PARTITION BY f.memory_id, f.address ORDER BY f.position) IS NULL AS is_last"
    " FROM " FILLED("SELECT m.* FROM memory m JOIN peak p ON p.memory_id = m.memory_id AND"
    " m.time_ps <= p.time_ps AND m.step = p.step") " f)"
    ", unmapped AS (SELECT p.memory_id, p.step, p.stack, p.heap - coalesce(sum(CASE"
    " WHEN d.is_allocation THEN d.allocated WHEN d.is_alive_before THEN -d.allocated ELSE 0"
    " END), 0) AS bytes FROM peak p LEFT JOIN during d USING (memory_id)"
    " GROUP BY p.memory_id, p.step, p.stack, p.heap)"
    ", special AS (SELECT memory_id, step, tf_op, region, bytes, row_number() OVER (PARTITION BY"
    " memory_id ORDER BY place) - 1 AS special_index FROM ("
    "SELECT memory_id, step, 'unused preallocated device memory' AS tf_op,"
    " 'persist/dynamic' AS region, bytes, 0 AS place FROM unmapped WHERE bytes > 0 "
    "UNION ALL SELECT memory_id, step, 'stack', 'stack', stack, 1 FROM unmapped WHERE stack > 0))"
    ", active AS (SELECT memory_id, allocated, requested, tf_op, region, type_number, shape,"
    " count(*) AS occurrences, min(position) AS position, NULL::BIGINT AS special_index"
    " FROM during WHERE is_last AND is_allocation GROUP BY ALL "
    "UNION ALL SELECT memory_id, bytes, bytes, tf_op, region, 0, 'unknown', 1, NULL, special_index"
    " FROM special)"
    ", listed AS (SELECT *, row_number() OVER (PARTITION BY memory_id, special_index IS NULL"
    " ORDER BY allocated DESC, requested DESC, tf_op, region, type_number, shape) - 1 AS number,"
    " row_number() OVER (PARTITION BY memory_id"
    " ORDER BY allocated DESC, requested DESC, tf_op, region, type_number, shape) AS place"
    " FROM active)"
    /* At most 1,000 events: the one with most memory in use of each of as many boxes. */
    ", box AS (SELECT memory_id, count(*) AS events, greatest(count(*) // 1000, 1) AS width, 1000"
    " * (greatest(count(*) // 1000, 1) + 1) - count(*) AS narrow FROM memory GROUP BY memory_id)"
    ", chosen AS (SELECT memory_id, (1099511627776 - max(" USED " - position) % 1099511627776) %"
    " 1099511627776 AS position FROM (SELECT memory_id, stack, heap, position, CASE"
    " WHEN b.events <= 1000 THEN position WHEN position < b.width * b.narrow"
    " THEN position // b.width"
    " ELSE b.narrow + (position - b.width * b.narrow) // (b.width + 1) END AS box_number"
    " FROM memory JOIN box b USING (memory_id)) GROUP BY memory_id, box_number)"
    ", sampled AS " FILLED("SELECT m.* FROM memory m JOIN chosen USING (memory_id, position)")
    ", snapshots AS (SELECT memory_id, list(" SNAPSHOT " ORDER BY number) AS items FROM ("
    "SELECT f.*, l.number FROM listed l JOIN during f ON f.memory_id = l.memory_id AND"
    " f.position = l.position) GROUP BY memory_id)"
    ", timeline AS (SELECT memory_id, list(" SNAPSHOT " ORDER BY position) AS items FROM sampled"
    " GROUP BY memory_id)"
    ", actives AS (SELECT memory_id, list({'snapshotIndex': "
    NUMBER_TEXT("CASE WHEN special_index IS NULL THEN number ELSE -1 END")
    ", 'specialIndex': " NUMBER_TEXT("coalesce(special_index, -1)")
    ", 'numOccurrences': " NUMBER_TEXT("occurrences") "} ORDER BY place) AS items FROM listed"
    " GROUP BY memory_id)"
    ", specials AS (SELECT memory_id, list(" METADATA " ORDER BY special_index) AS items FROM ("
    "SELECT *, true AS is_allocation, bytes AS requested, bytes AS allocated, 0 AS address,"
    " 0 AS type_number, 'unknown' AS shape FROM special) GROUP BY memory_id)"
    ", lifetime AS (SELECT memory_id, max(lifetime_peak) AS bytes FROM memory GROUP BY memory_id)"
    ", summaries AS (SELECT memory_id, {'peakBytesUsageLifetime': " NUMBER_TEXT("l.bytes")
    ", 'peakStats': " STATS("used") ", 'peakStatsTimePs': " NUMBER_TEXT("time_ps")
    ", 'memoryCapacity': " NUMBER_TEXT("used + free") "} AS item"
    " FROM peak JOIN lifetime l USING (memory_id))"
    ", allocators AS (SELECT memory_id, {'memoryProfileSnapshots': coalesce(s.items, []),"
    " 'profileSummary': summaries.item, 'activeAllocations': coalesce(a.items, []),"
    " 'specialAllocations': coalesce(p.items, []), 'sampledTimelineSnapshots':"
    " coalesce(t.items, [])} AS item FROM summaries LEFT JOIN snapshots s USING (memory_id)"
    " LEFT JOIN actives a USING (memory_id) LEFT JOIN specials p USING (memory_id)"
    " LEFT JOIN timeline t USING (memory_id))"
    ", module_run AS (SELECT e.name, e.start_ts * 1000 + e.start_fraction_ps AS start_ps,"
    " e.duration_ns * 1000 + e.duration_fraction_ps AS ps, substr(d.name, 9) AS plane,"
    " row_number() OVER (ORDER BY d.sort_key, d.id, e.id) - 1 AS number"
    " FROM SystemProfileEvents e JOIN Track t ON t.id = e.track_id AND t.name = 'XLA Modules'"
    " JOIN Track d ON d.id = t.parent_id AND d.name LIKE '/device:TPU:%')"
    " SELECT json_object('memoryProfilePerAllocator',"
    " coalesce((SELECT json_group_object(memory_id, item) FROM allocators), '{}'::JSON),"
    " 'numHosts', 1, 'memoryIds', coalesce((SELECT list(memory_id ORDER BY memory_id) FROM"
    " allocators), []), 'version', 1, 'hloModules', coalesce((SELECT list({'name': name,"
    " 'startTimePs': " NUMBER_TEXT("start_ps") ", 'endTimePs': " NUMBER_TEXT("start_ps + ps")
    ", 'id': " NUMBER_TEXT("number") ", 'planeName': plane} ORDER BY number) FROM module_run), []))";

/* clang-format on */

const struct xprof_tool memory_profile = {
    .name = "memory_profile",
    .about = "memory of the framework's allocators over time, and what is alive at the peak",
    .why = "the capture has no allocations: JAX and TensorFlow record them when their host tracer "
           "has level 2, PyTorch with profile_memory=True",
    TABLES_OF(memory_tables),
    .document = document,
};
