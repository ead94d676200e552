// What is drawn of a row is the share of time that its events cover, from the whole profile down to single events: the mean coverage
// of its pixels against the durations in the tables.
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { byEngine } from '../../ui/src/model/coloring'
import { ENGINES } from '../../ui/src/model/deviceLanes'
import { paletteBytes } from '../../ui/src/model/palette'
import { makeDeviceProfile } from './device-server'
import { type CaptureName, closePages, launch, openPage, ROOT, Server } from './fixtures'
import { Api, backOf, canvasBox, complete, go, PADDING, ROW, shadesOf, type Area, type Rgb } from './timeline-page'

const LEVELS = 14
const ZOOM = 0.52 // tiles are halved from level to level: less than that, and no power of two, so that those of each level are drawn, at every scale
const TOLERANCE = 0.02

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.start(['gpt', 'torch', 'tpu'])
  makeDeviceProfile(server.workspace, 'device', join(ROOT, 'examples/gpt12.json'))
  browser = await launch({ webgl: true })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

/** Starts and ends of all events of a track, in ps. */
async function eventsOf(profile: string, track: number): Promise<[number, number][]> {
  const query = `SELECT start_ts * 1000 + start_fraction_ps, duration_ns * 1000 + duration_fraction_ps FROM SystemProfileEvents
    WHERE track_id = ${track} AND duration_ns IS NOT NULL ORDER BY 1`
  const answer = await fetch(`${server.url}/api/v1/profiles/${profile}/sql`, {
    method: 'POST', body: JSON.stringify({ query, limit: 1_000_000 }),
  })
  const { rows } = (await answer.json()) as { rows: [number, number][] }
  return rows.map(([start, length]) => [start, start + length])
}

/** The share of a window that events cover, summed over all of them: rows have none that overlap. */
function covered(events: [number, number][], from: number, to: number): number {
  return events.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)), 0) / (to - from)
}

const CASES: { capture: CaptureName | 'device'; theme: 'dark' | 'light'; tracks: RegExp[]; levels?: number }[] = [
  { capture: 'gpt', theme: 'dark', tracks: [/^Stream #14/, /^Stream #15/, /^pjrt_async/] },
  { capture: 'torch', theme: 'light', tracks: [/^Stream #7$/, /^thread -549/] },
  { capture: 'tpu', theme: 'dark', tracks: [/^XLA Ops$/] },
  { capture: 'device', theme: 'light', tracks: ENGINES.map((name) => new RegExp(`^${name}$`)), levels: 6 },
]

test.each(CASES)('$capture: the mean coverage drawn is that of the events, at every zoom level', async ({ capture, theme, tracks, levels = LEVELS }) => {
  const api = new Api(server.url, capture)
  const all = await api.tracks()
  const slotOf = byEngine(all).ofTrack!
  const palette = paletteBytes(theme)
  const lanes = await Promise.all(tracks.map(async (name) => {
    const track = await api.track(name)
    return { track, events: await eventsOf(capture, track.id), slot: slotOf(track.id) }
  }))
  const pinned = lanes.map(({ track }) => track.id)
  const ends = lanes.flatMap(({ events }) => events.map(([, end]) => end))
  const whole = { from: Math.min(...lanes.map(({ events }) => events[0]![0])), to: ends.reduce((a, b) => Math.max(a, b)) }
  const page = await openPage(browser, `${server.url}/profile/${capture}?color=engine&pinned=${pinned.join('.')}`, { theme, width: 900, height: 700 })
  await complete(page)
  await page.addStyleTag({ content: '.text, .notes, .tab-area { visibility: hidden }' })
  const [box, back] = [await canvasBox(page), await backOf(page)]
  const areas = await Promise.all(lanes.map(async ({ track, slot }): Promise<Area> => {
    const name = (await page.locator(`.row[data-track="${track.id}"]`).boundingBox())!
    expect(name.y + name.height, 'all rows are on the screen').toBeLessThan(box.y + box.height)
    const color = [...palette.subarray(4 * slot, 4 * slot + 3)] as Rgb
    return { x: box.x, y: name.y + PADDING, width: Math.floor(box.width), height: track.rows * ROW, color }
  }))
  const errors: number[] = []
  for (let level = 0; level < levels; level++) {
    const [, end] = lanes[0]!.events[Math.floor(lanes[0]!.events.length * (0.3 + 0.02 * level))]!
    const length = (whole.to - whole.from) * ZOOM ** level
    const from = Math.round(Math.max(whole.from, Math.min(whole.to - length, end - length / 3)))
    const to = Math.round(from + length)
    await go(page, `/profile/${capture}?color=engine&pinned=${pinned.join('.')}&span=${from}-${to}`)
    const shades = await shadesOf(page, areas, back)
    lanes.forEach(({ track, events }, at) => {
      const drawn = (shades[at]!.mean * ROW) / (ROW - 1) // rows are a pixel apart
      errors.push(Math.abs(drawn - covered(events, from, to) / track.rows))
      expect(errors.at(-1), `${track.name} in ${from}-${to}: drawn ${drawn}`).toBeLessThan(TOLERANCE)
    })
  }
  expect(errors.length).toBeGreaterThanOrEqual(levels)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
