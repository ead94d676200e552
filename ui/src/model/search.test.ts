// What the search field offers.
import { expect, test } from 'vitest'
import { completions, queryForName, wordAt } from './search'

test('the word at the cursor is what is completed', () => {
  expect(wordAt('name:a dur', 10)).toEqual({ from: 7, word: 'dur' })
  expect(wordAt('dur name:a', 3)).toEqual({ from: 0, word: 'dur' })
  expect(wordAt('', 0)).toEqual({ from: 0, word: '' })
})

test('fields that begin with the word come before those that have it in them; after an operator there is nothing to offer', () => {
  const fields = ['duration', 'name', 'duration_ns', 'x_dur']
  expect(completions(fields, 'DUR')).toEqual(['duration', 'duration_ns', 'x_dur'])
  expect(completions(fields, 'duration>1')).toEqual([])
  expect(completions(fields, '')).toEqual([])
})

test('a name becomes a condition that finds it, whatever is in it', () => {
  expect(queryForName('a "b" \\ c')).toBe('name:"a \\"b\\" \\\\ c"')
})
