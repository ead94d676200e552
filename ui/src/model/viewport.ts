// Viewport arithmetic: time to pixels and back, zooming, panning, axis ticks.
import { formatTime, roundStep, type Ps, type Span } from './time'

export const MIN_SPAN: Ps = 1000

export function clampSpan(span: Span, whole: Span): Span {
  const length = Math.min(whole.to - whole.from, Math.max(MIN_SPAN, span.to - span.from))
  const middle = (span.from + span.to) / 2
  let from = span.to - span.from === length ? span.from : middle - length / 2
  from = Math.max(whole.from, Math.min(whole.to - length, from))
  return { from, to: from + length }
}

/** Scales the span by `factor` around the time `at`. */
export function zoomSpan(span: Span, factor: number, at: Ps, whole: Span): Span {
  const length = span.to - span.from
  const newLength = Math.min(whole.to - whole.from, Math.max(MIN_SPAN, length * factor))
  const share = (at - span.from) / length
  const from = at - share * newLength
  return clampSpan({ from, to: from + newLength }, whole)
}

export function panSpan(span: Span, by: Ps, whole: Span): Span {
  return clampSpan({ from: span.from + by, to: span.to + by }, whole)
}

/** A span around an interval, with a margin on both sides. */
export function fitSpan(from: Ps, to: Ps, whole: Span): Span {
  const margin = Math.max((to - from) * 0.1, MIN_SPAN / 4)
  return clampSpan({ from: from - margin, to: to + margin }, whole)
}

export function timeToX(time: Ps, span: Span, width: number): number {
  return ((time - span.from) / (span.to - span.from)) * width
}

export function xToTime(x: number, span: Span, width: number): Ps {
  return span.from + (x / width) * (span.to - span.from)
}

export interface Tick {
  time: Ps
  x: number
  label: string
}

/** Axis ticks at round times, relative to the start of the profile. */
export function ticks(span: Span, width: number, pixelsApart = 110): Tick[] {
  const step = roundStep(span.to - span.from, width / pixelsApart)
  const list: Tick[] = []
  for (let n = Math.ceil(span.from / step); n * step <= span.to; n++) {
    const time = n * step
    list.push({ time, x: timeToX(time, span, width), label: time === 0 ? '0' : formatTime(time, step) })
  }
  return list
}

/** Wall-clock time, if the profile has it. */
export function formatEpoch(time: Ps, startEpochNs: bigint | null): string | null {
  if (startEpochNs === null) return null
  const ns = startEpochNs + BigInt(Math.round(time / 1000))
  const date = new Date(Number(ns / 1_000_000n))
  if (Number.isNaN(date.getTime())) return null
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}.${String(ns % 1_000_000_000n).padStart(9, '0')} UTC`
}
