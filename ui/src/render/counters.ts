// Draws counters: an area up to the mean, a band from minimum to maximum, a line at the mean.
import type { TrackTile } from '../data/tileCache'
import { tileLength } from '../model/tileGrid'
import { finishProgram, startProgram, type Rgba } from './gl'
import { CORNER, repeatForVertices, type QuadIndices } from './quads'
import type { Scene, SceneCounter } from './scene'

const VERTEX = `#version 300 es
layout(location = 0) in vec2 range;
layout(location = 1) in vec3 values; // min, max, mean
uniform vec2 toPixels;
uniform vec2 size;
uniform vec4 lane; // y, height, value at the bottom, value at the top
uniform float ratio;
uniform int part; // 0 area, 1 band, 2 line

void main() {
  vec2 corner = ${CORNER};
  vec2 x = clamp(floor(toPixels.x + range * toPixels.y + 0.5), -16.0, size.x + 16.0);
  x.y = max(x.y, x.x + 1.0);
  vec3 y = lane.x + lane.y * (1.0 - clamp((values - lane.z) / (lane.w - lane.z), 0.0, 1.0));
  float zero = lane.x + lane.y * (1.0 - clamp(-lane.z / (lane.w - lane.z), 0.0, 1.0));
  vec2 ends = part == 0 ? vec2(y.z, zero) : part == 1 ? vec2(y.y, y.x) : vec2(y.z, y.z + max(1.0, floor(ratio)));
  vec2 place = vec2(mix(x.x, x.y, corner.x), floor(mix(ends.x, ends.y, corner.y)));
  gl_Position = vec4(place.x / size.x * 2.0 - 1.0, 1.0 - place.y / size.y * 2.0, 0.0, 1.0);
}`

const FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 colour;
out vec4 result;

void main() {
  result = colour;
}`

const PARTS = [
  { part: 0, opacity: 0.35 },
  { part: 1, opacity: 0.4 },
  { part: 2, opacity: 1 },
]
const UNIFORMS = ['toPixels', 'size', 'lane', 'ratio', 'part', 'colour'] as const
const FLOATS = 5

interface GpuTile {
  vao: WebGLVertexArrayObject
  buffer: WebGLBuffer
  count: number
}

function counterFloats(tile: TrackTile): Float32Array {
  const { counters } = tile.data
  const floats = new Float32Array(FLOATS * tile.counterRows.reduce((sum, row) => sum + row.count, 0))
  const length = tileLength(tile.level)
  let at = 0
  for (const row of tile.counterRows) {
    for (let i = row.first; i < row.first + row.count; i++) {
      floats[at++] = Math.max(-length, counters.start[i]!)
      floats[at++] = Math.min(2 * length, counters.end[i]!)
      floats[at++] = counters.min[i]!
      floats[at++] = counters.max[i]!
      floats[at++] = counters.mean[i]!
    }
  }
  return floats
}

export class CounterProgram {
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
    this.#gl.deleteVertexArray(gpu.vao)
    this.#tiles.delete(tile)
  }

  begin(scene: Scene): void {
    const gl = this.#gl
    if (!this.#isFinished) this.#uniforms = finishProgram(gl, this.#program, UNIFORMS)
    this.#isFinished = true
    gl.useProgram(this.#program)
    gl.uniform2f(this.#uniforms.size, scene.width * scene.ratio, scene.height * scene.ratio)
    gl.uniform1f(this.#uniforms.ratio, scene.ratio)
  }

  draw(scene: Scene, lane: SceneCounter, tile: TrackTile, colour: Rgba): void {
    const gl = this.#gl
    const gpu = this.#upload(tile)
    if (gpu.count === 0) return
    const scale = (scene.width * scene.ratio) / (scene.span.to - scene.span.from)
    gl.bindVertexArray(gpu.vao)
    gl.uniform2f(this.#uniforms.toPixels, (tile.span.from - scene.span.from) * scale, scale)
    gl.uniform4f(this.#uniforms.lane, Math.round(lane.y * scene.ratio), lane.height * scene.ratio, lane.min, lane.max)
    for (const { part, opacity } of PARTS) {
      gl.uniform1i(this.#uniforms.part, part)
      gl.uniform4f(this.#uniforms.colour, colour[0] * opacity, colour[1] * opacity, colour[2] * opacity, opacity)
      this.#quads.draw(0, gpu.count)
    }
  }

  #upload(tile: TrackTile): GpuTile {
    const known = this.#tiles.get(tile)
    if (known) return known
    const gl = this.#gl
    const floats = counterFloats(tile)
    const gpu = { vao: gl.createVertexArray()!, buffer: gl.createBuffer()!, count: floats.length / FLOATS }
    gl.bindVertexArray(gpu.vao)
    gl.bindBuffer(gl.ARRAY_BUFFER, gpu.buffer)
    gl.bufferData(gl.ARRAY_BUFFER, repeatForVertices(new Uint32Array(floats.buffer), FLOATS), gl.STATIC_DRAW)
    gl.enableVertexAttribArray(0)
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 4 * FLOATS, 0)
    gl.enableVertexAttribArray(1)
    gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 4 * FLOATS, 8)
    this.#tiles.set(tile, gpu)
    return gpu
  }
}
