// The profile list: order, format names, recent profiles.
import { expect, test } from 'vitest'
import type { Profile } from './api'
import { formatName, shortFormatName, readNames, sortProfiles, timeAgo, addRecent } from './profiles'

function profile(name: string, rest: Partial<Profile> = {}): Profile {
  return {
    name, id: null, status: 'ready', percent: 100, reason: null, created: '2026-01-01T00:00:00Z', bytes: 1, events: 1, duration_ns: 1, format: null,
    favorite: false, ...rest,
  }
}

const NOW = Date.parse('2026-01-10T12:00:00Z')

test.each([
  ['2026-01-10T11:59:50Z', 'just now'],
  ['2026-01-10T12:00:30Z', 'just now'], // a clock that is ahead
  ['2026-01-10T11:58:00Z', '2 minutes ago'],
  ['2026-01-10T09:30:00Z', '2 hours ago'],
  ['2026-01-09T11:00:00Z', 'yesterday'],
  ['2025-11-01T00:00:00Z', '2 months ago'],
  ['2023-11-01T00:00:00Z', '2 years ago'],
  ['never', '–'],
])('%s is %s', (created, words) => {
  expect(timeAgo(created, NOW)).toBe(words)
})

test('profiles are sorted by a column, either way; equals keep their order', () => {
  const list = [profile('b', { bytes: 2 }), profile('A', { bytes: 1 }), profile('c', { bytes: 2 })]
  const names = (sorted: Profile[]) => sorted.map((one) => one.name).join('')
  expect(names(sortProfiles(list, 'name', false))).toBe('Abc')
  expect(names(sortProfiles(list, 'name', true))).toBe('cbA')
  expect(names(sortProfiles(list, 'size', true))).toBe('bcA')
  expect(names(list)).toBe('bAc')
})

test('formats have names; an unknown one is shown as is', () => {
  expect(formatName('xplane')).toBe('JAX / XLA (XPlane)')
  expect(formatName('kymo-session+xplane')).toBe('Kymo recording + JAX / XLA (XPlane)')
  expect(shortFormatName('kymo-session+xplane')).toBe('Kymo + XPlane')
  expect(formatName(null)).toBe('–')
  expect(formatName('new-format')).toBe('new-format')
})

test('recent names have no duplicates, and invalid storage is read as empty', () => {
  expect(addRecent(['a', 'b'], 'b')).toEqual(['b', 'a'])
  expect(addRecent(Array.from({ length: 20 }, String), 'x')).toHaveLength(8)
  expect(readNames('["a",1]')).toEqual(['a'])
  expect(readNames('{')).toEqual([])
  expect(readNames(null)).toEqual([])
})
