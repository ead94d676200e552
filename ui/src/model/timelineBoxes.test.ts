import { expect, test } from 'vitest'
import { placeTag, TAG_HEIGHT, type Tag } from './timelineBoxes'

test('names of boxes do not overlap and stay in their boxes', () => {
  let seed = 7
  const random = (most: number) => (seed = (seed * 16807) % 2147483647) % most
  for (let round = 0; round < 200; round++) {
    const placed: Tag[] = []
    for (let at = 0; at < 12; at++) {
      const box = { x: random(400), width: 3 + random(300), y: 24 * random(3), height: 24 + 18 * random(2) }
      const tag = placeTag(placed, box, 'all-gather'.slice(0, 2 + random(8)))
      if (!tag) continue
      expect(tag.x >= box.x && tag.x + tag.width <= box.x + box.width && tag.y >= box.y && tag.y + TAG_HEIGHT <= box.y + box.height).toBe(true)
    }
    placed.forEach((a, i) => placed.slice(i + 1).forEach((b) =>
      expect(a.x + a.width <= b.x || b.x + b.width <= a.x || Math.abs(a.y - b.y) >= TAG_HEIGHT, JSON.stringify([a, b])).toBe(true)))
  }
})

test('a box whose corner is taken has its name beside the other', () => {
  const placed: Tag[] = []
  const lane = { y: 0, height: 24 }
  expect(placeTag(placed, { x: 0, width: 300, ...lane }, 'barrier')).toEqual({ x: 0, y: 9, width: 8 + 6.4 * 7 })
  expect(placeTag(placed, { x: 20, width: 200, ...lane }, 'all-gather')!.x).toBe(8 + 6.4 * 7)
  expect(placeTag(placed, { x: 20, width: 40, ...lane }, 'all-gather')).toBeNull()
})
