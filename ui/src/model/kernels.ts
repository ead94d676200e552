// SQL of GPU kernels by name and launch configuration, and of memory copies.
import { READABLE_SYMBOLS } from './sql'

// A row's id is the lowest of its events.
const TIMES =
  'min(id) AS id, count(*) AS count, sum(duration_ns)::DOUBLE AS total_ns, avg(duration_ns) AS mean_ns, min(duration_ns) AS min_ns, ' +
  'max(duration_ns) AS max_ns, sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER (), 0) AS share, arg_min(id, start_ts) AS first_id'

/** The value if it is the same in all rows, else the number of distinct ones. */
const same = (value: string, many: string) =>
  `CASE WHEN count(DISTINCT ${value}) > 1 THEN count(DISTINCT ${value}) || ' ${many}' ELSE any_value(${value})::VARCHAR END`

const GRID = "(grid_x || ' × ' || grid_y || ' × ' || grid_z)"
const BLOCK = "(block_x || ' × ' || block_y || ' × ' || block_z)"

/** Kernels by name, or also by launch configuration. Profiles of older versions have no families. */
export function kernelsSql(isSplit: boolean, hasFamilies: boolean): string {
  return (
    `SELECT name, any_value(readable) AS readable, ${TIMES}, ${same(GRID, 'sizes')} AS grid, ${same(BLOCK, 'sizes')} AS block, ` +
    `${same('registers_per_thread', 'values')} AS registers, ${same('shared_bytes', 'sizes')} AS shared, ` +
    `avg(occupancy_percent) AS occupancy, ` +
    (hasFamilies ? `any_value(family) AS family, CASE WHEN bool_or(uses_tensor_cores) THEN 'yes' WHEN count(uses_tensor_cores) = count(*) THEN 'no' END AS tensor, ` : '') +
    `${same('hlo_op', 'operations')} AS operation, ${same('hlo_module', 'modules')} AS module ` +
    `FROM GpuKernel LEFT JOIN ${READABLE_SYMBOLS} ON symbol = name GROUP BY name${isSplit ? `, ${GRID}, ${BLOCK}` : ''} ORDER BY total_ns DESC`
  )
}

export const COPIES_SQL =
  `SELECT name, concat_ws(' → ', source_kind, destination_kind) AS way, ${TIMES}, sum(size_bytes)::DOUBLE AS bytes, ` +
  `sum(size_bytes)::DOUBLE / nullif(sum(duration_ns) FILTER (size_bytes IS NOT NULL), 0) * 1e9 AS rate, ` +
  `${same('hlo_module', 'modules')} AS module FROM GpuCopy GROUP BY name, way ORDER BY total_ns DESC`
