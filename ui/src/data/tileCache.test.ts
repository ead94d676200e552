// The tile cache with a fake server: what it requests, when, and what stands in meanwhile.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tileLength } from '../model/tileGrid'
import type { Span } from '../model/time'
import { TileCache, type Cover, type TrackTile, type TileDemand } from './tileCache'

interface PendingRequest { tracks: number[]; span: Span; signal: AbortSignal; respond: () => void; fail: (message: string) => void }

const WHOLE = { from: 0, to: tileLength(20) }
let requests: PendingRequest[]
let evicted: TrackTile[]
let cache: TileCache

/** A response with one slice in row 0 of every track. */
function makeResponse(tracks: number[], span: Span): ArrayBuffer {
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
  requests = []
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
      const respond = () => done(makeResponse(tracks, span))
      requests.push({ tracks, span, signal, respond, fail: (message) => fail(new Error(message)) })
    }),
    () => undefined,
    (tile) => evicted.push(tile),
    maxBytes,
  )
}

function demand(level: number, from: number, to: number, visible = [1, 2], nearby: number[] = []): void {
  const list = (ids: number[]) => ids.map((id) => ({ id, rows: 1 }))
  const tiles: TileDemand = { span: { from, to }, whole: WHOLE, level, visible: list(visible), nearby: list(nearby) }
  cache.update(tiles)
}

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(100)
  while (requests.some((request) => !request.signal.aborted)) {
    for (const request of requests.splice(0)) request.respond()
    await vi.advanceTimersByTimeAsync(100)
  }
}

function covers(track: number, level: number, index: number): Cover[] {
  const out: Cover[] = []
  cache.cover(track, level, index, out)
  return out
}

test('visible tiles are requested first, then coarse ones, then neighbors', async () => {
  demand(14, tileLength(14) * 4, tileLength(14) * 5, [1, 2], [3])
  await vi.advanceTimersByTimeAsync(100)
  expect(requests.map((request) => [request.span.from / tileLength(14), request.span.to - request.span.from])).toEqual([
    [4, tileLength(14)], [0, tileLength(21)], [3, tileLength(14)], [5, tileLength(14)],
  ])
  expect(requests[0]!.tracks).toEqual([1, 2])
  expect(cache.isComplete).toBe(false)
  await settle()
  demand(14, tileLength(14) * 4, tileLength(14) * 5)
  expect(cache.isComplete).toBe(true)
  expect(covers(3, 14, 4)).toHaveLength(1)
})

test('no tile is requested twice, and panning reuses cached tiles', async () => {
  demand(14, tileLength(14) * 4, tileLength(14) * 5)
  await settle()
  demand(14, tileLength(14) * 4.5, tileLength(14) * 5.5)
  expect(cache.isComplete).toBe(true)
  await vi.advanceTimersByTimeAsync(100)
  expect(requests.map((request) => request.span.from / tileLength(14))).toEqual([6])
})

test('until a tile is loaded, finer or coarser ones stand in', async () => {
  demand(14, tileLength(14) * 4, tileLength(14) * 5)
  await settle()
  expect(covers(1, 13, 8).map(({ tile }) => tile.level)).toEqual([14])
  expect(covers(1, 13, 8)[0]!.span).toEqual({ from: tileLength(13) * 8, to: tileLength(13) * 9 })
  const zoomedOut = covers(1, 15, 2)
  expect(zoomedOut.map(({ tile }) => [tile.level, tile.index])).toEqual([[14, 4], [14, 5]])
  expect(covers(1, 14, 40)[0]!.tile.level).toBe(21)
})

test('outdated requests are aborted', async () => {
  demand(14, 0, tileLength(14))
  await vi.advanceTimersByTimeAsync(100)
  const early = [...requests]
  demand(10, tileLength(19), tileLength(19) + tileLength(10))
  await vi.advanceTimersByTimeAsync(100)
  const abortedAt = (level: number) =>
    early.filter(({ span }) => span.to - span.from === tileLength(level)).map((request) => request.signal.aborted)
  expect(abortedAt(14)).toEqual([true, true])
  expect(abortedAt(21)).toEqual([false])
})

test('many tracks are requested in batches, few at a time', async () => {
  demand(14, 0, tileLength(14), Array.from({ length: 512 }, (_, at) => at))
  await vi.advanceTimersByTimeAsync(100)
  expect(requests).toHaveLength(4)
  expect(requests.every((request) => request.tracks.length <= 50)).toBe(true)
})

test('a failure is reported and retried', async () => {
  demand(14, 0, tileLength(14))
  await vi.advanceTimersByTimeAsync(100)
  for (const request of requests.splice(0)) request.fail('no')
  await vi.advanceTimersByTimeAsync(100)
  expect(cache.error).toBe('no')
  expect(requests).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(3000)
  expect(cache.error).toBeNull()
  expect(requests.length).toBeGreaterThan(0)
})

test('least recently used tiles are evicted, visible ones stay', async () => {
  cache = make(20 * 240)
  for (let index = 0; index < 30; index++) {
    demand(14, tileLength(14) * index, tileLength(14) * (index + 1), [1])
    await settle()
  }
  expect(evicted.length).toBeGreaterThan(5)
  demand(14, tileLength(14) * 29, tileLength(14) * 30, [1])
  expect(cache.isComplete).toBe(true)
  expect(covers(1, 14, 2)[0]!.tile.level).toBe(21)
})
