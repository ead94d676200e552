// The address restores the view, and holds only what differs from the defaults.
import { expect, test } from 'vitest'
import { defaultView, readView, writeView, type View } from './view'

test('the default view needs nothing in the address', () => {
  expect(writeView(defaultView()).toString()).toBe('')
  expect(readView(new URLSearchParams())).toEqual(defaultView())
})

test('panels, tables and tracks from queries are restored', () => {
  const view: View = {
    ...defaultView(), panel: 'maximized', tabsHeight: 333, detailsWidth: 500, isDetailsOpen: false, flame: 'step:3',
    sqlTracks: [{ name: 'a & b', sql: "SELECT 'ü' AS name, 1 AS start, 2 AS duration" }],
    grids: { Operations: { filter: 'gemm 1', sort: '-count', top: 12, choices: { group: 'layer' } } },
  }
  expect(readView(new URLSearchParams(writeView(view).toString()))).toEqual(view)
})

test('links with the older spelling still work', () => {
  const older = readView(new URLSearchParams('colour=engine&panel=maximised&grids={"Memory map":{"choices":{"colour":"source"}}}'))
  expect(writeView(older).toString()).toBe(new URLSearchParams({ color: 'engine', grids: '{"Memory map":{"choices":{"color":"source"}}}', panel: 'maximized' }).toString())
})

test('a table at its defaults takes no place', () => {
  const grids = { Operations: { filter: '', sort: '', top: 0, choices: { group: '' } }, Steps: { top: 4, filter: '' } }
  expect(writeView({ ...defaultView(), grids }).get('grids')).toBe('{"Steps":{"top":4}}')
})

test.each([
  'grids=[]', 'grids={', 'grids={"a":1}', 'grids={"a":{"top":"x"}}', 'sqltracks={}', 'sqltracks=[1]', 'sqltracks=[{"name":"x"}]', 'panel=large',
  'lower=-5', 'lower=x', 'side=1e9',
])('a damaged address is ignored: %s', (query) => {
  expect(readView(new URLSearchParams(query))).toEqual(defaultView())
})
