import { expect, test } from 'vitest'
import { percentile } from './percentile'

test('a percentile lies between the two nearest ranks', () => {
  expect(percentile([10, 20, 30, 40], 0.5)).toBe(25)
  expect(percentile([10, 20, 30, 40], 0.99)).toBeCloseTo(39.7)
  expect([percentile([10, 20, 40], 0), percentile([10, 20, 40], 0.5), percentile([10, 20, 40], 1)]).toEqual([10, 20, 40])
  expect(percentile([7], 0.9)).toBe(7)
})
