// Draws scenes: shapes with WebGL 2 on one canvas, text on another above it. Recovers from a lost WebGL context.
import type { TrackTile } from '../data/tileCache'
import { paletteBytes, SLOTS } from '../model/palette'
import { CurveProgram } from './curves'
import { cssColor, type Rgba } from './gl'
import { drawLabels, type LabelStyle } from './labels'
import { QuadIndices } from './quads'
import type { Area, Scene, Tone } from './scene'
import { SliceProgram } from './slices'

const TONE_VARIABLES: Record<Tone, string> = {
  back: '--track-back', other: '--track-other', header: '--raised', grid: '--grid', edge: '--edge',
}

export class Renderer {
  /** Items drawn in the last frame. */
  drawn = 0
  readonly #canvas: HTMLCanvasElement
  readonly #text: CanvasRenderingContext2D
  #gl: WebGL2RenderingContext | null = null
  #slices: SliceProgram | null = null
  #curves: CurveProgram | null = null
  #palette: Uint8Array = new Uint8Array(4 * SLOTS)
  #tones = {} as Record<Tone, Rgba>
  #highlight: Rgba = [1, 1, 1, 1]
  #accent: Rgba = [1, 1, 1, 1]
  #labels: LabelStyle = { ink: '', dimmed: '', family: '' }

  constructor(canvas: HTMLCanvasElement, text: HTMLCanvasElement, theme: 'dark' | 'light', redraw: () => void) {
    this.#canvas = canvas
    this.#text = text.getContext('2d')!
    canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault()
      this.#slices = null
    })
    canvas.addEventListener('webglcontextrestored', () => {
      this.#initContext()
      this.#uploadPalette()
      redraw()
    })
    this.#initContext()
    this.setTheme(theme)
  }

  get canDraw(): boolean {
    return this.#gl !== null
  }

  setTheme(theme: 'dark' | 'light'): void {
    const style = getComputedStyle(this.#canvas)
    this.#palette = paletteBytes(theme)
    for (const [tone, variable] of Object.entries(TONE_VARIABLES)) {
      this.#tones[tone as Tone] = cssColor(style.getPropertyValue(variable))
    }
    this.#highlight = cssColor(style.getPropertyValue('--highlight'))
    this.#accent = cssColor(style.getPropertyValue('--accent'))
    this.#labels = {
      ink: style.getPropertyValue('--slice-ink'), dimmed: style.getPropertyValue('--text-soft'), family: style.fontFamily,
    }
    this.#uploadPalette()
  }

  forget(tile: TrackTile): void {
    this.#slices?.forget(tile)
  }

  /** Releases the WebGL context: browsers limit their number. */
  close(): void {
    this.#gl?.getExtension('WEBGL_lose_context')?.loseContext()
  }

  draw(scene: Scene): void {
    const gl = this.#gl
    const slices = this.#slices
    if (!gl || !slices || gl.isContextLost()) return
    this.#resize(scene)
    gl.viewport(0, 0, this.#canvas.width, this.#canvas.height)
    gl.enable(gl.SCISSOR_TEST)
    this.#drawRects(gl, scene)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
    this.#curves!.draw(scene, (slot) => this.#slotColor(slot), this.#accent, (area) => this.#clip(scene, scene.span, area))
    slices.draw(scene, this.#highlight, this.#tones.back, (cover, lane) => this.#clip(scene, cover.span, lane.clip))
    gl.bindVertexArray(null)
    this.drawn = slices.drawn
    drawLabels(this.#text, scene, this.#labels)
  }

  #initContext(): void {
    const gl = this.#canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false })
    this.#gl = gl
    if (!gl) return
    const quads = new QuadIndices(gl)
    this.#slices = new SliceProgram(gl, quads)
    this.#curves = new CurveProgram(gl)
    gl.activeTexture(gl.TEXTURE0)
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture())
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
  }

  #uploadPalette(): void {
    this.#gl?.texImage2D(this.#gl.TEXTURE_2D, 0, this.#gl.RGBA, SLOTS, 1, 0, this.#gl.RGBA, this.#gl.UNSIGNED_BYTE, this.#palette)
  }

  #slotColor(slot: number): Rgba {
    return [this.#palette[4 * slot]! / 255, this.#palette[4 * slot + 1]! / 255, this.#palette[4 * slot + 2]! / 255, 1]
  }

  #resize(scene: Scene): void {
    const width = Math.max(1, Math.round(scene.width * scene.ratio))
    const height = Math.max(1, Math.round(scene.height * scene.ratio))
    for (const canvas of [this.#canvas, this.#text.canvas]) {
      if (canvas.width !== width) canvas.width = width
      if (canvas.height !== height) canvas.height = height
    }
  }

  #drawRects(gl: WebGL2RenderingContext, scene: Scene): void {
    gl.scissor(0, 0, this.#canvas.width, this.#canvas.height)
    gl.clearColor(...this.#tones.back)
    gl.clear(gl.COLOR_BUFFER_BIT)
    for (const rect of scene.rects) {
      const top = Math.round(rect.y * scene.ratio)
      const bottom = Math.max(top + 1, Math.round((rect.y + rect.height) * scene.ratio))
      const left = Math.round(rect.x * scene.ratio)
      const right = Math.max(left + 1, Math.round((rect.x + rect.width) * scene.ratio))
      gl.scissor(left, this.#canvas.height - bottom, right - left, bottom - top)
      gl.clearColor(...this.#tones[rect.tone])
      gl.clear(gl.COLOR_BUFFER_BIT)
    }
  }

  /** Sets the scissor box to the pixels that a time span and an area touch; false when it is off screen. */
  #clip(scene: Scene, span: { from: number; to: number }, area: Area): boolean {
    const scale = (scene.width * scene.ratio) / (scene.span.to - scene.span.from)
    const left = Math.max(0, Math.floor((span.from - scene.span.from) * scale))
    const right = Math.min(this.#canvas.width, Math.ceil((span.to - scene.span.from) * scale))
    const top = Math.max(0, Math.round(area.top * scene.ratio))
    const bottom = Math.min(this.#canvas.height, Math.round(area.bottom * scene.ratio))
    if (right <= left || bottom <= top) return false
    this.#gl!.scissor(left, this.#canvas.height - bottom, right - left, bottom - top)
    return true
  }
}
