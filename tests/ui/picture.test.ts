// What the timeline shows of groups, searches and tracks, and how its names column works, on one page of a real capture.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, launch, openPage, Server } from './fixtures'
import { Api, canvasBox, complete, isColored, pixels, spanOf, xOf } from './timeline-page'

let server: Server
let browser: Browser
let page: Awaited<ReturnType<typeof openPage>>
let api: Api

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: true })
  api = new Api(server.url, 'torch')
  page = await openPage(browser, `${server.url}/profile/torch`, { height: 700 })
  await complete(page)
})

afterAll(async () => {
  expect(page?.consoleErrors).toEqual([])
  await closePages(browser)
})

const row = (label: string) => page.locator(`.names .row[aria-label="${label}"]`)

test('it opens where things happen, and the whole profile is a key away', async () => {
  const answer = await fetch(`${server.url}/api/v1/profiles/torch/tracks`)
  const { from, to, focus_from, focus_to } = (await answer.json()) as Record<string, string>
  const margin = 0.02 * (Number(focus_to) - Number(focus_from))
  const shown = await spanOf(page)
  expect(shown.from).toBeCloseTo(Math.max(Number(from), Number(focus_from) - margin), -3)
  expect(shown.to).toBeCloseTo(Math.min(Number(to), Number(focus_to) + margin), -3)
  await page.locator('.canvas').focus()
  await page.keyboard.press('0')
  await expect.poll(() => spanOf(page)).toEqual({ from: Number(from), to: Number(to) })
})

test('ends of flows are no events', async () => {
  const lanes = (await api.tracks()).filter((track) => track.level === 'lane')
  expect(lanes.find((track) => track.name === 'Stream #7 flows')!.event_count).toBe(0)
  expect(await row('Stream 7').count()).toBe(1)
  expect(await row('Stream 7 flows').count()).toBe(0)
})

test('a group shows its utilization, open and folded, and the share at the pointer', async () => {
  const header = row('GPU 0')
  const [track, box] = [Number(await header.getAttribute('data-track')), await canvasBox(page)]
  const span = await spanOf(page)
  const items = await api.items(track, span.from, span.to, 2000)
  const longest = items.reduce((a, b) => (a.end - a.start > b.end - b.start ? a : b))
  const y = (await header.boundingBox())!.y
  for (const isFolded of [false, true]) {
    const curve = await pixels(page, box.x, y + 4, Math.floor(box.width), 18)
    expect(curve.filter(isColored).length).toBeGreaterThan(200)
    await page.mouse.move(await xOf(page, (longest.start + longest.end) / 2), y + 12)
    expect(await page.getByRole('tooltip').innerText()).toMatch(/^\d.* % busy\n.*GPU 0/)
    if (!isFolded) await header.locator('button.fold').click()
    await complete(page)
  }
  await header.locator('button.fold').click()
  await complete(page)
})

test('all results of a search are marked, and a new search shows nothing of the last', async () => {
  const found = await api.search('duration>=0ns')
  expect(found.count).toBeGreaterThan(2 * found.hits.length) // most are not in the list
  const box = await canvasBox(page)
  const stream = (await row('Stream 7').boundingBox())!
  const strip = () => pixels(page, box.x, stream.y + 18, Math.floor(box.width), 1)
  const search = page.getByRole('combobox', { name: 'Search events' })
  await search.fill('duration>=0ns')
  await search.press('Enter')
  await page.locator('.hits').getByText(found.count.toLocaleString('en-US')).waitFor()
  await complete(page)
  const marked = (await strip()).map(([r, g, b]) => r > 200 && g > 150 && b < 120)
  const last = (await api.items((await api.track(/^Stream #7$/)).id, 0, 1e15, 20_000)).at(-1)!
  expect(marked[Math.floor((await xOf(page, last.start)) - box.x)]).toBe(true)
  let answer = () => {}
  const held = new Promise<void>((done) => (answer = done))
  await page.route(/search\?q=name/, async (route) => {
    await held
    await route.continue()
  })
  await search.fill('name:nosuchevent')
  await search.press('Enter')
  await expect.poll(() => page.locator('.hits').innerText()).toBe('…')
  await complete(page)
  expect((await strip()).filter(([r, g, b]) => r > 200 && g > 150 && b < 120)).toEqual([])
  answer()
  await page.locator('.hits').getByText('0', { exact: true }).waitFor()
  await search.fill('')
  await search.press('Enter')
})

test('a held key zooms by time, not by the rate at which the keyboard repeats', async () => {
  await page.locator('.canvas').focus()
  const before = await spanOf(page)
  const began = Date.now()
  for (let i = 0; i < 40; i++) await page.keyboard.down('w')
  await page.keyboard.up('w')
  const seconds = (Date.now() - began) / 1000
  await complete(page)
  const after = await spanOf(page)
  const ratio = (after.to - after.from) / (before.to - before.from)
  expect(ratio).toBeGreaterThan(0.6 * 0.3 ** (seconds + 0.1))
  expect(ratio).toBeLessThan(0.7)
})

test('names: headers stay while scrolling, tracks are filtered, a menu zooms and hides, the width is remembered', async () => {
  await page.mouse.move(100, (await canvasBox(page)).y + 100)
  await page.mouse.wheel(0, 260)
  const top = (await canvasBox(page)).y
  await expect.poll(async () => (await page.locator('.stuck .row').first().boundingBox())?.y).toBeLessThan(top + 30)
  await page.mouse.wheel(0, -1000)
  await expect.poll(() => page.locator('.stuck').count()).toBe(0)

  const filter = page.getByRole('searchbox', { name: 'Filter tracks' })
  await filter.fill('stream 40')
  await expect.poll(() => page.locator('.names .row.lane').count()).toBe(2)
  await expect.poll(() => page.url()).toContain('tracks=stream+40')
  await row('Stream 40').click({ button: 'right' })
  await page.getByRole('menuitem', { name: 'Zoom to its events' }).click()
  const items = await api.items((await api.track(/^Stream #40$/)).id, 0, 1e15, 20_000)
  await expect.poll(async () => (await spanOf(page)).from).toBeLessThanOrEqual(items[0]!.start)
  const shown = await spanOf(page)
  const length = items.at(-1)!.end - items[0]!.start
  expect(shown.to - shown.from).toBeLessThan(1.3 * length)
  await row('Stream 40').click({ button: 'right' })
  await page.getByRole('menuitem', { name: 'Hide track' }).click()
  await expect.poll(() => page.locator('.names .row.lane').count()).toBe(1)
  await filter.fill('')

  const handle = page.getByRole('separator', { name: 'Track names width' })
  const at = (await handle.boundingBox())!
  await page.mouse.move(at.x + 2, at.y + 200)
  await page.mouse.down()
  await page.mouse.move(at.x + 82, at.y + 200)
  await page.mouse.up()
  const width = await handle.getAttribute('aria-valuenow')
  expect(Number(width)).toBeGreaterThan(280)
  await page.reload()
  await complete(page)
  expect(await handle.getAttribute('aria-valuenow')).toBe(width)
})
