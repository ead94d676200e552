// The Selection tab: totals of a box or of the visible range; every breakdown adds up to the totals of the API.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch, openPage, Server } from './fixtures'
import { amount, cells, grid } from './tab-helpers'

interface Sums {
  count: number
  total_ns: number
  names: { name: string; count: number; total_ns: number }[]
  tracks: { track: number; count: number; total_ns: number }[]
}

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.start(['gpt', 'tpu', 'torch', 'neuron'])
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
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

/** Count and time of all rows of the breakdown, from the CSV: the DOM has only the visible ones. */
async function addedUp(page: Page): Promise<[number, number]> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  const { readFileSync } = await import('node:fs')
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\r\n').slice(1)
  const last = lines.map((line) => line.split(',').slice(-5).map(Number))
  return [last.reduce((sum, row) => sum + row[0]!, 0), last.reduce((sum, row) => sum + row[1]!, 0)]
}

test('a box is summed up by name, as in the API', async () => {
  const api = await select('gpt', [8, 18, 19], '27215751000', '50000000001')
  const page = await open('/profile/gpt?tab=selection&box=27215751000-50000000001_8.18.19')
  await page.getByTestId('selection-count').getByText(api.count.toLocaleString('en-US')).waitFor()
  const rows = await cells(page, 'Breakdown')
  expect(rows.slice(0, 10).map((row) => [row[0], amount(row[1]), amount(row[2])])).toEqual(
    api.names.slice(0, 10).map((one) => [one.name, one.count, one.total_ns]),
  )
  await grid(page, 'Breakdown').locator('[aria-rowindex="3"]').click()
  await page.waitForURL((url) => url.searchParams.get('q') === `name:"${api.names[1]!.name}"`)
  await page.getByRole('tab', { name: /^Selection/, selected: true }).waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('No selection.').waitFor()
  expect(new URL(page.url()).searchParams.has('box')).toBe(false)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test.each([
  ['gpt', '27215751000', '27233766000'], // one kernel's borders: it is in, its neighbours are not
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
    const [count, total] = await addedUp(page)
    expect(count, by).toBe(api.count)
    expect(total, by).toBeCloseTo(api.total_ns, 0)
  }
  const tracks = await cells(page, 'Breakdown')
  expect(tracks.length).toBe(Math.min(tracks.length, api.tracks.length))
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('without a box the visible range is summed up, and follows the viewport', async () => {
  const { from, to, ids } = await lanes('gpt')
  const all = await select('gpt', ids, from, to)
  const page = await open('/profile/gpt?tab=selection')
  await page.getByRole('button', { name: 'Use visible range' }).click()
  await page.getByTestId('selection-count').getByText(all.count.toLocaleString('en-US')).waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.goto(`${server.url}/profile/gpt?tab=selection&span=27000000000-28000000000`)
  await page.getByRole('button', { name: 'Use visible range' }).click()
  const part = await select('gpt', ids, '27000000000', '28000000000')
  await page.getByTestId('selection-count').getByText(part.count.toLocaleString('en-US')).waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
