// The curves between an event and its causes and effects, in pixels.

export interface Point {
  x: number
  y: number
}

export interface Arrow {
  path: string
  head: string // a small triangle at the end
  isCut: boolean // one end is not on screen
}

const BEND = 0.45
const LEAST_BEND = 14
const HEAD = 5

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value))
}

/** From a cause's end to its effect's start; ends beyond the screen are drawn at its edge. Null when both are beyond one side. */
export function arrowBetween(from: Point, to: Point, width: number, height: number): Arrow | null {
  if (Math.max(from.x, to.x) < 0 || Math.min(from.x, to.x) > width) return null
  if (Math.max(from.y, to.y) < 0 || Math.min(from.y, to.y) > height) return null
  const a = { x: clamp(from.x, 0, width), y: clamp(from.y, 2, height - 2) }
  const b = { x: clamp(to.x, 0, width), y: clamp(to.y, 2, height - 2) }
  const bend = Math.max(LEAST_BEND, BEND * Math.abs(b.x - a.x))
  const tip = { x: b.x - HEAD, y: b.y }
  const path = `M${a.x.toFixed(1)} ${a.y.toFixed(1)} C${(a.x + bend).toFixed(1)} ${a.y.toFixed(1)} ${(tip.x - bend).toFixed(1)} ${tip.y.toFixed(1)} ${tip.x.toFixed(1)} ${tip.y.toFixed(1)}`
  const head = `M${b.x.toFixed(1)} ${b.y.toFixed(1)} l${-HEAD - 1} ${-HEAD + 1} v${2 * HEAD - 2} z`
  return { path, head, isCut: a.x !== from.x || b.x !== to.x || a.y !== from.y || b.y !== to.y }
}
