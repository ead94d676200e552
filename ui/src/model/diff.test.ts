// What the page of two profiles makes of the server's answer.
import { expect, test } from 'vitest'
import { columnsFor, firstKind, firstStep, formatChange, formatRatio, stepLines, stepSpan, waterfall, type Diff, type DiffRow } from './diff'
import { exactCell, formatCell } from './tables'

const step = (number: number, start_ns: number, duration_ns: number, left_out = false) => ({ number, start_ns, duration_ns, left_out })
const side = (name: string, ...steps: ReturnType<typeof step>[]) => ({ name, devices: 1, device_name: '', steps })
const diff = {
  a: side('a', step(0, 0, 500, true), step(1, 500, 100), step(2, 600, 100)),
  b: side('b', step(7, 10, 900, true), step(8, 910, 400, true), step(9, 1310, 120)),
  step_time: { a_ns: 100, b_ns: 120, difference_ns: 20 },
  contributions: [
    { name: 'computation', a_ns: 60, b_ns: 90, difference_ns: 30, kind: 'kernels', rows: [{ name: 'k', layer: '', shape: '', matched: 'exact', difference_ns: 25 }], others_ns: 5, rest_ns: 0, rest: 'rest' },
    { name: 'copies', a_ns: 20, b_ns: 20, difference_ns: 0 },
    { name: 'other', a_ns: 20, b_ns: 10, difference_ns: -10 },
  ],
} as unknown as Diff

test('bars lead from one step time to the other, each from where the last one ended', () => {
  const bars = waterfall(diff)
  const ns = (share: number) => Math.round(share * 130)
  expect(bars.map((bar) => [bar.name, bar.kind, bar.depth, ns(bar.from), ns(bar.to)])).toEqual([
    ['Step time of A', 'total', 0, 0, 100],
    ['computation', 'more', 0, 100, 130],
    ['k', 'more', 1, 100, 125],
    ['other kernels', 'more', 1, 125, 130],
    ['other', 'less', 0, 120, 130],
    ['Step time of B', 'total', 0, 0, 120],
  ])
  expect(bars[2]!.value).toEqual({ id: 'diff.kernels.difference', text: '+25.0 ns', key: { name: 'k', layer: '', shape: '', matched: 'exact' } })
  expect(waterfall({ ...diff, step_time: null })).toEqual([])
})

test('timelines begin at the first step after warming up of both, and are as long as the longer one', () => {
  expect(firstStep(diff)).toBe(2)
  expect(stepSpan(diff, 2)).toEqual({ from: -3600, to: 123600 })
  expect(stepSpan(diff, 5)).toBeNull()
})

test('lines of step times are scaled to the steps that count', () => {
  const { low, high, count, lines } = stepLines(diff)
  expect([low, high, count]).toEqual([98, 122, 3])
  expect(lines.b).toEqual([{ at: 0, ns: 900 }, { at: 1, ns: 400 }, { at: 2, ns: 120 }])
})

test('of runs the first rows are those in which something is slower', () => {
  const none = { more: 0, less: 0, new: 0, gone: 0, same: 3 }
  const counts = { steps: { ...none, more: 1 }, ranks: none, kernels: none, collectives: { ...none, more: 2 } }
  const kinds = ['steps', 'ranks', 'kernels', 'collectives'] as const
  expect(firstKind({ of: 'runs', counts } as unknown as Diff, kinds)).toBe('collectives')
  expect(firstKind({ of: 'profiles', counts } as unknown as Diff, kinds)).toBe('kernels')
  expect(firstKind({ of: 'profiles', counts } as unknown as Diff, ['steps', 'memory'])).toBe('steps')
})

test('small probabilities are not rounded up; changes of ranks are shares of the median rank’s time', () => {
  const row = { kind: 'ranks', change: 'slower', layer: '', shape: '', a: 6_500, b: 5_665_000, difference: 5_658_500, ratio: 1.134, p_adjusted: 5e-10, significance: 'significant', matched: 'exact' } as DiffRow
  const text = (rows: DiffRow[], key: string) => {
    const column = columnsFor(rows).find((one) => one.key === key)!
    return [column.title, formatCell(column.value(rows[0]!), column.kind)]
  }
  expect(text([row], 'p')).toEqual(['p', '< 0.0001'])
  expect(exactCell(row.p_adjusted, 'probability')).toBe('5.00e-10')
  expect(text([row], 'ratio')).toEqual(['Of median', '13.4 %'])
  expect(text([{ ...row, kind: 'kernels', ratio: row.b! / row.a!, p_adjusted: 0.0213 }], 'ratio')[0]).toBe('B / A')
  expect(text([{ ...row, kind: 'kernels', p_adjusted: 0.0213 }], 'p')[1]).toBe('0.0213')
})

test('changes have a sign', () => {
  expect([12_500, -12_500, 0].map((ns) => formatChange(ns))).toEqual(['+12.5 µs', '−12.5 µs', '0'])
  expect([1.5, 0.5, 1, 12, null].map(formatRatio)).toEqual(['+50.0 %', '−50.0 %', '0.0 %', '×12.0', ''])
})
