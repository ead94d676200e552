// One of two timelines that are compared: its profile, what of it is visible, and the render loop, which draws only on changes. Both
// show the same time from the start of their step.
import * as api from '../../data/api'
import { OpenProfile } from '../../data/profile.svelte'
import { TileCache } from '../../data/tileCache'
import { BY_NAME } from '../../model/coloring'
import { makeLayout, type Layout } from '../../model/layout'
import type { Ps, Span } from '../../model/time'
import { defaultView } from '../../model/view'
import { ticks } from '../../model/viewport'
import { buildScene, tileDemand, type Viewport } from '../../render/buildScene'
import { groupAt, pick, type Picked } from '../../render/pick'
import { Renderer } from '../../render/renderer'

const DEVICE_ROLES = ['stream', 'ops']
const MAX_PINNED = 4

export class StepController {
  width = $state(0)
  height = $state(0)
  ratio = $state(1)
  scrollTop = $state(0)
  pointer: { x: number; y: number } | null = $state.raw(null)
  start: Ps | null = $state(null) // of the step; null: of the profile
  relative: Span | null = $state.raw(null) // what is visible, from the start
  isComplete = $state(false)
  tileVersion = $state(0)
  readonly profile = new OpenProfile()

  readonly origin: Ps = $derived(this.start ?? this.profile.focus.from)
  readonly visible: Span = $derived(this.relative ?? { from: 0, to: this.profile.focus.to - this.profile.focus.from })
  readonly span: Span = $derived({ from: this.origin + this.visible.from, to: this.origin + this.visible.to })
  readonly ticks = $derived(ticks(this.visible, this.width))
  /** Work of devices comes first: that is what steps are compared by. */
  readonly layout: Layout = $derived.by(() => {
    const lanes = this.profile.tracks.filter((track) => DEVICE_ROLES.includes(track.role) && track.event_count > 0 && !track.is_counter)
    const pinned = lanes.sort((m, n) => n.event_count - m.event_count).slice(0, MAX_PINNED).map((track) => track.id)
    return makeLayout(this.profile.tracks, this.profile.pids, { ...defaultView(), pinned, minimal: this.profile.isDevice })
  })
  readonly maxScroll: number = $derived(Math.max(0, this.layout.height + this.layout.pinnedHeight - this.height))
  readonly scroll: number = $derived(Math.max(0, Math.min(this.scrollTop, this.maxScroll)))
  readonly picked: Picked | null = $derived.by(() => {
    void this.tileVersion
    return this.pointer && this.width > 0 ? pick(this.layout, this.#cache, this.viewport, this.pointer.x, this.pointer.y) : null
  })
  readonly pickedGroup = $derived.by(() => {
    void this.tileVersion
    return this.pointer ? groupAt(this.layout, this.#cache, this.viewport, this.pointer.x, this.pointer.y) : null
  })

  readonly #cache: TileCache
  #renderer: Renderer | null = null
  #frame = 0

  constructor(readonly name: string) {
    this.#cache = new TileCache(
      (tracks, span, width, signal) => api.getTimeline(name, tracks, span, width, signal),
      () => {
        this.tileVersion++
        this.invalidate()
      },
      (tile) => this.#renderer?.forget(tile),
    )
  }

  get viewport(): Viewport {
    return { span: this.span, whole: this.profile.span, width: this.width, height: this.height, ratio: this.ratio, scrollTop: this.scroll }
  }

  attach(canvas: HTMLCanvasElement, text: HTMLCanvasElement, theme: 'dark' | 'light'): void {
    this.#renderer = new Renderer(canvas, text, theme, () => this.invalidate())
  }

  setTheme(theme: 'dark' | 'light'): void {
    this.#renderer?.setTheme(theme)
    this.invalidate()
  }

  close(): void {
    cancelAnimationFrame(this.#frame)
    this.#cache.close()
    this.#renderer?.close()
    this.profile.close()
  }

  invalidate(): void {
    this.isComplete = false
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw())
  }

  #draw(): void {
    this.#frame = 0
    if (!this.#renderer || !this.profile.isReady || this.width <= 0 || this.height <= 0) return
    const { viewport } = this
    this.#cache.update(tileDemand(this.layout, viewport))
    this.#renderer.draw(buildScene(this.layout, this.#cache, viewport, { coloring: BY_NAME, hits: null, ticks: this.ticks }))
    this.isComplete = this.#cache.isComplete
  }
}
