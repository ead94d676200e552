// The page in use: details in a fixed place, the lower panel, tables in the address, flame graphs, tracks from queries, links by id,
// suggestions, exports and the keyboard.
import { statSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FlameResponse, Profile } from '../../ui/src/model/api'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { ask, getJson, grid, setTheme } from './tab-helpers'
import { canvasBox, complete, spanOf, xOf, yOf } from './timeline-page'

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.start(['gpt', 'torch'])
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

const open = async (address: string, options: Parameters<typeof openPage>[2] = {}) => {
  const page = await openPage(browser, server.url + address, options)
  await complete(page)
  return page
}
const details = (page: Page) => page.getByRole('region', { name: 'Event details' })
const tab = (page: Page, name: string) => page.getByRole('tab', { name: new RegExp(`^${name}`) })
const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)
const eventIs = (page: Page, id: string) => expect.poll(() => parameter(page, 'event')).toBe(id)

test('selecting an event moves nothing; its details say what it belongs to and lead to its relatives', async () => {
  const page = await open('/profile/gpt?span=27100000000-27600000000')
  const before = await canvasBox(page)
  const [x, y] = [await xOf(page, 27_224_000_000), await yOf(page, 8)]
  await page.mouse.click(x, y)
  await details(page).getByRole('heading', { level: 2, name: 'fusion_410' }).waitFor()
  expect(await canvasBox(page)).toEqual(before)
  const facts = details(page).getByLabel('Key facts')
  expect((await facts.innerText()).split('\n').filter(Boolean)).toEqual([
    'Operator', 'jit(train_step)/jvp(layer0)/attn/exp', 'HLO operation', 'fusion.410', 'fusion', 'Source', 'jax_gpt.py:23',
    'Step', 'train 0', 'Launched by', 'cuGraphLaunch (CudaGraph:66)', 'while it ran',
  ])

  // Where it is among the others of its name.
  const [[count, median]] = (await ask(server, 'gpt',
    "SELECT count(*), median(duration_ns) FROM SystemProfileEvents WHERE name = 'fusion_410'")) as [[number, number]]
  await details(page).getByRole('img', { name: new RegExp(`^${count} events from .* this one takes 18.02 µs`) }).waitFor()
  expect(await details(page).getByTestId('duration-rank').innerText()).toContain(`${(18_015 / median).toPrecision(3) === '1.00' ? 'the' : (18_015 / median).toPrecision(3)}`)

  // Ids are folded; all fields are still there.
  const ids = details(page).locator('details.group').filter({ has: page.locator('summary', { hasText: /^IDs$/ }) })
  expect(await ids.getAttribute('open')).toBe(null)
  expect((await details(page).locator('details.group > summary').allInnerTexts()).at(-1)).toBe('IDs')
  for (const theme of ['dark', 'light'] as const) {
    await setTheme(page, theme)
    await expectAccessible(page, theme)
  }

  // To its operation and back to the kernel; to the launch, the call around that and the calls in it.
  await facts.getByRole('button', { name: 'fusion.410', exact: true }).click()
  const [[run]] = (await ask(server, 'gpt', "SELECT id FROM HloRun WHERE name = 'fusion.410' ORDER BY start_ts LIMIT 1")) as [[number]]
  await eventIs(page, `h${run}`)
  await details(page).getByRole('list', { name: 'Kernels' }).getByRole('button', { name: /fusion_410/ }).click()
  await eventIs(page, 's36')
  await details(page).getByLabel('Key facts').getByRole('button', { name: /^cuGraphLaunch/ }).click()
  await details(page).getByRole('heading', { level: 2, name: /^cuGraphLaunch/ }).waitFor()
  const launched = await getJson<{ id: number; parent: { id: number; name: string } }>(server, '/profiles/gpt/events/SystemProfileEvents/6895')
  await details(page).getByRole('list', { name: 'Parent' }).getByRole('button').click()
  await eventIs(page, `s${launched.parent.id}`)
  await details(page).getByRole('list', { name: 'Children' }).getByRole('button', { name: /^cuGraphLaunch/ }).first().click()
  await eventIs(page, `s${launched.id}`)

  // A double click zooms to the event wherever it is; the panel can be hidden, and stays so.
  await page.goto(`${server.url}/profile/gpt?span=27100000000-27600000000`)
  await complete(page)
  await page.mouse.dblclick(x, y)
  await expect.poll(async () => { const span = await spanOf(page); return span.to - span.from }).toBeLessThan(200_000_000)
  await page.getByRole('button', { name: 'Details panel' }).click()
  await details(page).waitFor({ state: 'detached' })
  await expect.poll(() => parameter(page, 'details')).toBe('0')
  await page.reload()
  await complete(page)
  expect(await details(page).count()).toBe(0)
  await page.getByRole('button', { name: 'Details panel' }).click()
  await details(page).waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('the lower panel collapses and covers the timeline, remembered; number keys open tabs; Tab stops are few', async () => {
  const page = await open('/profile/gpt')
  const panel = page.getByRole('tabpanel')
  await page.getByRole('button', { name: 'Maximize the panel' }).click()
  const high = (await panel.boundingBox())!.height
  expect(high).toBeGreaterThan(600)
  await page.getByRole('button', { name: 'Collapse the panel' }).click()
  await panel.waitFor({ state: 'hidden' })
  expect((await canvasBox(page)).height).toBeGreaterThan(600)
  await expect.poll(() => parameter(page, 'panel')).toBe('collapsed')
  await page.goto(`${server.url}/profile/torch`)
  await complete(page)
  await panel.waitFor({ state: 'hidden' })
  await page.keyboard.press('5')
  await grid(page, 'Operations').waitFor()
  await tab(page, 'Operators').and(page.locator('[aria-selected=true]')).waitFor()
  await page.mouse.move(700, 20) // over a figure, ? tells what that is
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Help' }).getByText('Open the first to ninth tab').waitFor()
  await page.keyboard.press('Escape')

  // Toolbar, search and settings, timeline, tabs and a table: all within a few stops.
  await page.locator('body').click({ position: { x: 700, y: 20 } })
  const stops: string[] = []
  for (let press = 0; press < 40; press++) {
    await page.keyboard.press('Tab')
    const label = await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '')
    if (stops.includes(label)) break
    stops.push(label)
  }
  expect(stops).toContain('Events over time')
  expect(stops.length).toBeLessThan(26)
  await page.getByRole('button', { name: 'Favorite' }).focus()
  await page.keyboard.press('ArrowRight')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Actions for this profile')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('what is visible is summed up by self time; a table keeps grouping, filter, sorting and place in the address', async () => {
  const page = await open('/profile/gpt?tab=selection&span=30000000000-60000000000')
  const count = page.getByTestId('selection-count')
  await count.waitFor()
  const tracks = await getJson<{ tracks: { id: number; level: string; is_counter: boolean; event_count: number; table: string }[] }>(server, '/profiles/gpt/tracks')
  const lanes = tracks.tracks.filter((one) => one.level === 'lane' && !one.is_counter && one.event_count > 0 && one.table === 'SystemProfileEvents')
  const sum = (await (await fetch(`${server.url}/api/v1/profiles/gpt/selection`, {
    method: 'POST', body: JSON.stringify({ tracks: lanes.map((one) => one.id), from: '30000000000', to: '60000000000' }),
  })).json()) as { count: number; names: { name: string; self_ns: number }[] }
  await expect.poll(() => count.innerText()).toBe(sum.count.toLocaleString('en-US'))
  const top = [...sum.names].sort((a, b) => b.self_ns - a.self_ns)[0]!
  expect(await grid(page, 'Breakdown').locator('[aria-rowindex="2"] [role=gridcell]').first().innerText()).toBe(top.name)

  await tab(page, 'Operators').click()
  await page.getByRole('combobox', { name: 'Show', exact: true }).selectOption({ label: 'All events' })
  await page.getByRole('searchbox', { name: 'Filter Operations' }).fill('fusion')
  await grid(page, 'Operations').getByRole('button', { name: 'Count' }).click()
  await grid(page, 'Operations').evaluate((element) => (element.scrollTop = 24 * 12))
  await expect.poll(() => parameter(page, 'grids') ?? '').toContain('"top":12')
  const lines = await grid(page, 'Operations').getByRole('row').allInnerTexts()
  const other = await open(new URL(page.url()).pathname + new URL(page.url()).search)
  await grid(other, 'Operations').waitFor()
  await expect.poll(() => grid(other, 'Operations').evaluate((element) => element.scrollTop)).toBe(24 * 12)
  await expect.poll(() => grid(other, 'Operations').getByRole('row').allInnerTexts()).toEqual(lines)
  expect([page.consoleErrors, other.consoleErrors]).toEqual([[], []])
  await other.close()
  await page.close()
})

test('a flame graph of what is visible, of a thread and of a step', async () => {
  const page = await open('/profile/gpt?tab=flame')
  const graph = page.getByRole('group', { name: 'Flame graph' })
  const of = page.getByRole('combobox', { name: 'Flame graph of' })
  await graph.getByRole('button', { name: /^train: / }).first().waitFor()
  await of.selectOption('track:17')
  const thread = (await (await fetch(`${server.url}/api/v1/profiles/gpt/flame`, { method: 'POST', body: '{"tracks": [17]}' })).json()) as FlameResponse
  await graph.getByRole('button', { name: new RegExp(`^All: .* ${thread.count.toLocaleString('en-US')} events`) }).waitFor()
  const { width } = (await graph.boundingBox())!
  const train = thread.nodes.find((node) => node.name === 'train')!
  const frame = graph.getByRole('button', { name: /^train: / })
  expect((await frame.boundingBox())!.width / width).toBeCloseTo(train.total_ns / thread.total_ns, 2)
  await frame.click()
  expect((await frame.boundingBox())!.width).toBeCloseTo(width, 0)
  await page.keyboard.press('ArrowDown')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/^PjitFunction/)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Zoom out' }).click()
  expect((await frame.boundingBox())!.width).toBeLessThan(width)

  await of.selectOption({ label: 'train 0' })
  const [[step]] = (await ask(server, 'gpt', 'SELECT duration_ns FROM Step WHERE id = 0')) as [[number]]
  await graph.getByRole('button', { name: new RegExp(`^train: ${(step / 1e6).toPrecision(4)} ms .* 1 events`) }).waitFor()
  await graph.getByRole('button', { name: /^\/device:GPU:0: / }).waitFor()
  await expect.poll(() => parameter(page, 'flame')).toBe('step:0')
  const first = page.getByRole('list', { name: 'Names by self time' }).getByRole('button').first()
  const name = await first.locator('.name').innerText()
  await first.click()
  await expect.poll(() => parameter(page, 'q')).toBe(`name:"${name}"`)
  await setTheme(page, 'light')
  await expectAccessible(page)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a query becomes a track, kept in the address, whose events can be selected', async () => {
  const sql = "SELECT id, name, start_ts, duration_ns FROM GpuKernel WHERE name = 'fusion_410' ORDER BY id"
  const page = await open(`/profile/gpt?tab=sql&span=27100000000-27600000000&sql=${encodeURIComponent(sql)}`)
  await page.getByRole('button', { name: 'Add as track' }).click()
  const name = page.getByRole('textbox', { name: 'Name of the track' })
  await name.fill('attention')
  const row = page.locator('.row', { hasText: 'attention' })
  await row.waitFor()
  await expect.poll(() => parameter(page, 'sqltracks') ?? '').toContain('attention')
  const other = await open(new URL(page.url()).pathname + new URL(page.url()).search)
  const track = Number(await other.locator('.row', { hasText: 'attention' }).getAttribute('data-track'))
  await complete(other)
  await other.mouse.click(await xOf(other, 27_224_000_000), await yOf(other, track))
  await eventIs(other, 's36')
  await expectAccessible(other)
  await other.getByRole('button', { name: 'Remove the track attention' }).click()
  await other.locator('.row', { hasText: 'attention' }).waitFor({ state: 'detached' })
  expect([page.consoleErrors, other.consoleErrors]).toEqual([[], []])
  await other.close()
  await page.close()
})

test('a link opens the profile after it was renamed; values are suggested; exports are downloaded', async () => {
  const page = await open('/profile/torch?color=duration', { allow: /404/ })
  const { id } = await getJson<Profile>(server, '/profiles/torch')
  await expect.poll(() => parameter(page, 'id')).toBe(id)
  const link = page.url()
  await fetch(`${server.url}/api/v1/profiles/torch`, { method: 'PATCH', body: '{"name": "moved"}' })
  await page.goto(link)
  await page.getByRole('heading', { level: 1, name: 'moved' }).waitFor()
  await complete(page)
  expect([new URL(page.url()).pathname, parameter(page, 'color')]).toEqual(['/profile/moved', 'duration'])

  const search = page.getByRole('combobox', { name: 'Search events' })
  await search.fill('name:aten::conv')
  const values = page.getByRole('listbox', { name: 'Values of name' })
  await values.getByRole('option', { name: 'name:aten::conv2d', exact: true }).waitFor()
  await search.press('ArrowDown')
  await search.press('Enter')
  const chosen = await search.inputValue()
  expect(chosen).toMatch(/^name:aten::conv/)
  await search.press('Enter')
  await expect.poll(() => parameter(page, 'q')).toBe(chosen)

  for (const [item, file] of [['Perfetto trace (.pftrace)', 'moved.pftrace'], ['XPlane for XProf (.xplane.pb)', 'moved.xplane.pb'], ['Every event as JSON', 'moved.json']] as const) {
    await page.getByRole('button', { name: 'Export' }).click()
    const [download] = await Promise.all([page.waitForEvent('download', { timeout: 60_000 }), page.getByRole('menuitem', { name: item }).click()])
    expect(download.suggestedFilename()).toBe(file)
    expect(statSync(await download.path()).size).toBeGreaterThan(100_000)
  }
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
