// Quads as indexed triangles: four vertices each, all with the full data of the quad. Instancing would need a quarter of the
// memory, but costs ten microseconds per instance with software rendering (half a second for 50,000, against 20 ms), and uses
// hardware GPUs poorly with four vertices per instance.

/** The corner of the current vertex, for shaders. */
export const CORNER = 'vec2(gl_VertexID & 1, (gl_VertexID >> 1) & 1)'

/** Repeats the data of each quad, `size` words, for its four vertices. */
export function repeatForVertices(words: Uint32Array, size: number): Uint32Array {
  const repeated = new Uint32Array(4 * words.length)
  for (let from = 0, to = 0; from < words.length; from += size) {
    for (let corner = 0; corner < 4; corner++) {
      for (let i = 0; i < size; i++) repeated[to++] = words[from + i]!
    }
  }
  return repeated
}

/** The index buffer, shared by all quads of a context. */
export class QuadIndices {
  readonly #gl: WebGL2RenderingContext
  readonly #buffer: WebGLBuffer
  #capacity = 0

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl
    this.#buffer = gl.createBuffer()!
  }

  /** Draws quads of the bound vertex array. */
  draw(first: number, count: number): void {
    const gl = this.#gl
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffer)
    if (first + count > this.#capacity) this.#grow(first + count)
    gl.drawElements(gl.TRIANGLES, 6 * count, gl.UNSIGNED_INT, 24 * first)
  }

  #grow(count: number): void {
    this.#capacity = 2 ** Math.ceil(Math.log2(Math.max(4096, count)))
    const indices = new Uint32Array(6 * this.#capacity)
    for (let quad = 0, at = 0; quad < this.#capacity; quad++) {
      for (const corner of [0, 1, 2, 2, 1, 3]) indices[at++] = 4 * quad + corner
    }
    this.#gl.bufferData(this.#gl.ELEMENT_ARRAY_BUFFER, indices, this.#gl.STATIC_DRAW)
  }
}
