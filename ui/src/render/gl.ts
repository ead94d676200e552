// WebGL helpers: programs, uniforms, CSS colours.

export function makeProgram(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram()!
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(type)!
    gl.shaderSource(shader, source)
    gl.compileShader(shader)
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(`shader: ${gl.getShaderInfoLog(shader)}`)
    }
    gl.attachShader(program, shader)
  }
  gl.linkProgram(program)
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`program: ${gl.getProgramInfoLog(program)}`)
  }
  return program
}

export function uniformsOf<T extends string>(
  gl: WebGL2RenderingContext, program: WebGLProgram, names: readonly T[],
): Record<T, WebGLUniformLocation | null> {
  return Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)])) as Record<
    T, WebGLUniformLocation | null
  >
}

export type Rgba = [number, number, number, number]

/** A CSS colour as RGBA from 0 to 1. */
export function cssColour(text: string): Rgba {
  const context = new OffscreenCanvas(1, 1).getContext('2d')!
  context.fillStyle = text
  context.fillRect(0, 0, 1, 1)
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data
  return [r! / 255, g! / 255, b! / 255, a! / 255]
}
