// Slice colors of both themes: a palette of 256 slots, used as a texture by the renderer. Hues are spread in OKLCH, where
// lightness is perceptually uniform, so that one dark text color is readable on all of them.

export type Rgb = [number, number, number]

export const HUES = 24
const SHADES = 3
export const RAMP = 32
export const SLOTS = 256
export const NEUTRAL = 0
const FIRST_HUE = 1
const FIRST_RAMP = FIRST_HUE + HUES * SHADES

const TONES = {
  dark: { light: [0.72, 0.66, 0.78], chroma: 0.105, neutral: [0.6, 0.015], rampFrom: 0.6, rampTo: 0.86 },
  light: { light: [0.8, 0.74, 0.86], chroma: 0.1, neutral: [0.82, 0.012], rampFrom: 0.88, rampTo: 0.68 },
} as const

/** OKLCH to sRGB in 0–255, after B. Ottosson's definition of Oklab; what is out of gamut is clipped. */
export function oklch(light: number, chroma: number, degrees: number): Rgb {
  const angle = (degrees * Math.PI) / 180
  const a = chroma * Math.cos(angle)
  const b = chroma * Math.sin(angle)
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ]
  return linear.map((value) => {
    const clipped = Math.max(0, Math.min(1, value))
    const coded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055
    return Math.round(255 * coded)
  }) as Rgb
}

/** Consecutive numbers get distant hues, so that keys numbered in order are easy to distinguish. */
function hueDegrees(hue: number): number {
  return (20 + ((hue * 7) % HUES) * (360 / HUES)) % 360
}

/** RGBA of all slots, for a texture. */
export function paletteBytes(theme: 'dark' | 'light'): Uint8Array {
  const tone = TONES[theme]
  const bytes = new Uint8Array(4 * SLOTS)
  const put = (slot: number, rgb: Rgb) => bytes.set([...rgb, 255], 4 * slot)
  for (let slot = 0; slot < SLOTS; slot++) put(slot, oklch(tone.neutral[0], tone.neutral[1], 250))
  for (let shade = 0; shade < SHADES; shade++) {
    for (let hue = 0; hue < HUES; hue++) {
      put(FIRST_HUE + shade * HUES + hue, oklch(tone.light[shade]!, tone.chroma, hueDegrees(hue)))
    }
  }
  for (let at = 0; at < RAMP; at++) {
    const share = at / (RAMP - 1)
    put(FIRST_RAMP + at, oklch(tone.rampFrom + share * (tone.rampTo - tone.rampFrom), 0.06 + 0.08 * share, 250 - 190 * share))
  }
  return bytes
}

export function slotColor(bytes: Uint8Array, slot: number): string {
  return `rgb(${bytes[4 * slot]} ${bytes[4 * slot + 1]} ${bytes[4 * slot + 2]})`
}

/** The operation's name where the event name is the full HLO text, "%fusion.1 = f32[8] fusion(…)"; else the name. */
export function shortName(name: string): string {
  const end = name.startsWith('%') ? name.indexOf(' = ') : -1
  return end < 0 ? name : name.slice(1, end)
}

/** FNV-1a, 32 bits. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return (value ^ (value >>> 15)) >>> 0
}

/** Slot of a name: a family ("fusion_1", "fusion.2") shares a hue, its members differ in shade. */
export function nameSlot(name: string): number {
  const match = /^(.*?)[._:#-]?(\d+)?$/s.exec(shortName(name))!
  const shade = match[2] === undefined ? 0 : Number(match[2]) % SHADES
  return FIRST_HUE + shade * HUES + (hash(match[1]!) % HUES)
}

const KEY_HUES = 12

/** Slot of the n-th key: twelve hues at least 30 degrees apart, 150 from one key to the next, then the same in other shades. */
export function keySlot(n: number): number {
  const step = (2 * ((n * 5) % KEY_HUES) * 7) % HUES // 7 is its own inverse in hueDegrees
  return FIRST_HUE + (Math.floor(n / KEY_HUES) % SHADES) * HUES + step
}

const SHORTEST = Math.log10(1e5) // start of the ramp: 100 ns and less
const LONGEST = Math.log10(1e11) // end of the ramp: 100 ms and more

export function durationSlot(duration: number): number {
  const share = (Math.log10(Math.max(1, duration)) - SHORTEST) / (LONGEST - SHORTEST)
  return FIRST_RAMP + Math.round(Math.max(0, Math.min(1, share)) * (RAMP - 1))
}
