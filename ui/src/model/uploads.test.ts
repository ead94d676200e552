// Which files go up, under which names.
import { expect, test } from 'vitest'
import { guessKind, proposeName, sortOut, withoutTop, type UploadFile } from './uploads'

function files(...paths: string[]): UploadFile[] {
  return paths.map((path) => ({ path, file: { size: 1 } as File }))
}

const paths = (list: { path: string }[]) => list.map((file) => file.path)

test('files whose names begin with a dot are left out, with the reason', () => {
  const { taken, skipped } = sortOut(files('run/b.pb', 'run/.DS_Store', '.git/config', 'run/a.pb'))
  expect(paths(taken)).toEqual(['run/a.pb', 'run/b.pb'])
  expect(paths(skipped)).toEqual(['run/.DS_Store', '.git/config'])
  expect(skipped[0]!.why).toMatch(/dot/)
})

test('what the server does not take is left out: too deep, too long, control characters', () => {
  const deep = Array.from({ length: 13 }, (_, at) => `d${at}`).join('/')
  const { taken, skipped } = sortOut(files(deep, 'a'.repeat(201), 'ä'.repeat(101), 'a\tb', 'a\\b', 'fine'))
  expect(paths(taken)).toEqual(['fine'])
  expect(skipped).toHaveLength(5)
})

test('a file that is chosen twice goes once', () => {
  expect(sortOut(files('a.pb', 'a.pb')).taken).toHaveLength(1)
})

test.each([
  ['host.xplane.pb', 'host'],
  ['rank0.1234.pt.trace.json.gz', 'rank0.1234'],
  ['trace.json', 'trace'],
  ['model.neff', 'model'],
  ['system_profile.json', 'system_profile'],
  ['logs/plugins/profile/run/vm.xplane.pb', 'logs'],
  ['a@b.json', 'a_b'],
  ['.json', 'json'],
])('%s is proposed as %s', (path, name) => {
  expect(proposeName(files(path))).toBe(name)
})

test('the kind is told by the names', () => {
  expect(guessKind(files('a.xplane.pb'))).toBe('xplane')
  expect(guessKind(files('a.json.gz'))).toBe('kineto')
  expect(guessKind(files('a.json', 'b.json'))).toBe('explorer')
  expect(guessKind(files('Step.parquet'))).toBe('explorer')
  expect(guessKind(files('run/a.xplane.pb'))).toBe('directory')
  expect(guessKind(files('a.neff', 'a.ntff'))).toBe('files')
})

test('a folder is sent as what is in it', () => {
  expect(paths(withoutTop(files('run/a', 'run/b/c')))).toEqual(['a', 'b/c'])
  expect(paths(withoutTop(files('a', 'run/b')))).toEqual(['a', 'run/b'])
  expect(withoutTop([])).toEqual([])
})
