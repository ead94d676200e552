// Charts of rectangles over time: what they consist of, and which one is at a place.
import type { Ps, Span } from './time'
import { timeToX } from './viewport'

export interface ChartRect {
  from: Ps
  to: Ps
  y: number // in units of the chart
  height: number
  label: string
  slot: number // of the palette
  lines: string[] // what the tooltip tells
  opacity?: number
}

export interface PixelRect {
  x: number
  y: number
  width: number
  height: number
}

const MIN_PX = 1

/** Null outside of the visible span. */
export function toPixels(rect: ChartRect, span: Span, width: number, unit: number): PixelRect | null {
  const left = Math.max(0, timeToX(rect.from, span, width))
  const right = Math.min(width, timeToX(rect.to, span, width))
  if (right < 0 || left > width || right < left) return null
  return { x: left, y: rect.y * unit, width: Math.max(MIN_PX, right - left), height: Math.max(MIN_PX, rect.height * unit) }
}

const MIN_LETTERS = 3

/** As much of a label as fits, with an ellipsis where it does not; nothing where only a few letters would. */
export function fitText(text: string, room: number, measure: (text: string) => number): string {
  if (measure(text) <= room) return text
  let [low, high] = [0, text.length]
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if (measure(`${text.slice(0, middle)}…`) <= room) low = middle
    else high = middle
  }
  return low < MIN_LETTERS ? '' : `${text.slice(0, low)}…`
}

/** The one that is drawn last at a place; small ones may be missed by a pixel. */
export function rectAt(rects: readonly ChartRect[], span: Span, width: number, unit: number, x: number, y: number): ChartRect | null {
  for (const reach of [0, 2])
    for (let at = rects.length - 1; at >= 0; at--) {
      const box = toPixels(rects[at]!, span, width, unit)
      if (box && x >= box.x - reach && x <= box.x + box.width + reach && y >= box.y - reach && y <= box.y + box.height + reach) return rects[at]!
    }
  return null
}
