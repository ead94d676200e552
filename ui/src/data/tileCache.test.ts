// The cache of tiles against a server that is a function: what it asks for, when, and what it draws meanwhile.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tileLength } from '../model/tileGrid'
import type { Span } from '../model/time'
import { TileCache, type Cover, type TrackTile, type TileDemand } from './tileCache'

interface Asked { tracks: number[]; span: Span; signal: AbortSignal; response: () => void; fail: (message: string) => void }

const WHOLE = { from: 0, to: tileLength(20) }
let asked: Asked[]
let evicted: TrackTile[]
let cache: TileCache

/** A response with one slice in row 0 of every track. */
function answerOf(tracks: number[], span: Span): ArrayBuffer {
  const n = tracks.length
  const buffer = new ArrayBuffer(64 + 16 * n + 8 * n * 3 + 3 * Math.ceil((4 * n) / 8) * 8 + 8)
  const words = new Uint32Array(buffer, 0, 16)
  words.set([0x4c54594b, 1, n, 0, n, 0, 1, 1024])
  new BigInt64Array(buffer, 32, 3).set([BigInt(span.from), BigInt(span.to), 5n])
  new Uint32Array(buffer, 64, 4 * n).set(tracks.flatMap((track, at) => [track, 0, at, 1]))
  new Float64Array(buffer, 64 + 16 * n + 8 * n, n).fill(span.to - span.from)
  new Uint32Array(buffer, 64 + 40 * n, n).fill(1)
  new Uint8Array(buffer, buffer.byteLength - 8).set([1, 0, 0, 0, 97])
  return buffer
}

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  evicted = []
  cache = make()
})

afterEach(() => {
  cache.close()
  vi.useRealTimers()
})

function make(maxBytes?: number): TileCache {
  return new TileCache(
    (tracks, span, _width, signal) => new Promise((done, fail) => {
      const response = () => done(answerOf(tracks, span))
      asked.push({ tracks, span, signal, response, fail: (message) => fail(new Error(message)) })
    }),
    () => undefined,
    (tile) => evicted.push(tile),
    maxBytes,
  )
}

function want(level: number, from: number, to: number, visible = [1, 2], nearby: number[] = []): void {
  const list = (ids: number[]) => ids.map((id) => ({ id, rows: 1 }))
  const wanted: TileDemand = { span: { from, to }, whole: WHOLE, level, visible: list(visible), nearby: list(nearby) }
  cache.update(wanted)
}

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(100)
  while (asked.some((request) => !request.signal.aborted)) {
    for (const request of asked.splice(0)) request.response()
    await vi.advanceTimersByTimeAsync(100)
  }
}

function covers(track: number, level: number, index: number): Cover[] {
  const out: Cover[] = []
  cache.cover(track, level, index, out)
  return out
}

test('what is on screen is asked for first, then what to fall back on, then the neighbours', async () => {
  want(14, tileLength(14) * 4, tileLength(14) * 5, [1, 2], [3])
  await vi.advanceTimersByTimeAsync(100)
  expect(asked.map((request) => [request.span.from / tileLength(14), request.span.to - request.span.from])).toEqual([
    [4, tileLength(14)], [0, tileLength(21)], [3, tileLength(14)], [5, tileLength(14)],
  ])
  expect(asked[0]!.tracks).toEqual([1, 2])
  expect(cache.isComplete).toBe(false)
  await settle()
  want(14, tileLength(14) * 4, tileLength(14) * 5)
  expect(cache.isComplete).toBe(true)
  expect(covers(3, 14, 4)).toHaveLength(1)
})

test('nothing is asked for twice, and panning finds the tiles that are there', async () => {
  want(14, tileLength(14) * 4, tileLength(14) * 5)
  await settle()
  want(14, tileLength(14) * 4.5, tileLength(14) * 5.5)
  expect(cache.isComplete).toBe(true)
  await vi.advanceTimersByTimeAsync(100)
  expect(asked.map((request) => request.span.from / tileLength(14))).toEqual([6])
})

test('until a tile is there, finer or coarser ones stand in', async () => {
  want(14, tileLength(14) * 4, tileLength(14) * 5)
  await settle()
  expect(covers(1, 13, 8).map(({ tile }) => tile.level)).toEqual([14])
  expect(covers(1, 13, 8)[0]!.span).toEqual({ from: tileLength(13) * 8, to: tileLength(13) * 9 })
  const zoomedOut = covers(1, 15, 2)
  expect(zoomedOut.map(({ tile }) => [tile.level, tile.index])).toEqual([[14, 4], [14, 5]])
  expect(covers(1, 14, 40)[0]!.tile.level).toBe(21)
})

test('a request that nobody waits for any more is called off', async () => {
  want(14, 0, tileLength(14))
  await vi.advanceTimersByTimeAsync(100)
  const early = [...asked]
  want(10, tileLength(19), tileLength(19) + tileLength(10))
  await vi.advanceTimersByTimeAsync(100)
  const abortedAt = (level: number) =>
    early.filter(({ span }) => span.to - span.from === tileLength(level)).map((request) => request.signal.aborted)
  expect(abortedAt(14)).toEqual([true, true])
  expect(abortedAt(21)).toEqual([false])
})

test('many tracks are asked for in portions, few at a time', async () => {
  want(14, 0, tileLength(14), Array.from({ length: 512 }, (_, at) => at))
  await vi.advanceTimersByTimeAsync(100)
  expect(asked).toHaveLength(4)
  expect(asked.every((request) => request.tracks.length <= 50)).toBe(true)
})

test('a failure is told, and tried again after a while', async () => {
  want(14, 0, tileLength(14))
  await vi.advanceTimersByTimeAsync(100)
  for (const request of asked.splice(0)) request.fail('no')
  await vi.advanceTimersByTimeAsync(100)
  expect(cache.error).toBe('no')
  expect(asked).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(3000)
  expect(cache.error).toBeNull()
  expect(asked.length).toBeGreaterThan(0)
})

test('the oldest tiles go when there are too many, those on screen stay', async () => {
  cache = make(20 * 240)
  for (let index = 0; index < 30; index++) {
    want(14, tileLength(14) * index, tileLength(14) * (index + 1), [1])
    await settle()
  }
  expect(evicted.length).toBeGreaterThan(5)
  want(14, tileLength(14) * 29, tileLength(14) * 30, [1])
  expect(cache.isComplete).toBe(true)
  expect(covers(1, 14, 2)[0]!.tile.level).toBe(21)
})
