// Draws event names on slices that are wide enough.
import type { TrackTile } from '../data/tileCache'
import { shortName } from '../model/palette'
import { TILE_PX, tileLength } from '../model/tileGrid'
import type { Scene, SceneLane } from './scene'

const MIN_ROW = 11
const MIN_WIDTH = 12 // "mm" fits; what does not is cut where MIN_CUT letters and an ellipsis do
const MIN_CUT = 2
const PADDING = 4
const LEAST_PADDING = 2 // beside a name that fits as it is
const MAX_CACHED = 20_000

/** Items wide enough for a label at the tile's level, so that frames skip the small ones. */
const candidates = new WeakMap<TrackTile, { row: number; item: number }[]>()
const widths = new Map<string, number>()

function candidatesOf(tile: TrackTile): { row: number; item: number }[] {
  let list = candidates.get(tile)
  if (list) return list
  list = []
  const minLength = (tileLength(tile.level) / TILE_PX) * (MIN_WIDTH / 4)
  const { slices } = tile.data
  for (const row of tile.sliceRows) {
    for (let i = row.first; i < row.first + row.count; i++) {
      if (slices.count[i] === 1 && slices.end[i]! - slices.start[i]! >= minLength) list.push({ row: row.row, item: i })
    }
  }
  candidates.set(tile, list)
  return list
}

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  const key = `${context.font}\n${text}`
  let width = widths.get(key)
  if (width === undefined) {
    if (widths.size > MAX_CACHED) widths.clear()
    width = context.measureText(text).width
    widths.set(key, width)
  }
  return width
}

/** The text, shortened with an ellipsis to fit, or empty. */
function fit(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = widthOf(context, text)
  if (width <= room - 2 * LEAST_PADDING) return text
  const rest = room - 2 * PADDING - widthOf(context, '…')
  let length = Math.floor((text.length * rest) / width)
  while (length > 0 && widthOf(context, text.slice(0, length)) > rest) length--
  return length < MIN_CUT ? '' : `${text.slice(0, length)}…`
}

export interface LabelStyle {
  ink: string
  dimmed: string // on slices that do not match the search
  family: string
}

/** The labels of a tile, for slices whose visible part starts between `left` and `right`. */
function drawTile(
  context: CanvasRenderingContext2D, style: LabelStyle, scene: Scene, lane: SceneLane, tile: TrackTile, left: number, right: number,
): void {
  const { slices, names } = tile.data
  const scale = scene.width / (scene.span.to - scene.span.from)
  const offset = (tile.span.from - scene.span.from) * scale
  for (const { row, item } of candidatesOf(tile)) {
    if (row >= lane.rows) continue
    const x0 = Math.max(0, offset + slices.start[item]! * scale)
    // An event that spans several tiles is labeled once, by the tile its visible part starts in.
    if (x0 < left || x0 >= right) continue
    const room = Math.min(scene.width, offset + slices.end[item]! * scale) - x0
    if (room < MIN_WIDTH) continue
    const y = lane.y + row * lane.rowHeight
    if (y + lane.rowHeight < lane.clip.top || y > lane.clip.bottom) continue
    const text = fit(context, shortName(names[slices.name[item]!]!), room)
    if (!text) continue
    const padding = Math.min(PADDING, (room - widthOf(context, text)) / 2)
    context.fillStyle = lane.strength < 1 && !lane.isHit ? style.dimmed : style.ink
    context.fillText(text, Math.round(x0 + padding), y + (lane.rowHeight - 1) / 2 + 0.5)
  }
}

export function drawLabels(context: CanvasRenderingContext2D, scene: Scene, style: LabelStyle): void {
  context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0)
  context.clearRect(0, 0, scene.width, scene.height)
  context.textBaseline = 'middle'
  const scale = scene.width / (scene.span.to - scene.span.from)
  for (const lane of scene.lanes) {
    if (lane.rowHeight < MIN_ROW) continue
    context.font = `${Math.min(12, Math.max(9, lane.rowHeight - 6))}px ${style.family}`
    context.save()
    context.beginPath()
    context.rect(0, lane.clip.top, scene.width, lane.clip.bottom - lane.clip.top)
    context.clip()
    for (const { tile, span } of lane.covers) {
      const left = Math.max(0, (span.from - scene.span.from) * scale)
      const right = Math.min(scene.width, (span.to - scene.span.from) * scale)
      drawTile(context, style, scene, lane, tile, left, right)
    }
    context.restore()
  }
}
