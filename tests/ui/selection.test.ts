// The Selection tab: totals of a box; every breakdown adds up to the totals of the API.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, launch, openPage, Server } from './fixtures'
import { amount, cells, grid } from './tab-helpers'

interface Sums {
  count: number
  total_ns: number
  self_ns: number
  names: { name: string; count: number; total_ns: number; self_ns: number }[]
  tracks: { track: number; count: number; total_ns: number }[]
}

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

const open = async (address: string) => {
  const page = await openPage(browser, server.url + address)
  await page.getByRole('tablist').waitFor()
  return page
}

async function select(profile: string, tracks: number[], from: string, to: string): Promise<Sums> {
  const answer = await fetch(`${server.url}/api/v1/profiles/${profile}/selection`, { method: 'POST', body: JSON.stringify({ tracks, from, to }) })
  return (await answer.json()) as Sums
}

async function lanes(profile: string): Promise<{ from: string; to: string; ids: number[] }> {
  const answer = await (await fetch(`${server.url}/api/v1/profiles/${profile}/tracks`)).json() as {
    from: string; to: string; tracks: { id: number; level: string; event_count: number }[]
  }
  return { ...answer, ids: answer.tracks.filter((track) => track.level === 'lane' && track.event_count > 0).map((track) => track.id) }
}

/** Count, self and total time of all rows of the breakdown, from the CSV: the DOM has only the visible ones. */
async function addedUp(page: Page): Promise<[number, number, number]> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  const { readFileSync } = await import('node:fs')
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\r\n').slice(1)
  const last = lines.map((line) => line.split(',').slice(-6).map(Number))
  const sum = (at: number) => last.reduce((all, row) => all + row[at]!, 0)
  return [sum(0), sum(1), sum(3)]
}

test('a box is summed up by name, as in the API', async () => {
  const api = await select('gpt', [8, 18, 19], '27215751000', '50000000001')
  const page = await open('/profile/gpt?tab=selection&box=27215751000-50000000001_8.18.19')
  await page.getByTestId('selection-count').getByText(api.count.toLocaleString('en-US')).waitFor()
  const rows = await cells(page, 'Breakdown')
  const names = [...api.names].sort((a, b) => b.self_ns - a.self_ns)
  expect(rows.slice(0, 10).map((row) => [row[0], amount(row[1]), amount(row[2]), amount(row[4])])).toEqual(
    names.slice(0, 10).map((one) => [one.name, one.count, one.self_ns, one.total_ns]),
  )
  await grid(page, 'Breakdown').locator('[aria-rowindex="3"]').click()
  await page.waitForURL((url) => url.searchParams.get('q') === `name:"${names[1]!.name}"`)
  await page.getByRole('tab', { name: /^Selection/, selected: true }).waitFor()
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await page.getByText('Visible range').waitFor()
  expect(new URL(page.url()).searchParams.has('box')).toBe(false)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test.each([
  ['gpt', '27215751000', '27233766000'], // one kernel's borders: it is in, its neighbors are not
  ['tpu', '5439011742500', '5639011742503'], // not on whole nanoseconds
  ['torch', '100000000000', '300000000000'],
  ['neuron', '0', '1000000000'],
] as const)('every breakdown of %s adds up to all that is selected', async (profile, from, to) => {
  const { ids } = await lanes(profile)
  const api = await select(profile, ids, from, to)
  expect(api.count).toBeGreaterThan(0)
  const page = await open(`/profile/${profile}?tab=selection&box=${from}-${to}_${ids.join('.')}`)
  await page.getByTestId('selection-count').getByText(api.count.toLocaleString('en-US'), { exact: true }).waitFor()
  for (const by of ['name', 'opcode', 'layer', 'size', 'track']) {
    await page.getByRole('combobox', { name: 'Break down by' }).selectOption(by)
    await page.getByText('Loading…').waitFor({ state: 'detached' })
    await grid(page, 'Breakdown').locator('[aria-rowindex="2"]').waitFor()
    const [count, self, total] = await addedUp(page)
    expect(count, by).toBe(api.count)
    expect(self, by).toBeCloseTo(api.self_ns, 0)
    expect(total, by).toBeCloseTo(api.total_ns, 0)
  }
  const tracks = await cells(page, 'Breakdown')
  expect(tracks.length).toBe(Math.min(tracks.length, api.tracks.length))
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
