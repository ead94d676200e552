// Which ranks' timelines are shown, and their times as times of the run.
import { expect, test } from 'vitest'
import { plainText } from './figures'
import { MAX_TIMELINES, readLane, readLanes } from './rankLanes'
import { clockNote, collectiveMark, moveLane, ownStart, rankOfProfile, shownLanes, toOwn, toRun, wholeStep, type StepLane } from './rankTimelines'
import { emptyRun, readRun, runPath, type Arrival } from './run'

const lane = (rank: number, more: Partial<StepLane> = {}): StepLane => ({
  rank, device: 0, machine: `node${rank}`, role: null, duration_ns: 100_000, own_ns: 80_000, excess_ns: 0, is_late: false, start_ts: 0, end_ts: 0, start_ns: 0,
  end_ns: 0, base_ns: 0, rate: 1, offset_ns: 0, drift_ppm: 0, error_ns: 50, component: 0, profile: `runs/run=night/rank=${rank}`, has_timeline: true, ...more,
})
const answer = { step: [{ start_ns: 1000, end_ns: 101_000 }], lanes: [lane(3), lane(5, { role: 'slowest' }), lane(7, { role: 'median' })] }

test('lanes are read as they are named, each once, no more than can be drawn', () => {
  expect(['19', ' 3.1 ', '3.0', '007', '3.', 'x', '', '-1', '1.5.2'].map(readLane)).toEqual(['19', '3.1', '3', '7', null, null, null, null, null])
  expect(readLanes('5,3,5,x,3.0')).toEqual(['5', '3'])
  expect(readLanes(null)).toEqual([])
  expect(readLanes(Array.from({ length: 40 }, (_, i) => i).join(','))).toHaveLength(MAX_TIMELINES)
})

test('the chosen lane, the slowest and the median are shown, or those that are asked for', () => {
  expect(shownLanes('3', [], answer)).toEqual(['3', '5', '7'])
  expect(shownLanes('', [], answer)).toEqual(['5', '7'])
  expect(shownLanes('5', [], answer)).toEqual(['5', '7'])
  expect(shownLanes('3', ['9', '1'], answer)).toEqual(['3', '9', '1'])
  expect(shownLanes('1', ['9', '1'], answer)).toEqual(['9', '1'])
  expect(shownLanes('3', [], null)).toEqual(['3'])
})

test('lanes move by one place, and not beyond the ends', () => {
  expect(moveLane(['1', '2', '3'], '2', -1)).toEqual(['2', '1', '3'])
  expect(moveLane(['1', '2', '3'], '2', 1)).toEqual(['1', '3', '2'])
  expect(moveLane(['1', '2'], '1', -1)).toEqual(['1', '2'])
  expect(moveLane(['1', '2'], '9', 1)).toEqual(['1', '2'])
})

test('times of a lane and of the run are turned into each other', () => {
  const late = lane(1, { base_ns: -5_000_000, rate: 1 + 20e-6 })
  const step = { start_ns: 7_000_000_000, end_ns: 7_100_000_000 }
  const own = ownStart(late, step) / 1000
  expect(late.base_ns + late.rate * own).toBeCloseTo(step.start_ns, 3)
  const span = { from: 2_000, to: 9_000_000_000 }
  const back = toRun(late, toOwn(late, span))
  expect(back.from).toBeCloseTo(span.from, 6)
  expect(back.to).toBeCloseTo(span.to, 3)
  expect(wholeStep(step)).toEqual({ from: 0, to: 100_000_000_000 })
})

test('a collective is marked from the first arrival to the last end, and where this lane took part', () => {
  const arrivals = [{ rank: 3, device: 0, start_ns: 2000, end_ns: 9000 }, { rank: 5, device: 0, start_ns: 6000, end_ns: 9100 }] as Arrival[]
  expect(collectiveMark(arrivals, lane(5), { start_ns: 1000 })).toEqual({ from: 1e6, to: 8.1e6, own: { from: 5e6, to: 8.1e6 } })
  expect(collectiveMark(arrivals, lane(7), { start_ns: 1000 })!.own).toBeNull()
  expect(collectiveMark([], lane(7), { start_ns: 1000 })).toBeNull()
})

test('how well clocks are aligned is told, and that they are not', () => {
  expect(clockNote([lane(1, { machine: 'a', error_ns: null }), lane(2, { machine: 'a', error_ns: null })], 7)).toEqual({ words: 'One machine, one clock.', isBad: false })
  const note = clockNote([lane(1), lane(2, { error_ns: 200 })], 7)
  expect(plainText(note.words)).toContain('±200 ns')
  expect([note.isBad, note.words[1]]).toMatchObject([false, { key: { rank: 2, device: 0, step: 7 } }])
  expect(clockNote([lane(1), lane(2, { error_ns: 20_000 })], 7).isBad).toBe(true)
  expect(clockNote([lane(1), lane(2, { component: 1 })], 7)).toMatchObject({ words: expect.stringContaining('No collective connects'), isBad: true })
  expect(clockNote([lane(1), lane(2, { error_ns: null })], 7)).toMatchObject({ words: expect.stringContaining('could not be aligned'), isBad: true })
})

test('a profile that is a rank names its run', () => {
  expect(rankOfProfile('team/runs/run=a%2Fb%3Dc d%25/rank=7')).toEqual({ dataset: 'team/runs', run: 'a/b=c d%', rank: 7 })
  expect(rankOfProfile('gpt')).toBeNull()
})

test('the address has what the timelines show', () => {
  const place = { ...emptyRun('runs', 'night'), step: 20, lane: '3', ranks: ['5', '3.1'], span: { from: -5, to: 700 }, timelines: 'only' as const }
  expect(readRun(new URL(runPath(place), 'http://x').searchParams)).toEqual(place)
  expect(runPath(emptyRun('runs', 'night'))).toBe('./?run=runs%2Fnight')
})
