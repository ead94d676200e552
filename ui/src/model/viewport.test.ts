// Zooming, panning, ticks and the tile grid.
import { expect, test } from 'vitest'
import { levelFor, tileLength, tileRange, tileSpan, wholeLevel, TILE_PX } from './tileGrid'
import { clampSpan, formatEpoch, MIN_SPAN, panSpan, ticks, timeToX, xToTime, zoomSpan } from './viewport'

const WHOLE = { from: 1000, to: 1e12 }

test('zooming keeps the time under the pointer', () => {
  const span = { from: 2e11, to: 4e11 }
  const at = xToTime(250, span, 1000)
  const next = zoomSpan(span, 0.5, at, WHOLE)
  expect(next.to - next.from).toBeCloseTo(1e11, -2)
  expect(timeToX(at, next, 1000)).toBeCloseTo(250, 3)
})

test('the span stays within the profile, and has a minimum length', () => {
  expect(clampSpan({ from: -5e11, to: 5e11 }, WHOLE).from).toBe(1000)
  expect(panSpan({ from: 9e11, to: 9.9e11 }, 1e12, WHOLE).to).toBe(1e12)
  expect(zoomSpan({ from: 2e11, to: 4e11 }, 100, 3e11, WHOLE)).toEqual(WHOLE)
  const least = zoomSpan({ from: 5e11, to: 5e11 + 2000 }, 1e-6, 5e11 + 1000, WHOLE)
  expect(least.to - least.from).toBe(MIN_SPAN)
})

test('ticks are round and spaced', () => {
  const list = ticks({ from: 26.6e9, to: 27.3e9 }, 670)
  expect(list.map((tick) => tick.label)).toEqual(['26.6 ms', '26.8 ms', '27.0 ms', '27.2 ms'])
  expect(formatEpoch(1_500_000, 1_700_000_000_000_000_001n)).toBe('2023-11-14 22:13:20.000001501 UTC')
  expect(formatEpoch(0, null)).toBeNull()
})

test('tiles are drawn at their requested width, or down to half of it', () => {
  for (const psPerPixel of [1, 3.7, 1000, 123456, 8e9]) {
    const pixels = tileLength(levelFor(psPerPixel)) / psPerPixel
    expect(pixels).toBeLessThanOrEqual(TILE_PX)
    expect(pixels).toBeGreaterThan(TILE_PX / 2)
  }
  expect(tileSpan({ level: 10, index: 3 })).toEqual({ from: 3072, to: 4096 })
  expect(tileRange({ from: 3072, to: 4096 }, 10, WHOLE)).toEqual([3, 3])
  expect(tileRange({ from: 3072, to: 4097 }, 10, WHOLE, 1)).toEqual([2, 5])
  const [first, last] = tileRange(WHOLE, wholeLevel(WHOLE), WHOLE)
  expect([first, last]).toEqual([0, 0])
})
