// Cache of timeline tiles. Missing tiles are requested in order of need: visible ones, coarse ones as a fallback, then
// neighbors; outdated requests are aborted.
import { decodeTimeline, type Row, type TimelineData } from '../model/timelineData'
import { TILE_PX, tileKey, tileRange, tileSpan, wholeLevel } from '../model/tileGrid'
import type { Span } from '../model/time'

/** One track's part of a response. */
export interface TrackTile {
  track: number
  level: number
  index: number
  span: Span
  data: TimelineData
  sliceRows: Row[]
  counterRows: Row[]
  bytes: number
  usedAt: number
}

/** A visible span and the tile to draw it from, which may be coarser or finer than the current level. */
export interface Cover {
  tile: TrackTile
  span: Span
}

/** What the viewport needs. */
export interface TileDemand {
  span: Span
  whole: Span
  level: number
  visible: DemandTrack[]
  nearby: DemandTrack[]
}

export interface DemandTrack {
  id: number
  rows: number
}

/** A tile to load, for these tracks. */
interface PlannedTile {
  level: number
  index: number
  tracks: DemandTrack[]
}

type Fetch = (tracks: number[], span: Span, width: number, signal: AbortSignal) => Promise<ArrayBuffer>

interface Request {
  level: number
  index: number
  tracks: number[]
  controller: AbortController
}

const MAX_BYTES = 256e6
const MAX_IN_FLIGHT = 4
const MAX_TRACKS = 50
const MAX_ROWS = 400 // at two items per pixel 800,000 items, well below the server's limit
const PUMP_EVERY_MS = 30
const RETRY_MS = 3000
const MAX_FINER_LEVELS = 3 // to look for a stand-in
const SLICE_BYTES = 40
const COUNTER_BYTES = 52

export class TileCache {
  error: string | null = null
  /** Makes the tiles of tracks that are not on the server; null for those that are. */
  local: (track: number, span: Span, width: number) => TimelineData | null = () => null
  /** All visible tiles are loaded. */
  isComplete = false

  #tiles = new Map<number, Map<number, TrackTile>>()
  #bytes = 0
  #clock = 0
  #inFlight = new Set<Request>()
  #demand: TileDemand | null = null
  #pumpTimer: ReturnType<typeof setTimeout> | undefined
  #pumpedAt = -PUMP_EVERY_MS
  #retryTimer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(
    readonly fetch: Fetch,
    readonly changed: () => void,
    readonly evicted: (tile: TrackTile) => void,
    readonly maxBytes = MAX_BYTES,
  ) {}

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#pumpTimer)
    clearTimeout(this.#retryTimer)
    for (const request of this.#inFlight) request.controller.abort()
    for (const tiles of this.#tiles.values()) for (const tile of tiles.values()) this.evicted(tile)
    this.#tiles.clear()
  }

  get pending(): number {
    return this.#inFlight.size
  }

  tilesOf(track: number): Iterable<TrackTile> {
    return this.#tiles.get(track)?.values() ?? []
  }

  /** Sets the current demand; missing tiles are requested after a short delay. */
  update(demand: TileDemand): void {
    this.#demand = demand
    this.#clock++
    const [first, last] = tileRange(demand.span, demand.level, demand.whole)
    let complete = true
    for (const { id } of demand.visible) {
      for (let index = first; index <= last; index++) if (!this.#lookUp(id, demand.level, index)) complete = false
    }
    this.isComplete = complete
    // At once after a pause, and not too often while the window moves.
    this.#pumpTimer ??= setTimeout(() => this.#pump(), Math.max(0, this.#pumpedAt + PUMP_EVERY_MS - performance.now()))
  }

  retry(): void {
    this.error = null
    clearTimeout(this.#retryTimer)
    this.#pump()
    this.changed()
  }

  /** The best available data for a tile: itself, else finer tiles, else the nearest coarser one. */
  cover(track: number, level: number, index: number, out: Cover[]): void {
    this.#cover(track, level, index, MAX_FINER_LEVELS, out)
  }

  #cover(track: number, level: number, index: number, deeper: number, out: Cover[]): void {
    const tile = this.#lookUp(track, level, index)
    if (tile) {
      out.push({ tile, span: tile.span })
    } else if (deeper > 0 && this.#hasFiner(track, level, index, deeper)) {
      this.#cover(track, level - 1, 2 * index, deeper - 1, out)
      this.#cover(track, level - 1, 2 * index + 1, deeper - 1, out)
    } else {
      const coarser = this.#coarser(track, level, index)
      if (coarser) out.push({ tile: coarser, span: tileSpan({ level, index }) })
    }
  }

  #hasFiner(track: number, level: number, index: number, deeper: number): boolean {
    const tiles = this.#tiles.get(track)
    if (!tiles) return false
    for (let down = 1; down <= deeper; down++) {
      const count = 2 ** down
      for (let child = 0; child < count; child++) if (tiles.has(tileKey(level - down, index * count + child))) return true
    }
    return false
  }

  #coarser(track: number, level: number, index: number): TrackTile | undefined {
    const top = this.#demand ? wholeLevel(this.#demand.whole) : level
    for (let up = 1; level + up <= top; up++) {
      const tile = this.#lookUp(track, level + up, Math.floor(index / 2 ** up))
      if (tile) return tile
    }
    return undefined
  }

  #lookUp(track: number, level: number, index: number): TrackTile | undefined {
    const tile = this.#tiles.get(track)?.get(tileKey(level, index))
    if (tile) tile.usedAt = this.#clock
    return tile
  }

  #pump(): void {
    this.#pumpTimer = undefined
    this.#pumpedAt = performance.now()
    const demand = this.#demand
    if (!demand || this.error || this.#isClosed) return
    const plan = this.#plan(demand)
    for (const request of this.#inFlight) {
      const isNeeded = plan.some((planned) =>
        planned.level === request.level && planned.index === request.index && planned.tracks.some(({ id }) => request.tracks.includes(id)))
      if (!isNeeded) {
        request.controller.abort()
        this.#inFlight.delete(request)
      }
    }
    for (const planned of plan) {
      for (const batch of this.#batches(planned)) {
        if (this.#inFlight.size >= MAX_IN_FLIGHT) return
        void this.#send(planned.level, planned.index, batch)
      }
    }
  }

  /** All tiles to load, most urgent first. */
  #plan(demand: TileDemand): PlannedTile[] {
    const plan: PlannedTile[] = []
    const add = (level: number, index: number, tracks: DemandTrack[]) => {
      if (tracks.length) plan.push({ level, index, tracks })
    }
    const [first, last] = tileRange(demand.span, demand.level, demand.whole)
    const [before, after] = tileRange(demand.span, demand.level, demand.whole, 1)
    const top = Math.max(demand.level, wholeLevel(demand.whole))
    const [topFirst, topLast] = tileRange(demand.whole, top, demand.whole)
    for (let index = first; index <= last; index++) add(demand.level, index, demand.visible)
    for (let index = topFirst; index <= topLast; index++) add(top, index, demand.visible)
    if (before < first) add(demand.level, before, demand.visible)
    if (after > last) add(demand.level, after, demand.visible)
    for (let index = topFirst; index <= topLast; index++) add(top, index, demand.nearby)
    for (let index = first; index <= last; index++) add(demand.level, index, demand.nearby)
    return plan
  }

  /** The tracks of a planned tile that are neither cached nor in flight, in batches. */
  #batches(planned: PlannedTile): number[][] {
    const inFlight = new Set<number>()
    for (const request of this.#inFlight) {
      if (request.level === planned.level && request.index === planned.index) request.tracks.forEach((track) => inFlight.add(track))
    }
    const batches: number[][] = []
    let rowsLeft = 0
    for (const { id: track, rows } of planned.tracks) {
      if (inFlight.has(track) || this.#tiles.get(track)?.has(tileKey(planned.level, planned.index))) continue
      const batch = batches.at(-1)
      if (!batch || batch.length >= MAX_TRACKS || rowsLeft < rows) {
        batches.push([track])
        rowsLeft = MAX_ROWS - rows
      } else {
        batch.push(track)
        rowsLeft -= rows
      }
    }
    return batches
  }

  async #send(level: number, index: number, tracks: number[]): Promise<void> {
    const request: Request = { level, index, tracks, controller: new AbortController() }
    this.#inFlight.add(request)
    const { signal } = request.controller
    try {
      const parts = tracks.map((track) => this.local(track, tileSpan(request), TILE_PX))
      const remote = tracks.filter((_, at) => parts[at] === null)
      const data = remote.length > 0 ? decodeTimeline(await this.fetch(remote, tileSpan(request), TILE_PX, signal)) : null
      if (!signal.aborted) tracks.forEach((track, at) => this.#store(request, track, (parts[at] ?? data)!))
      if (this.#bytes > this.maxBytes) this.#evict()
    } catch (failure) {
      if (!signal.aborted) this.#fail(failure as Error)
    }
    this.#inFlight.delete(request)
    if (signal.aborted || this.#isClosed) return
    this.#pumpTimer ??= setTimeout(() => this.#pump(), 0)
    this.changed()
  }

  #fail(failure: Error): void {
    this.error = failure.message
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => this.retry(), RETRY_MS)
  }

  #store(request: Request, track: number, data: TimelineData): void {
    const sliceRows = data.sliceRows.filter((row) => row.track === track)
    const counterRows = data.counterRows.filter((row) => row.track === track)
    const count = (rows: Row[]) => rows.reduce((sum, row) => sum + row.count, 0)
    const bytes = 200 + SLICE_BYTES * count(sliceRows) + COUNTER_BYTES * count(counterRows)
    const tiles = this.#tiles.get(track) ?? new Map<number, TrackTile>()
    this.#tiles.set(track, tiles)
    tiles.set(tileKey(request.level, request.index), {
      track, level: request.level, index: request.index, span: tileSpan(request), data, sliceRows, counterRows, bytes,
      usedAt: this.#clock,
    })
    this.#bytes += bytes
  }

  /** Evicts the least recently used tiles until a fifth of the budget is free. */
  #evict(): void {
    const all: TrackTile[] = []
    for (const tiles of this.#tiles.values()) all.push(...tiles.values())
    all.sort((a, b) => a.usedAt - b.usedAt)
    for (const tile of all) {
      if (this.#bytes <= 0.8 * this.maxBytes || tile.usedAt >= this.#clock) break
      this.#tiles.get(tile.track)!.delete(tileKey(tile.level, tile.index))
      this.#bytes -= tile.bytes
      this.evicted(tile)
    }
  }
}
