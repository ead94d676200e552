import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findSections, findTerms, glossarySections, readPieces, readTerms } from './glossary'

const terms = readTerms(readFileSync(new URL('../../../docs/glossary.md', import.meta.url), 'utf8'))

test('terms are the paragraphs of the glossary, without marks', () => {
  const step = terms.find(({ name }) => name === 'Step time')!
  expect(step.anchor).toBe('step-time')
  expect(terms.length).toBeGreaterThan(100)
  expect(new Set(terms.map(({ anchor }) => anchor)).size).toBe(terms.length)
  for (const { name, text } of terms) for (const piece of text) expect(`${name}: ${piece.text}`).not.toMatch(/\*\*|`|\]\(/)
  expect(readPieces('a `b` of [c](d.md), *e*')).toEqual([
    { text: 'a ', kind: 'plain' }, { text: 'b', kind: 'code' }, { text: ' of ', kind: 'plain' }, { text: 'c', kind: 'plain' }, { text: ', ', kind: 'plain' },
    { text: 'e', kind: 'em' },
  ])
})

test('figures are grouped by page, and searched by words in any order', () => {
  const figure = (column: string, label: string) => ({ column, label, unit: 'ns', text: `${label} time`, formula: '' })
  const sections = glossarySections([
    { id: 'summary', title: 'All.', keys: [], figures: [figure('span_ns', 'Duration')] },
    { id: 'summary.devices', title: 'Devices.', keys: ['name'], figures: [figure('busy_ns', 'Busy'), figure('sum_ns', 'Sum')] },
    { id: 'table.Step', title: 'Steps.', keys: ['id'], figures: [figure('device_ns', 'device_ns')] },
  ])
  expect(sections.map(({ title, groups }) => [title, groups.length])).toEqual([['Summary', 2], ['Tables', 1]])
  expect(findSections(sections, 'TIME busy').map(({ groups }) => groups.map(({ figures }) => figures.length))).toEqual([[1]])
  expect(findSections(sections, 'nothing of this')).toEqual([])
  expect(findTerms(terms, 'step time').map(({ name }) => name)).toContain('Step time')
})
