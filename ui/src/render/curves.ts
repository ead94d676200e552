// Draws curves, one quad each: counters with the area up to the mean, a band from minimum to maximum and a line at the mean; and the
// utilization of groups. Their values per pixel are in a texture, a line of it for each curve.
import { counterColumns, coverage } from './columns'
import { finishProgram, startProgram, type Rgba } from './gl'
import type { Scene, SceneCounter, SceneUtilization } from './scene'

const VERTEX = `#version 300 es
uniform vec2 size;
uniform vec2 rows; // top, bottom
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  gl_Position = vec4(corner.x * 2.0 - 1.0, 1.0 - mix(rows.x, rows.y, corner.y) / size.y * 2.0, 0.0, 1.0);
}`

const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D columns; // minimum, maximum, mean, and whether there is a value
uniform vec2 size;
uniform vec2 rows;
uniform int curve;
uniform float zero; // where the value 0 lies, from 0 at the bottom to 1
uniform float line; // width
uniform vec3 color;
out vec4 result;

vec4 column(float x) {
  return texelFetch(columns, ivec2(clamp(x, 0.0, size.x - 1.0), curve), 0);
}

/** How much of a pixel lies between two heights. */
float within(float y, float low, float high) {
  return clamp(min(y + 0.5, high) - max(y - 0.5, low), 0.0, 1.0);
}

void main() {
  vec4 here = column(gl_FragCoord.x);
  if (here.a == 0.0) discard;
  vec4 before = column(gl_FragCoord.x - 1.0);
  float height = rows.y - rows.x - line;
  float y = rows.y - (size.y - gl_FragCoord.y) - line;
  vec3 level = here.rgb * height;
  float previous = before.a == 0.0 ? level.z : before.z * height;
  float area = within(y, min(level.z, zero * height), max(level.z, zero * height));
  float band = within(y, level.x, level.y);
  float trace = within(y, min(level.z, previous), max(level.z, previous) + line);
  float opacity = max(trace, max(0.35 * area, 0.5 * band));
  result = vec4(color * opacity, opacity);
}`

const UNIFORMS = ['size', 'rows', 'columns', 'curve', 'zero', 'line', 'color'] as const
const TEXTURE_UNIT = 1

function putCounter(pixels: Uint8Array, at: number, lane: SceneCounter, scene: Scene, width: number): void {
  const { min, max, mean, weight } = counterColumns(lane.covers, scene.span, width)
  const share = (value: number) => Math.round(255 * Math.max(0, Math.min(1, (value - lane.min) / (lane.max - lane.min))))
  for (let x = 0, to = at; x < width; x++, to += 4) {
    if (weight[x] === 0) continue
    pixels[to] = share(min[x]!)
    pixels[to + 1] = share(max[x]!)
    pixels[to + 2] = share(mean[x]!)
    pixels[to + 3] = 255
  }
}

function putUtilization(pixels: Uint8Array, at: number, group: SceneUtilization, scene: Scene, width: number): void {
  const shares = new Float32Array(width)
  for (const covers of group.members) {
    const of = coverage(covers, 0, scene.span, width)
    for (let x = 0; x < width; x++) shares[x] = Math.max(shares[x]!, of[x]!)
  }
  for (let x = 0, to = at; x < width; x++, to += 4) {
    if (shares[x]! <= 0) continue
    pixels.fill(Math.round(255 * Math.min(1, shares[x]!)), to, to + 3)
    pixels[to + 3] = 255
  }
}

export class CurveProgram {
  readonly #gl: WebGL2RenderingContext
  readonly #program: WebGLProgram
  readonly #texture: WebGLTexture
  readonly #vao: WebGLVertexArrayObject
  #uniforms = {} as Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>
  #isFinished = false
  #pixels = new Uint8Array(0)

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl
    this.#program = startProgram(gl, VERTEX, FRAGMENT)
    this.#texture = gl.createTexture()!
    this.#vao = gl.createVertexArray()!
  }

  /** Draws all curves of a scene; `clip` sets the scissor box of an area, and is false when it is off screen. */
  draw(scene: Scene, colorOf: (slot: number) => Rgba, accent: Rgba, clip: (area: { top: number; bottom: number }) => boolean): void {
    const gl = this.#gl
    const count = scene.counters.length + scene.groups.length
    if (count === 0) return
    if (!this.#isFinished) this.#uniforms = finishProgram(gl, this.#program, UNIFORMS)
    this.#isFinished = true
    this.#upload(scene, count)
    gl.useProgram(this.#program)
    gl.bindVertexArray(this.#vao)
    gl.uniform2f(this.#uniforms.size, Math.round(scene.width * scene.ratio), Math.round(scene.height * scene.ratio))
    gl.uniform1i(this.#uniforms.columns, TEXTURE_UNIT)
    gl.uniform1f(this.#uniforms.line, Math.max(1, Math.floor(scene.ratio)))
    scene.counters.forEach((lane, at) => {
      if (clip(lane.clip)) this.#curve(scene, at, lane, -lane.min / (lane.max - lane.min), colorOf(lane.slot))
    })
    scene.groups.forEach((group, at) => {
      if (clip(group.clip)) this.#curve(scene, scene.counters.length + at, group, 0, accent)
    })
  }

  #curve(scene: Scene, curve: number, place: { y: number; height: number }, zero: number, color: Rgba): void {
    const gl = this.#gl
    const top = Math.round(place.y * scene.ratio)
    gl.uniform2f(this.#uniforms.rows, top, top + Math.round(place.height * scene.ratio))
    gl.uniform1i(this.#uniforms.curve, curve)
    gl.uniform1f(this.#uniforms.zero, Math.max(0, Math.min(1, zero)))
    gl.uniform3f(this.#uniforms.color, color[0], color[1], color[2])
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4)
  }

  #upload(scene: Scene, count: number): void {
    const gl = this.#gl
    const width = Math.max(1, Math.round(scene.width * scene.ratio))
    const bytes = 4 * width * count
    if (this.#pixels.length < bytes) this.#pixels = new Uint8Array(bytes)
    else this.#pixels.fill(0, 0, bytes)
    scene.counters.forEach((lane, at) => putCounter(this.#pixels, 4 * width * at, lane, scene, width))
    scene.groups.forEach((group, at) => putUtilization(this.#pixels, 4 * width * (scene.counters.length + at), group, scene, width))
    gl.activeTexture(gl.TEXTURE0 + TEXTURE_UNIT)
    gl.bindTexture(gl.TEXTURE_2D, this.#texture)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, count, 0, gl.RGBA, gl.UNSIGNED_BYTE, this.#pixels.subarray(0, bytes))
    gl.activeTexture(gl.TEXTURE0)
  }
}
