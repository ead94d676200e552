// Completion in the search box.
import { expect, test } from 'vitest'
import { completions, queryForName, typedValue, valuesSql, withValue, wordAt } from './search'

test('the word at the cursor is completed', () => {
  expect(wordAt('name:a dur', 10)).toEqual({ from: 7, word: 'dur' })
  expect(wordAt('dur name:a', 3)).toEqual({ from: 0, word: 'dur' })
  expect(wordAt('', 0)).toEqual({ from: 0, word: '' })
})

test('fields that start with the word come before those that contain it; there are none after an operator', () => {
  const fields = ['duration', 'name', 'duration_ns', 'x_dur']
  expect(completions(fields, 'DUR')).toEqual(['duration', 'duration_ns', 'x_dur'])
  expect(completions(fields, 'duration>1')).toEqual([])
  expect(completions(fields, '')).toEqual([])
})

test('a name with any characters becomes a condition that matches it', () => {
  expect(queryForName('a "b" \\ c')).toBe('name:"a \\"b\\" \\\\ c"')
})

test('the value that is being typed is found, quoted or not', () => {
  expect(typedValue('duration>1us name:gem', 21)).toEqual({ from: 13, field: 'name', relation: ':', value: 'gem' })
  expect(typedValue('layer~"two wo', 13)).toEqual({ from: 0, field: 'layer', relation: '~', value: 'two wo' })
  expect(typedValue('name:"done" ', 12)).toBe(null)
  expect(typedValue('duration>1', 10)).toBe(null)
})

test('a suggested value is quoted where it has to be', () => {
  const typed = typedValue('name:a', 6)!
  expect(withValue(typed, 'aten::conv2d')).toBe('name:aten::conv2d')
  expect(withValue(typed, 'two "words"')).toBe('name:"two \\"words\\""')
})

test('values come from tables that exist; fields of numbers have none', () => {
  const column = (name: string, type: string) => ({ name, type, unit: '', meaning: '' })
  const tables = [
    { name: 'EventType', meaning: '', rows: 3, columns: [column('name', 'string')] },
    { name: 'GpuKernel', meaning: '', rows: 3, columns: [column('context_id', 'string'), column('grid_x', 'int64')] },
  ]
  expect(valuesSql(typedValue("name:it's", 9)!, tables)).toContain(`FROM "EventType") WHERE v <> '' AND length(v) < 200 AND contains(lower(v), 'it''s')`)
  expect(valuesSql(typedValue('context_id:', 11)!, tables)).toContain('FROM "GpuKernel"')
  expect(valuesSql(typedValue('grid_x:', 7)!, tables)).toBe(null)
  expect(valuesSql(typedValue('layer:', 6)!, tables)).toBe(null)
})
