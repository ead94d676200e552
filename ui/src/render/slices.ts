// Draws slices as quads, from one buffer per tile that is uploaded once. Times are relative to the tile, so that single precision
// is enough; the position of the tile is computed in double precision for every frame.
//
// What is added to a pixel is the share of its time that a slice covers: slices of a row do not overlap, so that the sum is the
// covered share of the pixel, however many meet in it. A sum can only go one way, so slices must be brighter than the background in
// the dark theme (added) and darker in the light one (subtracted). On white, a pale color is hardly seen: there a pixel whose slices
// cover a small share is drawn at LEAST_SHADE over a part of the row's height, so that the area times the shade is the share again.
// That needs the sum of all slices in the pixel before any of them is drawn, so they are added up into a texture first. What covers too
// little to be seen gets a mark at the bottom of its row, which takes at most MARK_AREA of the row; search results are marked more clearly.
import type { Cover, TrackTile } from '../data/tileCache'
import type { Coloring } from '../model/coloring'
import { NEUTRAL } from '../model/palette'
import { TILE_PX, tileLength } from '../model/tileGrid'
import { lastStart } from '../model/timelineData'
import { finishProgram, startProgram, Target, type Rgba } from './gl'
import { CORNER, repeatForVertices, type QuadIndices } from './quads'
import type { Scene, SceneLane } from './scene'

const MARK_AREA = 0.012
const LEAST_SHADE = 0.8
const SEAM_AREA = 0.015 // share of a slice that the line at its end takes
const ALONE_PX = 24 // distance to the neighbors, in pixels of the tile, from which on a mark is higher
const SEVERAL = 1
const ALONE = 2

const VERTEX = `#version 300 es
layout(location = 0) in vec2 range;
layout(location = 1) in uvec4 look; // palette slot, busy share, SEVERAL and ALONE, row
uniform vec2 toPixels; // offset, scale
uniform vec2 clip; // pixels to draw from this tile
uniform vec2 size;
uniform vec3 lane; // y, row height, rows
uniform float pixel; // size of a CSS pixel, in whole pixels
uniform bool isHit;
uniform bool isMark;
uniform float sign;
uniform sampler2D palette;
flat out vec3 color;
flat out float busy;
flat out float isWide; // 1: shaded as it is, for straight ends
flat out vec2 ends;
flat out vec3 seam; // from, to, strength
flat out vec2 rows;

void main() {
  vec2 corner = ${CORNER};
  vec2 x = toPixels.x + range * toPixels.y;
  ends = clamp(x, clip.x, clip.y);
  busy = float(look.y) / 255.0;
  bool isSeveral = (look.z & ${SEVERAL}u) != 0u;
  seam = vec3(x.y - pixel, x.y, isSeveral ? 0.0 : clamp(${SEAM_AREA} * (x.y - x.x) / pixel, 0.0, 0.5));
  rows.x = floor(lane.x + float(look.w) * lane.y + 0.5);
  rows.y = floor(lane.x + (float(look.w) + 1.0) * lane.y + 0.5) - pixel;
  isWide = isSeveral || x.y - x.x < 2.0 * pixel ? 0.0 : 1.0;
  float left = floor(ends.x);
  float right = ceil(ends.y);
  if (isMark) {
    bool isAlone = (look.z & ${ALONE}u) != 0u;
    float height = rows.y - rows.x;
    bool isSmall = isSeveral || x.y - x.x < 4.0 * pixel;
    busy = isHit ? 1.0 : isAlone ? 0.45 : min(0.5, ${MARK_AREA} * height);
    rows.x = rows.y - (isHit ? max(2.0, floor(0.3 * height)) : isAlone ? floor(0.4 * height) : 1.0);
    bool isInside = x.x >= clip.x && x.x < clip.y;
    right = isSmall && isInside ? max(left + 1.0, min(right, left + 4.0 * pixel)) : left;
  }
  if (float(look.w) >= lane.z) right = left;
  vec2 place = vec2(mix(left, right, corner.x), mix(rows.x, rows.y, corner.y));
  gl_Position = vec4(place.x / size.x * 2.0 - 1.0, 1.0 - place.y / size.y * 2.0, 0.0, 1.0);
  color = texelFetch(palette, ivec2(look.x, 0), 0).rgb;
}`

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec3 color;
flat in float busy;
flat in float isWide;
flat in vec2 ends;
flat in vec3 seam;
flat in vec2 rows;
uniform vec2 size;
uniform float pixel;
uniform float strength;
uniform float below; // strength of what the hits are drawn over
uniform bool isHit;
uniform bool isMark;
uniform bool isSum;
uniform sampler2D sums; // the covered share of each pixel: by all slices, by search results
uniform float sign; // 1 to add, -1 to subtract
uniform vec3 back;
uniform vec3 highlight;
out vec4 result;

float overlap(vec2 part, float x) {
  return clamp(min(part.y, x + 1.0) - max(part.x, x), 0.0, 1.0);
}

void main() {
  if (isMark) {
    result = vec4(mix(back, isHit ? highlight : color, isHit ? busy : busy * strength), 1.0);
    return;
  }
  float x = floor(gl_FragCoord.x);
  float covered = overlap(ends, x) * busy * (1.0 - seam.z * overlap(seam.xy, x));
  if (isSum) {
    float part = max(covered, isWide);
    result = isHit ? vec4(0.0, part, 0.0, 0.0) : vec4(part, 0.0, 0.0, 0.0);
    return;
  }
  float y = size.y - gl_FragCoord.y;
  if (sign < 0.0) {
    vec2 all = texelFetch(sums, ivec2(gl_FragCoord.xy), 0).rg;
    float share = (isHit ? all.g : all.r) / ${LEAST_SHADE};
    float fromBottom = rows.y - y - 0.5;
    if (share > 0.0 && share < 1.0) covered *= clamp(share * (rows.y - rows.x) - fromBottom, 0.0, 1.0) / share;
  }
  vec3 change = strength * (color - back);
  if (isHit) {
    float edge = min(min(gl_FragCoord.x - ends.x, ends.y - gl_FragCoord.x), min(y - rows.x, rows.y - y));
    if (edge < 1.5 * pixel) change = highlight - back - below * (color - back);
  }
  result = vec4(max(vec3(0.0), sign * covered * change), 0.0);
}`

const UNIFORMS = [
  'toPixels', 'clip', 'size', 'lane', 'pixel', 'strength', 'below', 'isHit', 'isMark', 'isSum', 'sums', 'sign', 'palette', 'highlight',
  'back',
] as const
const SUMS_UNIT = 2
const BYTES = 12

interface GpuTile {
  vao: WebGLVertexArrayObject
  buffer: WebGLBuffer
  count: number
  coloring: Coloring
  hasMarks: boolean
}

/** Whether an item has no neighbor near by, so that its mark can be larger. */
function isAlone(starts: Float64Array, ends: Float64Array, i: number, first: number, end: number, distance: number): boolean {
  return (i === first || starts[i]! - ends[i - 1]! >= distance) && (i + 1 === end || starts[i + 1]! - ends[i]! >= distance)
}

/** The tile's slices as vertex data. */
export function sliceBytes(tile: TrackTile, coloring: Coloring): ArrayBuffer {
  const { slices, names } = tile.data
  const count = tile.sliceRows.reduce((sum, row) => sum + row.count, 0)
  const bytes = new ArrayBuffer(BYTES * count)
  const floats = new Float32Array(bytes)
  const looks = new Uint8Array(bytes)
  const length = tileLength(tile.level)
  const distance = (ALONE_PX * length) / TILE_PX
  const { ofName, ofDuration, ofTrack, ofEvent } = coloring
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
      else if (ofEvent) looks[look] = ofEvent(slices.id[i]!)
      else looks[look] = ofDuration ? ofDuration(((end - start) * busy) / events) : trackSlot
      looks[look + 1] = Math.round(255 * Math.min(1, busy))
      const alone = isAlone(slices.start, slices.end, i, row.first, row.first + row.count, distance)
      looks[look + 2] = (events > 1 ? SEVERAL : 0) | (alone ? ALONE : 0)
      looks[look + 3] = Math.min(255, row.row)
    }
  }
  return bytes
}

/** Whether the tile has items that may cover too little of a pixel to be seen. */
function hasSmallItems(tile: TrackTile): boolean {
  const { slices } = tile.data
  const small = (4 * tileLength(tile.level)) / TILE_PX
  return tile.sliceRows.some((row) => {
    for (let i = row.first; i < row.first + row.count; i++) {
      if (slices.count[i]! > 1 || slices.end[i]! - slices.start[i]! < small) return true
    }
    return false
  })
}

export class SliceProgram {
  drawn = 0 // slices in the last frame
  readonly #gl: WebGL2RenderingContext
  readonly #program: WebGLProgram
  #uniforms = {} as Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>
  #isFinished = false
  readonly #tiles = new Map<TrackTile, GpuTile>()
  readonly #quads: QuadIndices
  readonly #sums: Target

  constructor(gl: WebGL2RenderingContext, quads: QuadIndices) {
    this.#gl = gl
    this.#quads = quads
    this.#sums = new Target(gl, SUMS_UNIT)
    this.#program = startProgram(gl, VERTEX, FRAGMENT)
  }

  forget(tile: TrackTile): void {
    const gpu = this.#tiles.get(tile)
    if (!gpu) return
    this.#gl.deleteBuffer(gpu.buffer)
    this.#gl.deleteVertexArray(gpu.vao)
    this.#tiles.delete(tile)
  }

  /** Draws all lanes of a scene; `clip` sets the scissor box of a cover, and is false when it is off screen. */
  draw(scene: Scene, highlight: Rgba, back: Rgba, clip: (cover: Cover, lane: SceneLane) => boolean): void {
    const gl = this.#gl
    this.#begin(scene, highlight, back)
    const isDark = back[0] + back[1] + back[2] < 1.5
    const each = (draw: (gpu: GpuTile, lane: SceneLane, cover: Cover) => void) => {
      for (const lane of scene.lanes) {
        for (const cover of lane.covers) {
          const gpu = this.#upload(cover.tile, scene)
          if (gpu.count > 0 && clip(cover, lane)) draw(gpu, lane, cover)
        }
      }
    }
    gl.uniform1f(this.#uniforms.sign, isDark ? 1 : -1)
    if (!isDark) {
      this.#sums.begin()
      gl.uniform1i(this.#uniforms.isSum, 1)
      gl.uniform1i(this.#uniforms.sums, 0) // the program may not have what it draws into
      gl.blendEquation(gl.FUNC_ADD)
      each((gpu, lane, cover) => {
        this.#place(scene, gpu, lane, cover)
        this.#drawRows(scene, lane, cover.tile)
      })
      this.#sums.end()
    }
    gl.uniform1i(this.#uniforms.isSum, 0)
    gl.uniform1i(this.#uniforms.sums, isDark ? 0 : SUMS_UNIT)
    each((gpu, lane, cover) => {
      this.#place(scene, gpu, lane, cover)
      gl.blendEquation(isDark ? gl.FUNC_ADD : gl.FUNC_REVERSE_SUBTRACT)
      this.drawn += this.#drawRows(scene, lane, cover.tile)
      if (!gpu.hasMarks) return
      gl.uniform1i(this.#uniforms.isMark, 1)
      gl.blendEquation(isDark ? gl.MAX : gl.MIN)
      this.#drawRows(scene, lane, cover.tile)
    })
    gl.blendEquation(gl.FUNC_ADD)
  }

  #begin(scene: Scene, highlight: Rgba, back: Rgba): void {
    const gl = this.#gl
    if (!this.#isFinished) this.#uniforms = finishProgram(gl, this.#program, UNIFORMS)
    this.#isFinished = true
    this.drawn = 0
    gl.useProgram(this.#program)
    gl.blendFunc(gl.ONE, gl.ONE)
    gl.uniform2f(this.#uniforms.size, Math.round(scene.width * scene.ratio), Math.round(scene.height * scene.ratio))
    gl.uniform1f(this.#uniforms.pixel, Math.max(1, Math.floor(scene.ratio)))
    gl.uniform1i(this.#uniforms.palette, 0)
    gl.uniform3f(this.#uniforms.highlight, highlight[0], highlight[1], highlight[2])
    gl.uniform3f(this.#uniforms.back, back[0], back[1], back[2])
  }

  /** Where a tile lies on the screen, and how its slices look. */
  #place(scene: Scene, gpu: GpuTile, lane: SceneLane, { tile, span }: Cover): void {
    const gl = this.#gl
    const scale = (scene.width * scene.ratio) / (scene.span.to - scene.span.from)
    const place = (time: number) => Math.max(-64, Math.min(scene.width * scene.ratio + 64, (time - scene.span.from) * scale))
    gl.bindVertexArray(gpu.vao)
    gl.uniform2f(this.#uniforms.toPixels, (tile.span.from - scene.span.from) * scale, scale)
    gl.uniform2f(this.#uniforms.clip, place(span.from), place(span.to))
    gl.uniform3f(this.#uniforms.lane, Math.round(lane.y * scene.ratio), lane.rowHeight * scene.ratio, lane.rows)
    gl.uniform1f(this.#uniforms.strength, lane.strength)
    gl.uniform1f(this.#uniforms.below, lane.below)
    gl.uniform1i(this.#uniforms.isHit, lane.isHit ? 1 : 0)
    gl.uniform1i(this.#uniforms.isMark, 0)
  }

  /** Draws the visible part only, as tiles extend beyond the viewport; returns the number of slices. */
  #drawRows(scene: Scene, lane: SceneLane, tile: TrackTile): number {
    const { slices, from } = tile.data
    let begin = 0
    let drawn = 0
    for (const row of tile.sliceRows) {
      if (row.row < lane.rows) {
        const first = Math.max(row.first, lastStart(slices.start, row.first, row.count, scene.span.from - from))
        const count = lastStart(slices.start, row.first, row.count, scene.span.to - from) + 1 - first
        if (count > 0) this.#quads.draw(begin + first - row.first, count)
        drawn += Math.max(0, count)
      }
      begin += row.count
    }
    return drawn
  }

  #upload(tile: TrackTile, scene: Scene): GpuTile {
    const gl = this.#gl
    let gpu = this.#tiles.get(tile)
    if (!gpu) {
      const [vao, buffer] = [gl.createVertexArray()!, gl.createBuffer()!]
      gpu = { vao, buffer, count: -1, coloring: scene.coloring, hasMarks: hasSmallItems(tile) }
      this.#tiles.set(tile, gpu)
    }
    if (gpu.count < 0 || gpu.coloring !== scene.coloring) {
      const bytes = sliceBytes(tile, scene.coloring)
      gpu.count = bytes.byteLength / BYTES
      gpu.coloring = scene.coloring
      gl.bindVertexArray(gpu.vao)
      gl.bindBuffer(gl.ARRAY_BUFFER, gpu.buffer)
      gl.bufferData(gl.ARRAY_BUFFER, repeatForVertices(new Uint32Array(bytes), BYTES / 4), gl.STATIC_DRAW)
      gl.enableVertexAttribArray(0)
      gl.vertexAttribPointer(0, 2, gl.FLOAT, false, BYTES, 0)
      gl.enableVertexAttribArray(1)
      gl.vertexAttribIPointer(1, 4, gl.UNSIGNED_BYTE, BYTES, 8)
    }
    return gpu
  }
}
