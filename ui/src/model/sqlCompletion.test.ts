// Completion of queries.
import { expect, test } from 'vitest'
import type { TableInfo } from './api'
import { completionsAt } from './sqlCompletion'

const table = (name: string, ...columns: string[]): TableInfo => ({
  name, meaning: `All of ${name}.`, rows: 3, columns: columns.map((column) => ({ name: column, type: 'int64', unit: 'ns', meaning: `The ${column}.` })),
})
const TABLES = [table('Step', 'id', 'duration_ns'), table('GpuKernel', 'id', 'grid_x')]

/** Labels by kind; | is the cursor. */
function at(text: string, isAsked = false): Record<string, string[]> | null {
  const position = text.indexOf('|')
  const found = completionsAt(text.replace('|', ''), position, TABLES, isAsked)
  if (!found) return null
  const labels: Record<string, string[]> = {}
  for (const { kind, label } of found.options) (labels[kind] ??= []).push(label)
  return labels
}

test('columns are those of the tables in the query, wherever these are', () => {
  expect(at('SELECT d| FROM Step')?.column).toEqual(['id', 'duration_ns'])
  expect(at('SELECT d| FROM Step JOIN GpuKernel USING (id)')?.column).toEqual(['id', 'duration_ns', 'grid_x'])
  expect(at('SELECT d|')?.column).toBeUndefined()
  expect(at('SELECT d|')?.function).toContain('dense_rank')
  expect(at('SELECT d|')?.keyword).toContain('DISTINCT')
})

test('after FROM there are tables alone, after a point the columns of a table or its alias', () => {
  expect(at('SELECT * FROM G|')).toEqual({ table: ['Step', 'GpuKernel'] })
  expect(at('SELECT k.| FROM GpuKernel k')).toEqual({ column: ['id', 'grid_x'] })
  expect(at('SELECT Step.i| FROM GpuKernel AS k, Step')).toEqual({ column: ['id', 'duration_ns'] })
  expect(at('SELECT x.| FROM GpuKernel k')).toBeNull()
})

test('nothing is offered in texts and comments, and without a word only to who asks', () => {
  expect(at("SELECT 'ab|'")).toBeNull()
  expect(at('SELECT 1 -- ab|')).toBeNull()
  expect(at('SELECT |')).toBeNull()
  expect(at('SELECT |', true)?.table).toEqual(['Step', 'GpuKernel'])
})
