// WebGL helpers: programs, uniforms, CSS colors.

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
