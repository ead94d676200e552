// Charts of query results.
import { expect, test } from 'vitest'
import type { SqlResponse } from './api'
import { axisMarks, chosenColumns, makeChart, readChoice } from './sqlChart'

const RESPONSE: SqlResponse = {
  columns: [{ name: 'step', kind: 'number' }, { name: 'name', kind: 'text' }, { name: 'ms', kind: 'number' }, { name: 'gap', kind: 'number' }],
  rows: [[10, 'a', 1.5, null], [20, 'b', 3, -2], [40, 'c', null, 4]],
  truncated: false,
}

test('without a choice the first text is along the axis, and the first number is drawn', () => {
  expect(chosenColumns(RESPONSE, readChoice({ chart: 'bars' }))).toEqual({ x: 'name', y: ['step'] })
  expect(chosenColumns(RESPONSE, readChoice({ chart: 'bars', x: 'step', y: '["ms","gap","nothing"]' }))).toEqual({ x: 'step', y: ['ms', 'gap'] })
  const numbers = { ...RESPONSE, columns: RESPONSE.columns.map((column) => ({ ...column, kind: 'number' as const })) }
  expect(chosenColumns(numbers, readChoice({ chart: 'lines' }))).toEqual({ x: 'step', y: ['name'] })
})

test('lines stand at their values, bars side by side; what is unknown is not drawn', () => {
  const lines = makeChart(RESPONSE, readChoice({ chart: 'lines', x: 'step', y: '["ms"]' }))!
  expect(lines.positions).toEqual([0, 1 / 3, 1])
  expect(lines.series).toEqual([{ name: 'ms', values: [1.5, 3, null] }])
  const bars = makeChart(RESPONSE, readChoice({ chart: 'bars', x: 'name', y: '["ms"]' }))!
  expect(bars.positions).toEqual([1 / 6, 3 / 6, 5 / 6])
  expect(bars.labels).toEqual(['a', 'b', 'c'])
  expect(makeChart(RESPONSE, readChoice(undefined))).toBeNull()
  expect(makeChart(RESPONSE, readChoice({ chart: 'bars', y: '[' }))).not.toBeNull()
})

test('the marks of an axis are round, and enclose all values and zero', () => {
  expect(axisMarks([1.5, 3, null], 4)).toEqual([0, 1, 2, 3])
  expect(axisMarks([-2, 4], 4)).toEqual([-2, 0, 2, 4])
  expect(axisMarks([], 4)).toEqual([0, 0.5])
})
