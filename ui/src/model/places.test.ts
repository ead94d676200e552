import { expect, test } from 'vitest'
import { findPlaces, PLACES } from './places'

test('each name leads to one place, whatever its case', () => {
  const names = PLACES.flatMap((place) => place.others.map((name) => ({ name, place })))
  expect(new Set(names.map(({ name }) => name.toLowerCase())).size).toBe(names.length)
  for (const { name, place } of names) expect(findPlaces(PLACES, name.toUpperCase())[0]).toEqual({ place, name })
  expect(findPlaces(PLACES, 'kernel stats')[0]!.place.title).toBe('Kernels')
  expect(findPlaces(PLACES, 'no such place')).toEqual([])
})
