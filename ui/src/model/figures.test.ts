import { expect, test } from 'vitest'
import { describeFigure, figure, figureQuery, findFigure, joinWords, plainText, type FigureGroup } from './figures'

const busy = { column: 'busy_share', label: 'Busy', unit: 'fraction', text: 'Busy time as a share of the duration', formula: 'busy_ns / span_ns' }
const groups: FigureGroup[] = [
  { id: 'summary', title: '', keys: [], figures: [{ ...busy, column: 'span_ns' }] },
  { id: 'summary.devices', title: '', keys: ['name'], figures: [busy, { ...busy, column: 'launch_delay_ns.p50' }] },
]

test('an id is that of a group and a column, which both may have dots', () => {
  expect(findFigure(groups, 'summary.devices.busy_share')!.definition).toBe(busy)
  expect(findFigure(groups, 'summary.devices.launch_delay_ns.p50')!.group.id).toBe('summary.devices')
  expect(findFigure(groups, 'summary.span_ns')!.group.id).toBe('summary')
  expect(findFigure(groups, 'summary.busy_share')).toBeNull()
})

test('a definition is a sentence and a formula', () => {
  expect(describeFigure(busy)).toBe('Busy: Busy time as a share of the duration.\n= busy_ns / span_ns')
  expect(describeFigure({ ...busy, unit: 'ns', formula: '' })).toBe('Busy (ns): Busy time as a share of the duration.')
  expect(describeFigure({ ...busy, unit: '', text: 'Its time.', formula: '' })).toBe('Busy: Its time.')
})

test('the query of a figure selects its column and its row', () => {
  expect(figureQuery('SELECT 1', 'a"b')).toBe('SELECT "a""b"\nFROM (\nSELECT 1\n)')
  expect(figureQuery('SELECT 1', 'a', { name: "it's", n: 2, x: null })).toContain(
    `WHERE "name" IS NOT DISTINCT FROM 'it''s'\n  AND "n" IS NOT DISTINCT FROM 2\n  AND "x" IS NOT DISTINCT FROM null`,
  )
})

test('words are text with figures', () => {
  const share = figure('summary.devices.busy_share', '12 %', { name: 'GPU' })
  expect(plainText(joinWords([[share], '', undefined, 'of 3 ms']))).toBe('12 % · of 3 ms')
  expect(plainText('plain')).toBe('plain')
})
