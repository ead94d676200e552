// A trace of PyTorch that is made up, so that everything its charts should show is known: rows that are covered to a known share by events
// much shorter than a pixel, a device of which two streams overlap, steps, memory, and a counter with a gap.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KYMO } from './fixtures'

/** All in µs. */
export const LENGTH = 1_000_000
export const PACKED = { thread: 101, period: 250, busy: 249.25 } // 99.7 %
export const SPARSE = { thread: 102, period: 1000, busy: 300 }
export const STREAMS = [{ stream: 7, name: 'mm', offset: 0, busy: 800 }, { stream: 9, name: 'Add', offset: 500, busy: 570 }]
const STREAM_PERIOD = 10_000
export const DEVICE_BUSY = 0.107 // the union of both streams: 0 to 1070 of 10,000
export const STEPS = [90_000, 110_000, 100_000, 140_000, 95_000, 125_000, 180_000, 160_000]
export const MEMORY = [4e9, 6e9, 5e9, 9e9]
/** Read every millisecond, but not in the gap, and not before it is first read. */
export const COUNTER = { name: 'SM active', period: 1000, from: 100_000, gap: [400_000, 700_000] as const, to: 900_000, value: (at: number) => (at < 400_000 ? 40 : 80) }

function events(): object[] {
  const all: object[] = []
  const slice = (cat: string, name: string, pid: number, tid: number, ts: number, dur: number, args: object = {}) =>
    all.push({ ph: 'X', cat, name, pid, tid, ts, dur, args })
  for (const { thread, period, busy } of [PACKED, SPARSE]) {
    for (let at = 0; at < LENGTH; at += period) slice('cpu_op', 'work', 100, thread, at, busy)
  }
  for (const { stream, name, offset, busy } of STREAMS) {
    for (let at = 0; at < LENGTH; at += STREAM_PERIOD) slice('kernel', name, 0, stream, at + offset, busy, { device: 0, stream, correlation: at + stream })
  }
  let start = 0
  STEPS.forEach((length, number) => {
    slice('user_annotation', `ProfilerStep#${number}`, 100, 100, start, length)
    start += length
  })
  MEMORY.forEach((bytes, at) => {
    const args = { 'Device Type': 1, 'Device Id': 0, Addr: 1, Bytes: 512, 'Total Allocated': bytes, 'Total Reserved': bytes }
    all.push({ ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 100, tid: 100, ts: (at * LENGTH) / MEMORY.length, args })
  })
  for (let at = COUNTER.from; at <= COUNTER.to; at += COUNTER.period) {
    if (at > COUNTER.gap[0] && at < COUNTER.gap[1]) continue
    all.push({ ph: 'C', name: COUNTER.name, pid: 0, ts: at, args: { value: COUNTER.value(at) } })
  }
  for (const [pid, name, label] of [[100, 'python', 'CPU'], [0, 'python', 'GPU 0']] as const) {
    all.push({ ph: 'M', name: 'process_name', pid, tid: 0, ts: 0, args: { name } }, { ph: 'M', name: 'process_labels', pid, tid: 0, ts: 0, args: { labels: label } })
  }
  return all
}

/** Puts the trace into a workspace as a profile. */
export function addMadeTrace(workspace: string, name: string): void {
  const path = join(workspace, `${name}.pt.trace.json`)
  const deviceProperties = [{ id: 0, name: 'NVIDIA H100', totalGlobalMem: 8e10, computeMajor: 9, computeMinor: 0, numSms: 132 }]
  writeFileSync(path, JSON.stringify({ schemaVersion: 1, deviceProperties, traceEvents: events() }))
  const made = spawnSync(KYMO, ['view', path, '--display-name', name, '--data-path', workspace, '--ingest-only'])
  if (made.status !== 0) throw new Error(`kymo view ${path}: ${made.stderr}`)
}
