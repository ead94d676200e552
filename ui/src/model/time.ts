// Times in the UI are numbers of picoseconds since the start of the profile: exact up to 2.5 hours, to a few picoseconds
// beyond. Where exact values matter, the server's string is used.

export type Ps = number

export interface Span {
  from: Ps
  to: Ps
}

const UNITS: [number, string][] = [
  [1e12, 's'],
  [1e9, 'ms'],
  [1e6, 'µs'],
  [1e3, 'ns'],
  [1, 'ps'],
]

export function toPs(digits: string): Ps {
  return Number(digits)
}

/** For requests: the server expects whole picoseconds. */
export function toDigits(time: Ps): string {
  return BigInt(Math.round(time)).toString()
}

/** "18.02 µs": the unit that leaves one to three digits before the point, `digits` significant ones in all. */
export function formatDuration(time: Ps, digits = 4): string {
  const size = Math.abs(time)
  if (size === 0) return '0 s'
  let [scale, unit] = UNITS[UNITS.length - 1]!
  for (const candidate of UNITS) {
    if (size >= candidate[0]) {
      ;[scale, unit] = candidate
      break
    }
  }
  const value = time / scale
  const whole = Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1)
  return `${value.toFixed(Math.max(0, unit === 'ps' ? 0 : digits - whole))} ${unit}`
}

export function formatNs(ns: number, digits = 4): string {
  return formatDuration(ns * 1000, digits)
}

/** The server's sentences are ASCII: "12.5 us" is "12.5 µs" here, as everywhere on the page. */
export function withMicroSign(sentence: string): string {
  return sentence.replaceAll(/(\d) us\b/g, '$1 µs')
}

/** The server's own words. */
export function withAsciiMicro(sentence: string): string {
  return sentence.replaceAll(/(\d) µs\b/g, '$1 us')
}

/** A timestamp with enough digits to distinguish times that are `step` apart. */
export function formatTime(time: Ps, step: Ps): string {
  let [scale, unit] = UNITS[UNITS.length - 1]!
  for (const candidate of UNITS) {
    if (Math.abs(time) >= candidate[0] || step >= candidate[0]) {
      ;[scale, unit] = candidate
      break
    }
  }
  const decimals = Math.max(0, Math.ceil(Math.log10(scale / Math.max(1, step)) - 1e-9))
  return `${(time / scale).toFixed(Math.min(12, decimals))} ${unit}`
}

/** A round step (1, 2 or 5 times a power of ten) so that about `count` of them fit in `length`. */
export function roundStep(length: Ps, count: number): Ps {
  const rough = Math.max(1, length / Math.max(1, count))
  const power = 10 ** Math.floor(Math.log10(rough))
  const lead = rough / power
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10)
}

/** A span in an address, in whole picoseconds; null if it is none. */
export function readSpan(text: string | null): Span | null {
  const match = /^(-?\d+)-(-?\d+)$/.exec(text ?? '')
  if (!match) return null
  const span = { from: Number(match[1]), to: Number(match[2]) }
  return span.to > span.from ? span : null
}

export function writeSpan(span: Span): string {
  return `${Math.round(span.from)}-${Math.round(span.to)}`
}
