// Tracks from queries: which results can be one, rows without overlaps, and tiles in which every event is counted once.
import { expect, test } from 'vitest'
import type { SqlResponse } from './api'
import { makeSqlLane, NO_EVENT_ID, sqlTimeline, trackColumns } from './sqlTracks'

function response(columns: Record<string, 'text' | 'number'>, rows: unknown[][]): SqlResponse {
  return { columns: Object.entries(columns).map(([name, kind]) => ({ name, kind })), rows, truncated: false }
}

const QUERY = { name: 'mine', sql: 'SELECT id, name, start_ts, duration_ns FROM GpuKernel' }

test('a result needs a start and a duration or an end', () => {
  expect(trackColumns(response({ name: 'text', start_ts: 'number' }, []))).toBe(null)
  expect(trackColumns(response({ start_ts: 'number', end_ts: 'number' }, []))).toMatchObject({ start: 0, length: 1, lengthIsEnd: true, name: -1 })
  expect(trackColumns(response({ what: 'text', start_ps: 'number', dur: 'number' }, []))).toMatchObject({ startScale: 1, lengthScale: 1000, name: 0 })
})

test('nested events are below each other, and ids lead to events', () => {
  const columns = { id: 'number', name: 'text', start_ts: 'number', duration_ns: 'number' } as const
  const lane = makeSqlLane(QUERY, response(columns, [[7, 'inner', 2, 3], [5, 'outer', 0, 10], [9, 'next', 10, 1], [11, 'no time', null, 1]]))!
  expect(lane.rows.map((row) => row.map((event) => event.id))).toEqual([[5, 9], [7]])
  expect(lane.track).toMatchObject({ rows: 2, event_count: 3, name: 'mine', table: 'SystemProfileEvents' })
  const free = makeSqlLane({ name: '', sql: 'SELECT 1 AS start, 2 AS duration' }, response({ start: 'number', duration: 'number' }, [[1, 2]]))!
  expect(free.rows[0]![0]!.id).toBe(NO_EVENT_ID)
})

test('every event is in exactly one item of a tile, however narrow', () => {
  const rows = Array.from({ length: 1000 }, (_, at) => [at, `n${at % 7}`, at * 10, at % 9])
  const lane = makeSqlLane(QUERY, response({ id: 'number', name: 'text', start_ts: 'number', duration_ns: 'number' }, rows))!
  for (const width of [1, 10, 333, 5000]) {
    const data = sqlTimeline(lane, { from: 0, to: 10_000_000 }, width)
    expect(data.slices.count.reduce((sum, count) => sum + count, 0)).toBe(1000)
    for (const row of data.sliceRows) {
      for (let i = row.first + 1; i < row.first + row.count; i++) expect(data.slices.start[i]!).toBeGreaterThanOrEqual(data.slices.end[i - 1]!)
    }
    expect([...data.slices.name].every((name) => data.names[name] !== undefined)).toBe(true)
  }
  const part = sqlTimeline(lane, { from: 1_000_000, to: 1_100_000 }, 1000)
  expect([...part.slices.id]).toEqual([100, 101, 102, 103, 104, 105, 106, 107, 108, 109])
})
