// Completion in the search box.
import { expect, test } from 'vitest'
import { completions, queryForName, wordAt } from './search'

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
