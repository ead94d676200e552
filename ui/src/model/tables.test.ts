import { describe, expect, test } from 'vitest'
import { compareCells, exactCell, flattenRows, formatCell, rowMatcher, sortRows, toCsv, type TableColumn } from './tables'

interface Row {
  name: string
  total: number | null
  inside?: Row[]
}

const columns: TableColumn<Row>[] = [
  { key: 'name', title: 'Name', kind: 'text', value: (row) => row.name },
  { key: 'total', title: 'Total', kind: 'ns', value: (row) => row.total },
]
const rows: Row[] = [
  { name: 'beta', total: 5 },
  { name: 'alpha "x", y', total: null },
  { name: 'Gamma', total: 18015, inside: [{ name: 'small', total: 1 }, { name: 'large', total: 9 }] },
]

describe('cells', () => {
  test('are formatted with their unit, and with all digits on request', () => {
    expect(formatCell(18015, 'ns')).toBe('18.02 µs')
    expect(exactCell(18015, 'ns')).toBe('18,015 ns')
    expect(formatCell(0.5, 'share')).toBe('50.0 %')
    expect(formatCell(1234567, 'count')).toBe('1,234,567')
    expect(formatCell(null, 'ns')).toBe('')
  })

  test('nulls come last in either sort direction', () => {
    expect(compareCells(null, 1, false)).toBe(1)
    expect(compareCells(null, 1, true)).toBe(1)
    expect(sortRows(rows, columns[1], true).map((row) => row.total)).toEqual([18015, 5, null])
    expect(sortRows(rows, columns[1], false).map((row) => row.total)).toEqual([5, 18015, null])
  })
})

test('a filter keeps rows that contain all its words', () => {
  expect(rows.filter(rowMatcher(columns, 'GAM 180')).map((row) => row.name)).toEqual(['Gamma'])
  expect(rows.filter(rowMatcher(columns, '  '))).toHaveLength(3)
})

test('a tree is sorted level by level, and keeps the ancestors of matches', () => {
  const options = {
    children: (row: Row) => row.inside ?? [], isExpanded: () => true, column: columns[1], isDescending: true,
  }
  const all = flattenRows(rows, { ...options, matches: () => true })
  expect(all.map((item) => [item.row.name, item.depth])).toEqual([
    ['Gamma', 0], ['large', 1], ['small', 1], ['beta', 0], ['alpha "x", y', 0],
  ])
  const some = flattenRows(rows, { ...options, matches: (row) => row.name === 'small' })
  expect(some.map((item) => item.row.name)).toEqual(['Gamma', 'small'])
})

test('CSV quotes where needed and has units in the header', () => {
  const digits = [{ name: 'third', total: 1 / 3 }, { name: 'large', total: 1234567.0123456789 }]
  expect(toCsv(columns, digits)).toBe('Name,Total (ns)\r\nthird,0.3333333333333333\r\nlarge,1234567.0123456789\r\n')
  expect(toCsv(columns, rows.slice(0, 2))).toBe('Name,Total (ns)\r\nbeta,5\r\n"alpha ""x"", y",\r\n')
})
