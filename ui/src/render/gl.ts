// WebGL helpers: programs, uniforms, a texture to draw into, CSS colors.

/** Begins to compile a program. Nothing is asked here: any question waits for the compiler, which works on several at once. */
export function startProgram(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram()!
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(type)!
    gl.shaderSource(shader, source)
    gl.compileShader(shader)
    gl.attachShader(program, shader)
  }
  gl.linkProgram(program)
  return program
}

/** Waits for a program and returns its uniforms. */
export function finishProgram<T extends string>(
  gl: WebGL2RenderingContext, program: WebGLProgram, names: readonly T[],
): Record<T, WebGLUniformLocation | null> {
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    const logs = (gl.getAttachedShaders(program) ?? []).map((shader) => gl.getShaderInfoLog(shader))
    throw new Error(`program: ${[gl.getProgramInfoLog(program), ...logs].join(' ')}`)
  }
  return Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)])) as Record<
    T, WebGLUniformLocation | null
  >
}

/** A texture of the canvas's size to draw into, at a texture unit of its own. Numbers have 16 bits where the device draws such. */
export class Target {
  readonly #gl: WebGL2RenderingContext
  readonly #unit: number
  readonly #texture: WebGLTexture
  readonly #buffer: WebGLFramebuffer
  #width = 0
  #height = 0

  constructor(gl: WebGL2RenderingContext, unit: number) {
    this.#gl = gl
    this.#unit = unit
    this.#texture = gl.createTexture()!
    this.#buffer = gl.createFramebuffer()!
  }

  /** Directs drawing to the texture, cleared. */
  begin(): void {
    const gl = this.#gl
    if (this.#width !== gl.drawingBufferWidth || this.#height !== gl.drawingBufferHeight) this.#resize()
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#buffer)
    gl.disable(gl.SCISSOR_TEST)
    gl.clearColor(0, 0, 0, 0)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.enable(gl.SCISSOR_TEST)
  }

  end(): void {
    this.#gl.bindFramebuffer(this.#gl.FRAMEBUFFER, null)
  }

  #resize(): void {
    const gl = this.#gl
    this.#width = gl.drawingBufferWidth
    this.#height = gl.drawingBufferHeight
    const isFine = gl.getExtension('EXT_color_buffer_float') !== null || gl.getExtension('EXT_color_buffer_half_float') !== null
    gl.activeTexture(gl.TEXTURE0 + this.#unit)
    gl.bindTexture(gl.TEXTURE_2D, this.#texture)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
    gl.texImage2D(gl.TEXTURE_2D, 0, isFine ? gl.RGBA16F : gl.RGBA8, this.#width, this.#height, 0, gl.RGBA, isFine ? gl.HALF_FLOAT : gl.UNSIGNED_BYTE, null)
    gl.activeTexture(gl.TEXTURE0)
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#buffer)
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.#texture, 0)
  }
}

export type Rgba = [number, number, number, number]

let pixel: OffscreenCanvasRenderingContext2D | null = null

/** A CSS color as RGBA from 0 to 1. The pixel is in CPU memory: reading one back from the GPU would wait for all its work. */
export function cssColor(text: string): Rgba {
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })!
  const context = pixel
  context.clearRect(0, 0, 1, 1)
  context.fillStyle = text
  context.fillRect(0, 0, 1, 1)
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data
  return [r! / 255, g! / 255, b! / 255, a! / 255]
}
