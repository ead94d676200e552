// The Search tab: results, totals by name, and help on the syntax.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, launch, openPage, Server } from './fixtures'
import { amount, cells, getJson, grid } from './tab-helpers'

interface SearchResult {
  count: number
  kinds: { kind: string; table: string; count: number; total_ns: number }[]
  names: { kind: string; name: string; total_ns: number }[]
  hits: { table: string; id: number; start: string; duration: string; self: string; name: string }[]
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

const open = async (address: string, options: Parameters<typeof openPage>[2] = {}) => {
  const page = await openPage(browser, server.url + address, options)
  await page.getByRole('tablist').waitFor()
  return page
}
const search = (profile: string, query: string, rest = '') =>
  getJson<SearchResult>(server, `/profiles/${profile}/search?q=${encodeURIComponent(query)}${rest}`)
const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)

test('results are listed and summed up as in the API', async () => {
  const query = 'name:fusion* duration>5us'
  const api = await search('gpt', query, '&limit=1000')
  const page = await open(`/profile/gpt?tab=search&q=${encodeURIComponent(query)}`)
  const rows = await cells(page, 'Search results')
  expect(rows.slice(0, 5).map((row) => [row[0], amount(row[1]), amount(row[2]), amount(row[3]), row[5], row[6]])).toEqual(
    api.hits.slice(0, 5).map((hit) => [hit.name, Number(hit.start), Number(hit.duration), Number(hit.self), hit.table, String(hit.id)]),
  )
  expect(await grid(page, 'Search results').getAttribute('aria-rowcount')).toBe(String(api.hits.length + 1))
  const summary = page.getByRole('complementary', { name: 'Result summary' })
  // Kernels and their operations are the same work: each kind has its own count and shares.
  expect(api.kinds.map(({ kind }) => kind)).toEqual(['stream', 'ops'])
  const counts = await summary.locator('dd').allInnerTexts()
  expect(counts.map((text) => Number(text.split(' ')[0]!.replaceAll(',', '')))).toEqual(api.kinds.map(({ count }) => count))
  expect(api.kinds.reduce((sum, { count }) => sum + count, 0)).toBe(api.count)
  const names: string[] = []
  for (const [at, { kind, total_ns }] of api.kinds.entries()) {
    const list = summary.getByRole('list').nth(at).getByRole('listitem')
    const found = api.names.filter((one) => one.kind === kind)
    expect(await list.locator('.name').allInnerTexts()).toEqual(found.map((one) => one.name))
    const shares = (await list.locator('.value').allInnerTexts()).map((text) => Number(/([\d.]+) %/.exec(text)![1]))
    for (const [row, share] of shares.entries()) expect(Math.abs(share - (100 * found[row]!.total_ns) / total_ns)).toBeLessThan(0.51)
    names.push(...found.map((one) => one.name))
  }
  await summary.getByRole('button').first().click()
  await page.waitForURL((url) => url.searchParams.get('q') === `name:"${names[0]}"`)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('stepping through the results selects their events', async () => {
  const api = await search('gpt', 'name:fusion_410', '&limit=1000')
  const page = await open('/profile/gpt?tab=search&q=name:fusion_410')
  await grid(page, 'Search results').locator('[aria-rowindex="4"]').click()
  await page.waitForURL((url) => url.searchParams.get('event') === `s${api.hits[2]!.id}`)
  await expect.poll(() => parameter(page, 'hit')).toBe('2')
  await page.getByRole('button', { name: 'Next ▸' }).click()
  await page.waitForURL((url) => url.searchParams.get('event') === `s${api.hits[3]!.id}`)
  await page.getByText(`4 of ${api.count}`).waitFor()
  for (let back = 0; back < 4; back++) await page.getByRole('button', { name: '◂ Previous' }).click()
  await page.waitForURL((url) => url.searchParams.get('event') === `s${api.hits.at(-1)!.id}`) // around the end
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('more than ten thousand results are loaded on request', async () => {
  const api = await search('torch', 'duration>=0ns', '&limit=1')
  expect(api.count).toBeGreaterThan(20_000)
  const page = await open('/profile/torch?tab=search&q=duration>=0ns')
  await page.getByRole('button', { name: 'Load more (10,000 loaded)' }).click()
  await page.getByRole('button', { name: 'Load more (20,000 loaded)' }).waitFor()
  expect(await grid(page, 'Search results').getAttribute('aria-rowcount')).toBe('20001')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a query can be entered here, and only a new query opens the tab', async () => {
  const page = await open('/profile/gpt?tab=search')
  await page.getByText('Conditions separated by spaces').waitFor()
  await page.getByRole('searchbox', { name: 'Query' }).fill('name:fusion_410')
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'Search 120' }).waitFor()
  await page.getByRole('tab', { name: 'Steps' }).click()
  await page.goBack()
  await page.goBack()
  await expect.poll(() => parameter(page, 'q')).toBe(null)
  await page.goForward()
  await page.goForward()
  await page.getByRole('tab', { name: 'Steps', selected: true }).waitFor()
  expect(parameter(page, 'tab')).toBe('steps')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('an unknown field shows an error with the available fields', async () => {
  const page = await open('/profile/gpt?tab=search&q=color:red', { allow: /400/ })
  const alert = page.getByRole('tabpanel').getByRole('alert')
  await alert.waitFor()
  expect(await alert.innerText()).toContain("'color'")
  expect(await alert.innerText()).toContain('duration start end core')
  await page.goto(`${server.url}/profile/gpt?tab=search&q=name:nosuchthing`)
  await page.getByText('No matching events.').waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('the help has examples to run, and the columns with descriptions', async () => {
  const page = await open('/profile/gpt?tab=search')
  await page.getByText('GpuKernel GPU kernels').click()
  await page.getByText('Registers per thread.').waitFor()
  await page.getByRole('button', { name: 'duration>10us' }).click()
  await page.waitForURL((url) => url.searchParams.get('q') === 'duration>10us')
  await grid(page, 'Search results').waitFor()
  await page.getByRole('button', { name: 'Syntax help' }).click()
  await page.getByText('Conditions separated by spaces').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await expect.poll(() => parameter(page, 'q')).toBe(null)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
