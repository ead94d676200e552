// The timeline's tiles that are here, and the requests for those that are not. What is on the screen is asked for first,
// then what is coarse enough to fall back on, then what lies beside; requests that nobody waits for any more are called off.
import { decodeTimeline, type Row, type TimelineAnswer } from '../model/tiles'
import { TILE_PX, tileKey, tileRange, tileSpan, wholeLevel } from '../model/tileGrid'
import type { Span } from '../model/time'

/** One track's part of an answer. */
export interface TrackTile {
  track: number
  level: number
  index: number
  span: Span
  answer: TimelineAnswer
  sliceRows: Row[]
  counterRows: Row[]
  bytes: number
  usedAt: number
}

/** A piece of the screen and the tile to draw it from, which may be coarser or finer than wished for. */
export interface Cover {
  tile: TrackTile
  span: Span
}

export interface Wanted {
  span: Span
  whole: Span
  level: number
  visible: WantedTrack[]
  nearby: WantedTrack[]
}

export interface WantedTrack {
  id: number
  rows: number
}

/** A tile that would be good to have, of these tracks. */
interface Wish {
  level: number
  index: number
  tracks: WantedTrack[]
}

type Fetch = (tracks: number[], span: Span, width: number, signal: AbortSignal) => Promise<ArrayBuffer>

interface Request {
  level: number
  index: number
  tracks: number[]
  controller: AbortController
}

const MOST_BYTES = 256e6
const MOST_IN_FLIGHT = 4
const MOST_TRACKS = 50
const MOST_ROWS = 400 // two items a pixel: 800,000 items, well below what the server refuses
const PUMP_EVERY_MS = 30
const RETRY_MS = 3000
const FINER = 3 // levels down that are looked through for something to draw
const SLICE_BYTES = 40
const COUNTER_BYTES = 52

export class TileCache {
  error: string | null = null
  /** What is on screen has all its tiles. */
  isComplete = false

  #tiles = new Map<number, Map<number, TrackTile>>()
  #bytes = 0
  #clock = 0
  #inFlight = new Set<Request>()
  #wanted: Wanted | null = null
  #pumpTimer: ReturnType<typeof setTimeout> | undefined
  #pumpedAt = -PUMP_EVERY_MS
  #retryTimer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(
    readonly fetch: Fetch,
    readonly changed: () => void,
    readonly evicted: (tile: TrackTile) => void,
    readonly mostBytes = MOST_BYTES,
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

  /** Says what is on screen; asks the server for what is missing, soon. */
  want(wanted: Wanted): void {
    this.#wanted = wanted
    this.#clock++
    const [first, last] = tileRange(wanted.span, wanted.level, wanted.whole)
    let complete = true
    for (const { id } of wanted.visible) {
      for (let index = first; index <= last; index++) if (!this.#use(id, wanted.level, index)) complete = false
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

  /** The best there is for a tile: itself, else finer ones, else the nearest coarser. */
  cover(track: number, level: number, index: number, out: Cover[]): void {
    this.#cover(track, level, index, FINER, out)
  }

  #cover(track: number, level: number, index: number, deeper: number, out: Cover[]): void {
    const tile = this.#use(track, level, index)
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
    const top = this.#wanted ? wholeLevel(this.#wanted.whole) : level
    for (let up = 1; level + up <= top; up++) {
      const tile = this.#use(track, level + up, Math.floor(index / 2 ** up))
      if (tile) return tile
    }
    return undefined
  }

  #use(track: number, level: number, index: number): TrackTile | undefined {
    const tile = this.#tiles.get(track)?.get(tileKey(level, index))
    if (tile) tile.usedAt = this.#clock
    return tile
  }

  #pump(): void {
    this.#pumpTimer = undefined
    this.#pumpedAt = performance.now()
    const wanted = this.#wanted
    if (!wanted || this.error || this.#isClosed) return
    const plan = this.#plan(wanted)
    for (const request of this.#inFlight) {
      const isWanted = plan.some((wish) =>
        wish.level === request.level && wish.index === request.index && wish.tracks.some(({ id }) => request.tracks.includes(id)))
      if (!isWanted) {
        request.controller.abort()
        this.#inFlight.delete(request)
      }
    }
    for (const wish of plan) {
      for (const batch of this.#batches(wish)) {
        if (this.#inFlight.size >= MOST_IN_FLIGHT) return
        void this.#send(wish.level, wish.index, batch)
      }
    }
  }

  /** All tiles that would be good to have, most urgent first. */
  #plan(wanted: Wanted): Wish[] {
    const plan: Wish[] = []
    const add = (level: number, index: number, tracks: WantedTrack[]) => {
      if (tracks.length) plan.push({ level, index, tracks })
    }
    const [first, last] = tileRange(wanted.span, wanted.level, wanted.whole)
    const [before, after] = tileRange(wanted.span, wanted.level, wanted.whole, 1)
    const top = Math.max(wanted.level, wholeLevel(wanted.whole))
    const [topFirst, topLast] = tileRange(wanted.whole, top, wanted.whole)
    for (let index = first; index <= last; index++) add(wanted.level, index, wanted.visible)
    for (let index = topFirst; index <= topLast; index++) add(top, index, wanted.visible)
    if (before < first) add(wanted.level, before, wanted.visible)
    if (after > last) add(wanted.level, after, wanted.visible)
    for (let index = topFirst; index <= topLast; index++) add(top, index, wanted.nearby)
    for (let index = first; index <= last; index++) add(wanted.level, index, wanted.nearby)
    return plan
  }

  /** The tracks of a wish that are neither here nor on their way, in portions. */
  #batches(wish: Wish): number[][] {
    const coming = new Set<number>()
    for (const request of this.#inFlight) {
      if (request.level === wish.level && request.index === wish.index) request.tracks.forEach((track) => coming.add(track))
    }
    const batches: number[][] = []
    let rowsLeft = 0
    for (const { id: track, rows } of wish.tracks) {
      if (coming.has(track) || this.#tiles.get(track)?.has(tileKey(wish.level, wish.index))) continue
      const batch = batches.at(-1)
      if (!batch || batch.length >= MOST_TRACKS || rowsLeft < rows) {
        batches.push([track])
        rowsLeft = MOST_ROWS - rows
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
      const buffer = await this.fetch(tracks, tileSpan(request), TILE_PX, signal)
      if (!signal.aborted) this.#store(request, decodeTimeline(buffer))
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

  #store(request: Request, answer: TimelineAnswer): void {
    for (const track of request.tracks) {
      const sliceRows = answer.sliceRows.filter((row) => row.track === track)
      const counterRows = answer.counterRows.filter((row) => row.track === track)
      const count = (rows: Row[]) => rows.reduce((sum, row) => sum + row.count, 0)
      const bytes = 200 + SLICE_BYTES * count(sliceRows) + COUNTER_BYTES * count(counterRows)
      const tiles = this.#tiles.get(track) ?? new Map<number, TrackTile>()
      this.#tiles.set(track, tiles)
      tiles.set(tileKey(request.level, request.index), {
        track, level: request.level, index: request.index, span: tileSpan(request), answer, sliceRows, counterRows, bytes,
        usedAt: this.#clock,
      })
      this.#bytes += bytes
    }
    if (this.#bytes > this.mostBytes) this.#evict()
  }

  /** Lets the tiles go that have not been drawn for the longest time, until a fifth of the room is free. */
  #evict(): void {
    const all: TrackTile[] = []
    for (const tiles of this.#tiles.values()) all.push(...tiles.values())
    all.sort((a, b) => a.usedAt - b.usedAt)
    for (const tile of all) {
      if (this.#bytes <= 0.8 * this.mostBytes || tile.usedAt >= this.#clock) break
      this.#tiles.get(tile.track)!.delete(tileKey(tile.level, tile.index))
      this.#bytes -= tile.bytes
      this.evicted(tile)
    }
  }
}
