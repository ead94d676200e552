// Draws slices as quads, from one buffer per tile that is uploaded once. Times are relative to the tile, so that single precision
// is enough; the position of the tile is computed in double precision for every frame.
import type { TrackTile } from '../data/tileCache'
import type { Colouring } from '../model/colouring'
import type { HitIndex } from '../model/hits'
import { NEUTRAL } from '../model/palette'
import { tileLength } from '../model/tileGrid'
import { lastStart } from '../model/timelineData'
import { finishProgram, startProgram, type Rgba } from './gl'
import { CORNER, repeatForVertices, type QuadIndices } from './quads'
import type { Scene, SceneLane } from './scene'

// Edges are on whole pixels; a slice is at least one pixel wide, and leaves a gap of one to the next if it is wide enough.
const VERTEX = `#version 300 es
layout(location = 0) in vec2 range;
layout(location = 1) in uvec4 look; // palette slot, busy share, has several events, row
layout(location = 2) in float hit;
uniform vec2 toPixels; // offset, scale
uniform vec2 size;
uniform vec3 lane; // y, row height, rows
uniform float ratio;
uniform float isSearch;
uniform float opacity;
uniform vec4 back;
uniform sampler2D palette;
flat out vec4 colour;
flat out vec2 box;
flat out float isHit;
out vec2 at;

void main() {
  vec2 corner = ${CORNER};
  vec2 x = clamp(floor(toPixels.x + range * toPixels.y + 0.5), -16.0, size.x + 16.0);
  x.y = max(x.y, x.x + max(1.0, floor(ratio)));
  if (x.y - x.x > 3.0 * ratio) x.y -= floor(ratio);
  float top = lane.x + float(look.w) * lane.y;
  float bottom = top + lane.y - floor(ratio);
  if (float(look.w) >= lane.z) bottom = top;
  box = vec2(x.y - x.x, bottom - top);
  at = corner * box;
  vec2 place = vec2(mix(x.x, x.y, corner.x), mix(top, bottom, corner.y));
  gl_Position = vec4(place.x / size.x * 2.0 - 1.0, 1.0 - place.y / size.y * 2.0, 0.0, 1.0);
  float strength = look.z == 0u ? 1.0 : 0.3 + 0.7 * float(look.y) / 255.0;
  isHit = isSearch * hit;
  if (isSearch > 0.5 && hit < 0.5) strength *= 0.22;
  // Mixed with the background colour, not blended: slices that share a pixel must not add up to stripes.
  colour = vec4(mix(back.rgb, texelFetch(palette, ivec2(look.x, 0), 0).rgb, strength), 1.0) * opacity;
}`

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 colour;
flat in vec2 box;
flat in float isHit;
in vec2 at;
uniform vec4 highlight;
uniform float ratio;
out vec4 result;

void main() {
  float edge = min(min(at.x, box.x - at.x), min(at.y, box.y - at.y));
  result = isHit > 0.5 && edge < 1.5 * ratio ? highlight : colour;
}`

const UNIFORMS = ['toPixels', 'size', 'lane', 'ratio', 'isSearch', 'opacity', 'palette', 'highlight', 'back'] as const
const BYTES = 12

interface GpuTile {
  vao: WebGLVertexArrayObject
  buffer: WebGLBuffer
  count: number
  colouring: Colouring
  hitBuffer: WebGLBuffer | null
  hits: HitIndex | null
}

/** The tile's slices as vertex data. */
export function sliceBytes(tile: TrackTile, colouring: Colouring): ArrayBuffer {
  const { slices, names } = tile.data
  const count = tile.sliceRows.reduce((sum, row) => sum + row.count, 0)
  const bytes = new ArrayBuffer(BYTES * count)
  const floats = new Float32Array(bytes)
  const looks = new Uint8Array(bytes)
  const length = tileLength(tile.level)
  const { ofName, ofDuration, ofTrack } = colouring
  const slots = ofName ? names.map(ofName) : null
  const trackSlot = ofTrack?.(tile.track) ?? NEUTRAL
  let at = 0
  for (const row of tile.sliceRows) {
    for (let i = row.first; i < row.first + row.count; i++, at++) {
      const start = slices.start[i]!
      const end = slices.end[i]!
      const events = slices.count[i]!
      const busy = slices.busy[i]!
      // Clamped, as far ends would cost the precision of the near ones.
      floats[3 * at] = Math.max(-length, start)
      floats[3 * at + 1] = Math.min(2 * length, end)
      const look = BYTES * at + 8
      if (slots) looks[look] = slots[slices.name[i]!]!
      else looks[look] = ofDuration ? ofDuration(((end - start) * busy) / events) : trackSlot
      looks[look + 1] = Math.round(255 * Math.min(1, busy))
      looks[look + 2] = events > 1 ? 1 : 0
      looks[look + 3] = Math.min(255, row.row)
    }
  }
  return bytes
}

/** Whether slices are search hits, per vertex. */
export function hitBytes(tile: TrackTile, hits: HitIndex): Uint8Array {
  const { slices, from } = tile.data
  const bytes = new Uint8Array(4 * tile.sliceRows.reduce((sum, row) => sum + row.count, 0))
  let at = 0
  for (const row of tile.sliceRows) {
    for (let i = row.first; i < row.first + row.count; i++, at += 4) {
      const [start, end] = [from + slices.start[i]!, from + slices.end[i]!]
      if (hits.covers(tile.track, slices.id[i]!, slices.count[i]!, start, end)) bytes.fill(255, at, at + 4)
    }
  }
  return bytes
}

export class SliceProgram {
  drawn = 0 // slices in the last frame
  readonly #gl: WebGL2RenderingContext
  readonly #program: WebGLProgram
  #uniforms = {} as Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>
  #isFinished = false
  readonly #tiles = new Map<TrackTile, GpuTile>()
  readonly #quads: QuadIndices

  constructor(gl: WebGL2RenderingContext, quads: QuadIndices) {
    this.#gl = gl
    this.#quads = quads
    this.#program = startProgram(gl, VERTEX, FRAGMENT)
  }

  forget(tile: TrackTile): void {
    const gpu = this.#tiles.get(tile)
    if (!gpu) return
    this.#gl.deleteBuffer(gpu.buffer)
    this.#gl.deleteBuffer(gpu.hitBuffer)
    this.#gl.deleteVertexArray(gpu.vao)
    this.#tiles.delete(tile)
  }

  begin(scene: Scene, highlight: Rgba, back: Rgba): void {
    const gl = this.#gl
    if (!this.#isFinished) this.#uniforms = finishProgram(gl, this.#program, UNIFORMS)
    this.#isFinished = true
    this.drawn = 0
    gl.useProgram(this.#program)
    gl.uniform2f(this.#uniforms.size, scene.width * scene.ratio, scene.height * scene.ratio)
    gl.uniform1f(this.#uniforms.ratio, scene.ratio)
    gl.uniform1f(this.#uniforms.isSearch, scene.hits ? 1 : 0)
    gl.uniform1i(this.#uniforms.palette, 0)
    gl.uniform4f(this.#uniforms.highlight, ...highlight)
    gl.uniform4f(this.#uniforms.back, ...back)
  }

  /** Draws a tile; the caller has set the scissor box. */
  draw(scene: Scene, lane: SceneLane, tile: TrackTile): void {
    const gl = this.#gl
    const gpu = this.#upload(tile, scene)
    if (gpu.count === 0) return
    const scale = (scene.width * scene.ratio) / (scene.span.to - scene.span.from)
    gl.bindVertexArray(gpu.vao)
    gl.uniform2f(this.#uniforms.toPixels, (tile.span.from - scene.span.from) * scale, scale)
    gl.uniform3f(this.#uniforms.lane, Math.round(lane.y * scene.ratio), lane.rowHeight * scene.ratio, lane.rows)
    gl.uniform1f(this.#uniforms.opacity, lane.opacity)
    this.#drawRows(scene, lane, tile)
  }

  /** Draws the visible part only, as tiles extend beyond the viewport. */
  #drawRows(scene: Scene, lane: SceneLane, tile: TrackTile): void {
    const { slices, from } = tile.data
    let begin = 0
    for (const row of tile.sliceRows) {
      if (row.row < lane.rows) {
        const first = Math.max(row.first, lastStart(slices.start, row.first, row.count, scene.span.from - from))
        const count = lastStart(slices.start, row.first, row.count, scene.span.to - from) + 1 - first
        if (count > 0) this.#quads.draw(begin + first - row.first, count)
        this.drawn += Math.max(0, count)
      }
      begin += row.count
    }
  }

  #upload(tile: TrackTile, scene: Scene): GpuTile {
    const gl = this.#gl
    let gpu = this.#tiles.get(tile)
    if (!gpu) {
      const [vao, buffer] = [gl.createVertexArray()!, gl.createBuffer()!]
      gpu = { vao, buffer, count: -1, colouring: scene.colouring, hitBuffer: null, hits: null }
      this.#tiles.set(tile, gpu)
    }
    if (gpu.count < 0 || gpu.colouring !== scene.colouring) {
      const bytes = sliceBytes(tile, scene.colouring)
      gpu.count = bytes.byteLength / BYTES
      gpu.colouring = scene.colouring
      gl.bindVertexArray(gpu.vao)
      gl.bindBuffer(gl.ARRAY_BUFFER, gpu.buffer)
      gl.bufferData(gl.ARRAY_BUFFER, repeatForVertices(new Uint32Array(bytes), BYTES / 4), gl.STATIC_DRAW)
      gl.enableVertexAttribArray(0)
      gl.vertexAttribPointer(0, 2, gl.FLOAT, false, BYTES, 0)
      gl.enableVertexAttribArray(1)
      gl.vertexAttribIPointer(1, 4, gl.UNSIGNED_BYTE, BYTES, 8)
    }
    if (scene.hits && gpu.hits !== scene.hits) {
      gpu.hits = scene.hits
      gpu.hitBuffer ??= gl.createBuffer()!
      gl.bindVertexArray(gpu.vao)
      gl.bindBuffer(gl.ARRAY_BUFFER, gpu.hitBuffer)
      gl.bufferData(gl.ARRAY_BUFFER, hitBytes(tile, scene.hits), gl.STATIC_DRAW)
      gl.enableVertexAttribArray(2)
      gl.vertexAttribPointer(2, 1, gl.UNSIGNED_BYTE, true, 0, 0)
    }
    return gpu
  }
}
