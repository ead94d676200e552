import { expect, test } from 'vitest'
import { parseStack, plainLines, tokenizePython } from './source'

test('the tokens of a file concatenate to the file', () => {
  const source = `def f(x):  # adds\n    """Two\n    lines."""\n    return x + 1.5e3 if x is not None else 'a\\'b'\n\nprint(f"{x}")\n`
  const lines = tokenizePython(source)
  expect(lines.map((line) => line.map((token) => token.text).join('')).join('\n')).toBe(source)
  expect(lines[0]).toEqual([
    { kind: 'keyword', text: 'def' }, { kind: 'plain', text: ' f(x):  ' }, { kind: 'comment', text: '# adds' },
  ])
  expect(lines[2]).toEqual([{ kind: 'string', text: '    lines."""' }])
  expect(plainLines('a\n\nb')).toEqual([[{ kind: 'plain', text: 'a' }], [], [{ kind: 'plain', text: 'b' }]])
})

test('an unterminated triple-quoted string ends with the file, a single-quoted one with its line', () => {
  expect(tokenizePython("x = 'abc\ny = 1")[1]![0]).toEqual({ kind: 'plain', text: 'y = ' })
  expect(tokenizePython('"""abc\ndef')[1]).toEqual([{ kind: 'string', text: 'def' }])
})

test('stacks in XLA and PyTorch format are parsed', () => {
  expect(parseStack("<embedded module 'x'>:153:2\na/b.py:29:10\n")).toEqual([
    { file: "<embedded module 'x'>", line: 153, function: '' }, { file: 'a/b.py', line: 29, function: '' },
  ])
  expect(parseStack('train.py(31): step;torch/nn/module.py(7): forward')).toEqual([
    { file: 'train.py', line: 31, function: 'step' }, { file: 'torch/nn/module.py', line: 7, function: 'forward' },
  ])
})
