import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readTar } from './tar'

const FILES: Record<string, string> = {
  'model/train.py': 'print(1)\n', 'model/empty.py': '', [`model/${'deep/'.repeat(20)}${'long_'.repeat(25)}.py`]: 'x'.repeat(1025),
}

test.each(['ustar', 'gnu', 'pax'])('files of an archive that tar wrote: %s', (format) => {
  const folder = mkdtempSync(join(tmpdir(), 'kymo-tar-'))
  const files = Object.entries(FILES).filter(([path]) => format !== 'ustar' || path.length < 100)
  for (const [path, text] of files) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const archive = join(folder, 'a.tar')
  expect(spawnSync('tar', ['-C', folder, `--format=${format}`, '-cf', archive, './model']).status).toBe(0)
  const bytes = new Uint8Array(readFileSync(archive))
  rmSync(folder, { recursive: true })
  const found = readTar(bytes).map(({ path, bytes: content }) => [path, new TextDecoder().decode(content)])
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(files))
  expect(() => readTar(bytes.map((byte, at) => (at === 0 ? byte ^ 1 : byte)))).toThrow('damaged')
})
