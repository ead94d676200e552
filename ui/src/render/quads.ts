// Quads as indexed triangles: four vertices each, every one with all of the quad's data. Instances would take a quarter of the
// memory, but each costs ten microseconds where the GPU is a program (50,000 of them half a second, against 20 ms), and four
// vertices leave most of a real GPU idle.

/** The corner of the vertex at hand, for shaders. */
export const CORNER = 'vec2(gl_VertexID & 1, (gl_VertexID >> 1) & 1)'

/** Data of quads, `size` words each, repeated for their vertices. */
export function forVertices(words: Uint32Array, size: number): Uint32Array {
  const repeated = new Uint32Array(4 * words.length)
  for (let from = 0, to = 0; from < words.length; from += size) {
    for (let corner = 0; corner < 4; corner++) {
      for (let i = 0; i < size; i++) repeated[to++] = words[from + i]!
    }
  }
  return repeated
}

/** Which vertices make the triangles: the same for all quads of a context. */
export class QuadIndices {
  readonly #gl: WebGL2RenderingContext
  readonly #buffer: WebGLBuffer
  #room = 0

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl
    this.#buffer = gl.createBuffer()!
  }

  /** Draws some of the quads of the vertex array that is bound. */
  draw(first: number, count: number): void {
    const gl = this.#gl
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffer)
    if (first + count > this.#room) this.#grow(first + count)
    gl.drawElements(gl.TRIANGLES, 6 * count, gl.UNSIGNED_INT, 24 * first)
  }

  #grow(count: number): void {
    this.#room = 2 ** Math.ceil(Math.log2(Math.max(4096, count)))
    const indices = new Uint32Array(6 * this.#room)
    for (let quad = 0, at = 0; quad < this.#room; quad++) {
      for (const corner of [0, 1, 2, 2, 1, 3]) indices[at++] = 4 * quad + corner
    }
    this.#gl.bufferData(this.#gl.ELEMENT_ARRAY_BUFFER, indices, this.#gl.STATIC_DRAW)
  }
}
