// SQL of steps with the time of their kernels.

// What a kernel adds to the time that those before it in its step cover.
const BEFORE = 'max(end_ts) OVER (PARTITION BY step_id ORDER BY start_ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'
const ADDED = `SELECT step_id, duration_ns, greatest(end_ts - greatest(start_ts, coalesce(${BEFORE}, start_ts)), 0) AS busy_ns FROM GpuKernel`
const KERNELS = `SELECT step_id, sum(duration_ns)::DOUBLE AS kernel_ns, sum(busy_ns)::DOUBLE AS kernel_busy_ns FROM (${ADDED}) GROUP BY step_id`

export function stepsSql(hasKernels: boolean): string {
  const span = 's.device_end_ts - s.device_start_ts'
  const columns = hasKernels ? `, k.kernel_ns, k.kernel_busy_ns / nullif(${span}, 0) AS kernel_share` : ''
  return `SELECT s.*, ${span} AS device_span_ns${columns} FROM Step s${hasKernels ? ` LEFT JOIN (${KERNELS}) k ON k.step_id = s.id` : ''} ORDER BY s.start_ts, s.id`
}
