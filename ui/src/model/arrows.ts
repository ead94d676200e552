// Dependency arrows between events: SVG paths in pixels.

export interface Point {
  x: number
  y: number
}

export interface Arrow {
  path: string
  head: string // the arrow head
  isClipped: boolean // one end is off screen
}

const BEND = 0.45
const MIN_BEND = 14
const HEAD = 5

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value))
}

function at(x: number, y: number): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`
}

/** From a predecessor's end to its successor's start, clipped to the canvas. Null when both ends are off the same side. */
export function arrowBetween(from: Point, to: Point, width: number, height: number): Arrow | null {
  if (Math.max(from.x, to.x) < 0 || Math.min(from.x, to.x) > width) return null
  if (Math.max(from.y, to.y) < 0 || Math.min(from.y, to.y) > height) return null
  const a = { x: clamp(from.x, 0, width), y: clamp(from.y, 2, height - 2) }
  const b = { x: clamp(to.x, 0, width), y: clamp(to.y, 2, height - 2) }
  const bend = Math.max(MIN_BEND, BEND * Math.abs(b.x - a.x))
  const tip = { x: b.x - HEAD, y: b.y }
  const path = `M${at(a.x, a.y)} C${at(a.x + bend, a.y)} ${at(tip.x - bend, tip.y)} ${at(tip.x, tip.y)}`
  const head = `M${at(b.x, b.y)} l${-HEAD - 1} ${-HEAD + 1} v${2 * HEAD - 2} z`
  return { path, head, isClipped: a.x !== from.x || b.x !== to.x || a.y !== from.y || b.y !== to.y }
}
