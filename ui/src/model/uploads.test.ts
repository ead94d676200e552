// Which files are uploaded, and the suggested names.
import { expect, test } from 'vitest'
import { compressionOf, describeKinds, kindOf, partitionFiles, stripTopFolder, suggestName, type UploadFile } from './uploads'

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

const bytes = (text: string) => new TextEncoder().encode(text)

test.each([
  ['a.pb', '\nabc', 'xplane'],
  ['a.json', ' {"schemaVersion": 1, "deviceProperties": [], "traceEvents": [', 'kineto'],
  ['a.json.gz', '[{"ph": "X", "name": "x"}', 'chrome'],
  ['system.json', '{"system_profile": [', 'explorer'],
  ['anything', 'PAR1', 'parquet'],
  ['model.neff', 'x', 'neuron'],
  ['run/ntrace.pb', 'x', 'recording'],
  ['source/train.py', 'x', 'source'],
  ['notes.txt', 'x', 'unknown'],
])('%s with %s is told to be %s', (path, head, kind) => {
  expect(kindOf(path, bytes(head))).toBe(kind)
})

test('what cannot be decompressed is told from its name', () => {
  expect(kindOf('vm.xplane.pb.zst', null)).toBe('xplane')
  expect(kindOf('rank0.pt.trace.json.zst', null)).toBe('chrome')
  expect(compressionOf(new Uint8Array([0x28, 0xb5, 0x2f, 0xfd]))).toBe('zstd')
  expect(compressionOf(new Uint8Array([0x1f, 0x8b, 8]))).toBe('gzip')
  expect(compressionOf(bytes('{'))).toBe(null)
})

test('kinds of several files are counted', () => {
  const xplane = { kind: 'xplane', compression: 'gzip' } as const
  expect(describeKinds([xplane])).toBe('XPlane (JAX, TensorFlow, PyTorch/XLA), gzip')
  expect(describeKinds([{ kind: 'unknown', compression: null }, xplane, xplane])).toBe('2 × XPlane (JAX, TensorFlow, PyTorch/XLA), gzip; 1 × unknown')
})

test('the top folder is stripped from the paths', () => {
  expect(paths(stripTopFolder(files('run/a', 'run/b/c')))).toEqual(['a', 'b/c'])
  expect(paths(stripTopFolder(files('a', 'run/b')))).toEqual(['a', 'run/b'])
  expect(stripTopFolder([])).toEqual([])
})
