// Controller of the timeline canvas: size, scroll position, pointer, drag, and the render loop, which draws only on changes.
// State that a shared link restores is in `view` instead.
import * as api from '../../data/api'
import { colors } from '../../data/coloring.svelte'
import { profile } from '../../data/profile.svelte'
import { ranks } from '../../data/ranks.svelte'
import { sqlTracks } from '../../data/sqlTracks.svelte'
import { TileCache } from '../../data/tileCache'
import { layoutView } from '../../data/layoutView.svelte'
import { pushHistory, view } from '../../data/view.svelte'
import { HEADER_HEIGHT, LANE_PADDING, makeLayout, stuckGroups, type Lane, type Layout } from '../../model/layout'
import type { Ps, Span } from '../../model/time'
import { clampSpan, panSpan, ticks, timeToX, xToTime, zoomSpan } from '../../model/viewport'
import { buildScene, counterRange, tileDemand, type Viewport } from '../../render/buildScene'
import { firstEvent, groupAt, laneAt, pick, rowOf, snap, type Picked, type PickedEvent } from '../../render/pick'
import { Renderer } from '../../render/renderer'

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

const EASING_MS = 55
const MAX_FRAME_MS = 200 // of slow frames counts this: a tap of a key arrives within a few of them
const SNAP_PX = 6

export class TimelineController {
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
  frameMs = $state(0) // CPU time of the last frame
  drawn = $state(0)
  pending = $state(0)
  hits: TileCache | null = $state.raw(null) // tiles of the search results alone
  tileVersion = $state(0) // incremented when tiles arrive, to repeat lookups in them

  readonly layout: Layout = $derived(makeLayout([...ranks.tracks, ...sqlTracks.tracks], profile.pids, layoutView()))
  readonly span: Span = $derived(view.span ? clampSpan(view.span, profile.span) : profile.focus)
  readonly ticks = $derived(ticks(this.span, this.width))
  readonly maxScroll: number = $derived(Math.max(0, this.layout.height + this.layout.pinnedHeight - this.height))
  readonly scroll: number = $derived(Math.max(0, Math.min(this.scrollTop, this.maxScroll)))
  readonly stuck = $derived(stuckGroups(this.layout, this.scroll))
  /** The top of the area in which tracks scroll. */
  readonly scrolledTop: number = $derived(this.layout.pinnedHeight + Math.max(0, ...this.stuck.map(({ y }) => y + HEADER_HEIGHT)))
  readonly picked: Picked | null = $derived.by(() => {
    void this.tileVersion
    return this.pointer && !this.drag ? this.pick(this.pointer.x, this.pointer.y) : null
  })

  readonly pickedGroup = $derived.by(() => {
    void this.tileVersion
    return this.pointer && !this.drag ? groupAt(this.layout, this.cache, this.viewport, this.pointer.x, this.pointer.y) : null
  })

  lastKeyAt = 0
  lastClick: { x: number; y: number; when: number; picked: Picked | null } | null = null
  readonly cache: TileCache
  #renderer: Renderer | null = null
  #makeRenderer: (() => Renderer) | null = null
  #theme: 'dark' | 'light' = 'dark'
  #search = ''
  #frame = 0
  #target: Span | null = null
  #shown: Span | null = null // as the animation left it: who else changes the view ends the animation
  #lastFrameAt = 0
  #hasFirstFrame = false

  constructor() {
    this.cache = this.#makeCache()
  }

  #makeCache(search?: string): TileCache {
    const name = profile.name
    const cache: TileCache = new TileCache(
      (tracks, span, width, signal) => api.getTimeline(name, tracks, span, width, signal, search),
      () => {
        this.tileVersion++
        this.error = this.cache.error ?? this.hits?.error ?? null
        this.invalidate()
      },
      (tile) => this.#renderer?.forget(tile),
    )
    // Search results are events of the profile's tracks only.
    cache.local = (track, span, width) => {
      const tile = sqlTracks.tile(track, span, width)
      return tile && search ? { ...tile, sliceRows: [] } : tile
    }
    return cache
  }

  /** Marks the results of a search; an empty one marks nothing. */
  setSearch(query: string): void {
    if (query === this.#search) return
    this.#search = query
    this.hits?.close()
    this.hits = query.trim() ? this.#makeCache(query) : null
  }

  retry(): void {
    this.cache.retry()
    this.hits?.retry()
  }

  get viewport(): Viewport {
    return {
      span: this.span, whole: profile.span, width: this.width, height: this.height, ratio: this.ratio, scrollTop: this.scroll,
    }
  }

  attach(canvas: HTMLCanvasElement, text: HTMLCanvasElement, theme: 'dark' | 'light'): void {
    this.#theme = theme
    this.#makeRenderer = () => new Renderer(canvas, text, this.#theme, () => this.invalidate())
  }

  setTheme(theme: 'dark' | 'light'): void {
    if (this.#theme === theme) return
    this.#theme = theme
    this.#renderer?.setTheme(theme)
    this.invalidate()
  }

  close(): void {
    cancelAnimationFrame(this.#frame)
    this.cache.close()
    this.hits?.close()
    this.#renderer?.close()
  }

  invalidate(): void {
    this.isComplete = false
    if (!this.#hasFirstFrame) this.#requestTiles()
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#draw(now))
  }

  x(time: Ps): number {
    return timeToX(time, this.span, this.width)
  }

  time(x: number): Ps {
    return xToTime(x, this.span, this.width)
  }

  pick(x: number, y: number): Picked | null {
    return this.width > 0 ? pick(this.layout, this.cache, this.viewport, x, y) : null
  }

  laneAt(y: number): Lane | null {
    return laneAt(this.layout, this.viewport, y)?.lane ?? null
  }

  snap(x: number): Ps {
    return snap(this.layout, this.cache, this.viewport, x, SNAP_PX)
  }

  /** The first event that starts within the viewport, of a lane's outermost row. */
  first(lane: Lane): PickedEvent | null {
    return firstEvent(this.cache, this.viewport, lane)
  }

  counterRange(track: number): { min: number; max: number } {
    return counterRange(this.cache, track)
  }

  /** The top of a lane on the canvas. */
  yOf(lane: Lane): number {
    return lane.isPinned ? lane.y : lane.y + this.layout.pinnedHeight - this.scroll
  }

  /** The row of an event: from the server, else from a tile, else the outermost. */
  rowOf(track: number, row: number | null | undefined, id: number, start: Ps): number {
    return row ?? rowOf(this.cache, track, id, start) ?? 0
  }

  /** Position of an event's row on the canvas; null without a lane. */
  rowBox(track: number, row: number | null | undefined, id: number, start: Ps): RowBox | null {
    void this.tileVersion
    const lane = this.layout.lanes.get(track)
    if (!lane) return null
    const shown = Math.min(this.rowOf(track, row, id, start), lane.rows - 1)
    const top = this.yOf(lane) + LANE_PADDING + shown * lane.rowHeight
    return { top, height: lane.track.is_counter ? lane.height - 2 * LANE_PADDING : lane.rowHeight - 1, lane }
  }

  /** Sets the visible span: instantly, animated, or as a new history entry. */
  setSpan(span: Span, how: 'instant' | 'animated' | 'history' = 'instant'): void {
    const next = clampSpan(span, profile.span)
    if (how === 'animated' && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.#target = next
      this.#shown = view.span
      this.#lastFrameAt = 0
      this.invalidate()
      return
    }
    this.#target = null
    if (how === 'history') pushHistory(() => this.#setViewSpan(next))
    else this.#setViewSpan(next)
  }

  zoom(factor: number, x: number, isAnimated = false): void {
    const from = (isAnimated && this.#target) || this.span
    this.setSpan(zoomSpan(from, factor, xToTime(x, from, this.width), profile.span), isAnimated ? 'animated' : 'instant')
  }

  pan(pixels: number, isAnimated = false): void {
    const from = (isAnimated && this.#target) || this.span
    this.setSpan(panSpan(from, (pixels / this.width) * (from.to - from.from), profile.span), isAnimated ? 'animated' : 'instant')
  }

  scrollBy(pixels: number): void {
    this.scrollTop = Math.max(0, Math.min(this.maxScroll, this.scroll + pixels))
  }

  /** Scrolls until a lane, or at least its top, is visible. */
  scrollTo(track: number): void {
    const lane = this.layout.lanes.get(track)
    if (!lane || lane.isPinned) return
    const room = this.height - this.layout.pinnedHeight
    const headers = lane.depth * HEADER_HEIGHT
    if (lane.y < this.scroll + headers) this.scrollTop = lane.y - headers
    else if (lane.y + lane.height > this.scroll + room) this.scrollTop = Math.min(lane.y, lane.y + lane.height - room)
  }

  /** Within a lane that is higher than the canvas: scrolls until a row of it is visible. */
  scrollToRow(track: number, row: number | null | undefined, id: number, start: Ps): void {
    const box = this.rowBox(track, row, id, start)
    if (!box || box.lane.isPinned) return
    if (box.top < this.scrolledTop) this.scrollBy(box.top - this.scrolledTop)
    else if (box.top + box.height > this.height) this.scrollBy(box.top + box.height - this.height)
  }

  #setViewSpan(span: Span): void {
    const { focus } = profile
    const isDefault = Math.abs(span.from - focus.from) < 1 && Math.abs(span.to - focus.to) < 1
    // Whole picoseconds, as in the URL: a reload restores the same span.
    view.span = isDefault ? null : { from: Math.round(span.from), to: Math.round(span.to) }
  }

  #animate(now: number): void {
    if (view.span !== this.#shown) this.#target = null
    if (!this.#target) return
    const passed = this.#lastFrameAt ? Math.min(MAX_FRAME_MS, now - this.#lastFrameAt) : 16
    this.#lastFrameAt = now
    const share = 1 - Math.exp(-passed / EASING_MS)
    const { span } = this
    const next = {
      from: span.from + share * (this.#target.from - span.from),
      to: span.to + share * (this.#target.to - span.to),
    }
    const off = Math.max(Math.abs(next.from - this.#target.from), Math.abs(next.to - this.#target.to))
    // Also where the rest is less than the whole picoseconds of a view.
    const isDone = off * this.width < 0.25 * (this.#target.to - this.#target.from) || off < 1
    const target = this.#target
    this.#setViewSpan(isDone ? target : next)
    this.#shown = view.span
    if (isDone) this.#target = null
  }

  /** Requests tiles before the first frame: the browser takes long to create a graphics context. */
  #requestTiles(): void {
    if (this.width > 0 && this.height > 0) this.cache.update(tileDemand(this.layout, this.viewport))
  }

  /** Shaders compile until the next frame. */
  #createRenderer(): void {
    this.#renderer = this.#makeRenderer!()
    this.canDraw = this.#renderer.canDraw
    this.invalidate()
  }

  #draw(now: number): void {
    this.#frame = 0
    if (!this.#makeRenderer || this.width <= 0 || this.height <= 0) return
    if (!this.#renderer) return this.#createRenderer()
    const begin = performance.now()
    this.#animate(now)
    const { viewport } = this
    this.cache.update(tileDemand(this.layout, viewport))
    this.hits?.update(tileDemand(this.layout, viewport, true))
    const style = { coloring: colors.current, hits: this.hits, ticks: this.ticks }
    this.#renderer.draw(buildScene(this.layout, this.cache, viewport, style))
    this.frameMs = performance.now() - begin
    this.frames++
    this.drawn = this.#renderer.drawn
    this.pending = this.cache.pending + (this.hits?.pending ?? 0)
    const isColored = colors.current.mode === view.color || colors.error !== null
    this.isComplete = this.cache.isComplete && (this.hits?.isComplete ?? true) && !this.#target && isColored && profile.isNamed
    if (this.isComplete && !this.#hasFirstFrame) {
      this.#hasFirstFrame = true
      performance.mark('kymo-first-frame')
    }
    if (this.#target && !this.#frame) this.#frame = requestAnimationFrame((next) => this.#draw(next))
  }
}
