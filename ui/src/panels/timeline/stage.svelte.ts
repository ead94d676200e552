// The timeline's own state: its size and scroll, what the pointer is over, and the loop that draws a frame when something
// has changed. Everything that a link must bring back is in `view`; here is what a reload may forget.
import * as api from '../../data/api'
import { colours } from '../../data/colouring.svelte'
import { profile } from '../../data/profile.svelte'
import { found } from '../../data/search.svelte'
import { TileCache } from '../../data/tiles'
import { step, view } from '../../data/view.svelte'
import { HitIndex } from '../../model/hits'
import { LANE_PADDING, makeLayout, type Lane, type Layout } from '../../model/layout'
import type { Ps, Span } from '../../model/time'
import { clampSpan, panSpan, ticks, timeToX, xToTime, zoomSpan } from '../../model/viewport'
import { compose, counterRange, wantedOf, type Window } from '../../render/compose'
import { laneAt, nextEvent, pick, rowOf, snap, type Picked, type PickedEvent } from '../../render/pick'
import { Picture } from '../../render/picture'

export interface Drag {
  kind: 'zoom' | 'box'
  x0: number
  y0: number
  x1: number
  y1: number
}

export interface RowBox {
  top: number
  height: number
  lane: Lane
}

const EASE_MS = 55
const SNAP_PX = 6

export class Stage {
  width = $state(0)
  height = $state(0)
  ratio = $state(1)
  scrollTop = $state(0)
  pointer: { x: number; y: number } | null = $state.raw(null)
  drag: Drag | null = $state.raw(null)
  isBoxMode = $state(false)
  error: string | null = $state(null)
  isComplete = $state(false)
  canDraw = $state(true)
  frames = $state(0)
  frameMs = $state(0) // what the last frame cost on the CPU
  drawn = $state(0)
  pending = $state(0)
  tilesSeen = $state(0) // grows when tiles arrive: what was looked up in them may be found now

  readonly layout: Layout = $derived(makeLayout(profile.tracks, profile.pids, view))
  readonly span: Span = $derived(view.span ? clampSpan(view.span, profile.span) : profile.span)
  readonly ticks = $derived(ticks(this.span, this.width))
  readonly hits: HitIndex | null = $derived(view.search.trim() && found.answer ? new HitIndex(found.answer.hits) : null)
  readonly bottom: number = $derived(Math.max(0, this.layout.height + this.layout.pinnedHeight - this.height))
  readonly scroll: number = $derived(Math.max(0, Math.min(this.scrollTop, this.bottom)))
  readonly picked: Picked | null = $derived.by(() => {
    void this.tilesSeen
    return this.pointer && !this.drag ? this.pick(this.pointer.x, this.pointer.y) : null
  })

  lastClick: { x: number; y: number; when: number; picked: Picked | null } | null = null
  readonly cache: TileCache
  #picture: Picture | null = null
  #makePicture: (() => Picture) | null = null
  #theme: 'dark' | 'light' = 'dark'
  #frame = 0
  #target: Span | null = null
  #lastFrameAt = 0
  #hasPicture = false

  constructor() {
    const name = profile.name
    this.cache = new TileCache(
      (tracks, span, width, signal) => api.getTimeline(name, tracks, span, width, signal),
      () => {
        this.tilesSeen++
        this.error = this.cache.error
        this.invalidate()
      },
      (tile) => this.#picture?.forget(tile),
    )
  }

  get window(): Window {
    return {
      span: this.span, whole: profile.span, width: this.width, height: this.height, ratio: this.ratio, scrollTop: this.scroll,
    }
  }

  attach(canvas: HTMLCanvasElement, text: HTMLCanvasElement, theme: 'dark' | 'light'): void {
    this.#theme = theme
    this.#makePicture = () => new Picture(canvas, text, this.#theme, () => this.invalidate())
  }

  setTheme(theme: 'dark' | 'light'): void {
    if (this.#theme === theme) return
    this.#theme = theme
    this.#picture?.setTheme(theme)
    this.invalidate()
  }

  close(): void {
    cancelAnimationFrame(this.#frame)
    this.cache.close()
    this.#picture?.close()
  }

  invalidate(): void {
    this.isComplete = false
    if (!this.#hasPicture) this.#ask()
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#draw(now))
  }

  x(time: Ps): number {
    return timeToX(time, this.span, this.width)
  }

  time(x: number): Ps {
    return xToTime(x, this.span, this.width)
  }

  pick(x: number, y: number): Picked | null {
    return this.width > 0 ? pick(this.layout, this.cache, this.window, x, y) : null
  }

  laneAt(y: number): Lane | null {
    return laneAt(this.layout, this.window, y)?.lane ?? null
  }

  snap(x: number): Ps {
    return snap(this.layout, this.cache, this.window, x, SNAP_PX)
  }

  /** The event before or behind one in its row, as far as it is on screen. */
  next(track: number, row: number, start: Ps, by: 1 | -1): PickedEvent | null {
    const lane = this.layout.lanes.get(track)
    return lane ? nextEvent(this.cache, this.window, lane, row, start, by) : null
  }

  counterRange(track: number): { least: number; most: number } {
    return counterRange(this.cache, track)
  }

  /** Where a lane's top is on the canvas. */
  yOf(lane: Lane): number {
    return lane.isPinned ? lane.y : lane.y + this.layout.pinnedHeight - this.scroll
  }

  /** The row of an event: as the server says, else as a tile shows, else the outermost. */
  rowOf(track: number, row: number | null | undefined, id: number, start: Ps): number {
    return row ?? rowOf(this.cache, track, id, start) ?? 0
  }

  /** Where an event's row is on the canvas; null without a lane. */
  rowBox(track: number, row: number | null | undefined, id: number, start: Ps): RowBox | null {
    void this.tilesSeen
    const lane = this.layout.lanes.get(track)
    if (!lane) return null
    const shown = Math.min(this.rowOf(track, row, id, start), lane.rows - 1)
    const top = this.yOf(lane) + LANE_PADDING + shown * lane.rowHeight
    return { top, height: lane.track.is_counter ? lane.height - 2 * LANE_PADDING : lane.rowHeight - 1, lane }
  }

  /** Moves the window: at once, a little later (`glide`), or as a step of the history. */
  setSpan(span: Span, how: 'now' | 'glide' | 'step' = 'now'): void {
    const next = clampSpan(span, profile.span)
    if (how === 'glide' && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.#target = next
      this.#lastFrameAt = 0
      this.invalidate()
      return
    }
    this.#target = null
    if (how === 'step') step(() => this.#put(next))
    else this.#put(next)
  }

  zoom(factor: number, x: number, glide = false): void {
    const from = (glide && this.#target) || this.span
    this.setSpan(zoomSpan(from, factor, xToTime(x, from, this.width), profile.span), glide ? 'glide' : 'now')
  }

  pan(pixels: number, glide = false): void {
    const from = (glide && this.#target) || this.span
    this.setSpan(panSpan(from, (pixels / this.width) * (from.to - from.from), profile.span), glide ? 'glide' : 'now')
  }

  scrollBy(pixels: number): void {
    this.scrollTop = Math.max(0, Math.min(this.bottom, this.scroll + pixels))
  }

  /** Scrolls until a lane is to be seen whole, or its top is. */
  scrollTo(track: number): void {
    const lane = this.layout.lanes.get(track)
    if (!lane || lane.isPinned) return
    const room = this.height - this.layout.pinnedHeight
    if (lane.y < this.scroll) this.scrollTop = lane.y
    else if (lane.y + lane.height > this.scroll + room) this.scrollTop = Math.min(lane.y, lane.y + lane.height - room)
  }

  /** Within a lane that is higher than the screen: scrolls until a row of it is to be seen. */
  scrollToRow(track: number, row: number | null | undefined, id: number, start: Ps): void {
    const box = this.rowBox(track, row, id, start)
    if (!box || box.lane.isPinned) return
    if (box.top < this.layout.pinnedHeight) this.scrollBy(box.top - this.layout.pinnedHeight)
    else if (box.top + box.height > this.height) this.scrollBy(box.top + box.height - this.height)
  }

  #put(span: Span): void {
    const isAll = span.from <= profile.span.from && span.to >= profile.span.to
    // Whole picoseconds, as the address has them: a reload is the same window.
    view.span = isAll ? null : { from: Math.round(span.from), to: Math.round(span.to) }
  }

  #glide(now: number): void {
    if (!this.#target) return
    const passed = this.#lastFrameAt ? Math.min(50, now - this.#lastFrameAt) : 16
    this.#lastFrameAt = now
    const share = 1 - Math.exp(-passed / EASE_MS)
    const { span } = this
    const next = {
      from: span.from + share * (this.#target.from - span.from),
      to: span.to + share * (this.#target.to - span.to),
    }
    const off = Math.max(Math.abs(next.from - this.#target.from), Math.abs(next.to - this.#target.to))
    const isThere = off * this.width < 0.25 * (this.#target.to - this.#target.from)
    const target = this.#target
    this.#put(isThere ? target : next)
    if (isThere) this.#target = null
  }

  /** Before the first picture tiles are asked for without waiting for a frame: a graphics context takes the browser long. */
  #ask(): void {
    if (this.width > 0 && this.height > 0) this.cache.want(wantedOf(this.layout, this.window))
  }

  /** Makes the picture and leaves its shaders the time until the next frame. */
  #begin(): void {
    this.#picture = this.#makePicture!()
    this.canDraw = this.#picture.canDraw
    this.invalidate()
  }

  #draw(now: number): void {
    this.#frame = 0
    if (!this.#makePicture || this.width <= 0 || this.height <= 0) return
    if (!this.#picture) return this.#begin()
    const begin = performance.now()
    this.#glide(now)
    const { window } = this
    this.cache.want(wantedOf(this.layout, window))
    const look = { colouring: colours.current, hits: this.hits, ticks: this.ticks }
    this.#picture.draw(compose(this.layout, this.cache, window, look))
    this.frameMs = performance.now() - begin
    this.frames++
    this.drawn = this.#picture.drawn
    this.pending = this.cache.pending
    const isColoured = colours.current.mode === view.colour || colours.error !== null
    this.isComplete = this.cache.isComplete && !this.#target && isColoured && profile.isNamed
    if (this.isComplete && !this.#hasPicture) {
      this.#hasPicture = true
      performance.mark('kymo-first-picture')
    }
    if (this.#target && !this.#frame) this.#frame = requestAnimationFrame((next) => this.#draw(next))
  }
}
