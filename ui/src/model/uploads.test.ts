// Which files are uploaded, and the suggested names.
import { expect, test } from 'vitest'
import { guessKind, suggestName, partitionFiles, stripTopFolder, type UploadFile } from './uploads'

function files(...paths: string[]): UploadFile[] {
  return paths.map((path) => ({ path, file: { size: 1 } as File }))
}

const paths = (list: { path: string }[]) => list.map((file) => file.path)

test('hidden files are skipped, with the reason', () => {
  const { accepted, skipped } = partitionFiles(files('run/b.pb', 'run/.DS_Store', '.git/config', 'run/a.pb'))
  expect(paths(accepted)).toEqual(['run/a.pb', 'run/b.pb'])
  expect(paths(skipped)).toEqual(['run/.DS_Store', '.git/config'])
  expect(skipped[0]!.reason).toMatch(/hidden/)
})

test('files the server would reject are skipped: too deep, too long, control characters', () => {
  const deep = Array.from({ length: 13 }, (_, at) => `d${at}`).join('/')
  const { accepted, skipped } = partitionFiles(files(deep, 'a'.repeat(201), 'ä'.repeat(101), 'a\tb', 'a\\b', 'fine'))
  expect(paths(accepted)).toEqual(['fine'])
  expect(skipped).toHaveLength(5)
})

test('a file picked twice is uploaded once', () => {
  expect(partitionFiles(files('a.pb', 'a.pb')).accepted).toHaveLength(1)
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
  expect(suggestName(files(path))).toBe(name)
})

test('the kind is guessed from the names', () => {
  expect(guessKind(files('a.xplane.pb'))).toBe('xplane')
  expect(guessKind(files('a.json.gz'))).toBe('kineto')
  expect(guessKind(files('a.json', 'b.json'))).toBe('explorer')
  expect(guessKind(files('Step.parquet'))).toBe('explorer')
  expect(guessKind(files('run/a.xplane.pb'))).toBe('directory')
  expect(guessKind(files('a.neff', 'a.ntff'))).toBe('files')
})

test('the top folder is stripped from the paths', () => {
  expect(paths(stripTopFolder(files('run/a', 'run/b/c')))).toEqual(['a', 'b/c'])
  expect(paths(stripTopFolder(files('a', 'run/b')))).toEqual(['a', 'run/b'])
  expect(stripTopFolder([])).toEqual([])
})
