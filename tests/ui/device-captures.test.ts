// Device profiles of other captures: a training step of JAX, and 32 ranks of nccom-test. One server, one page.
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { JAX_SOURCES, JAX_STEP, makeCollectives, makeDeviceProfile } from './device-server'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { amount, ask, cells, grid } from './tab-helpers'
import { complete } from './timeline-page'

const RANKS = 32

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'kymo-ui-'))
  makeDeviceProfile(workspace, 'step', JAX_STEP, ['--framework-source-root', JAX_SOURCES, '--enable-memory-tracker'])
  makeCollectives(workspace, 'gather')
  server = await Server.over(workspace)
  browser = await launch({ webgl: false })
  page = await openPage(browser, `${server.url}/profile/step?tab=layers`, { width: 1440, height: 1400, allow: /WebGL|status of 503/ })
  await complete(page)
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

afterEach(() => expect(page.consoleErrors).toEqual([]))

const parameter = (name: string) => new URL(page.url()).searchParams.get(name)

async function open(address: string): Promise<void> {
  await page.goto(`${server.url}/profile/${address}`)
  await complete(page)
}

test('a step of JAX: layers are the named scopes, and have all instructions', async () => {
  const shown = await cells(page, 'Layers')
  const [[count]] = (await ask(server, 'step', "SELECT count(*) FROM Instruction WHERE layer <> ''")) as [[number]]
  expect(amount(shown.find(([name]) => name === '/')![10])).toBe(count)
  const names = shown.map(([name]) => name)
  for (const scope of ['/embedding', '/block0', '/block0/attention', '/block1/mlp', '/head', '/update']) expect(names).toContain(scope)
})

test('an instruction of JAX leads to its line, and the line to its instructions', async () => {
  const [[id, place]] = (await ask(server, 'step', `SELECT id, bir_debug_info_source_location FROM Instruction
    WHERE opcode = 'MATMUL' AND layer LIKE '/block0/attention%' ORDER BY id LIMIT 1`)) as [[number, string]]
  const [, file, line] = /^(.*):(\d+)$/.exec(place)!
  await open(`step?event=s${id}`)
  await page.getByRole('region', { name: 'Event details' }).getByRole('button', { name: `jax_gpt_step.py:${line}` }).click()
  await expect.poll(() => parameter('file')).toBe(file)
  const text = readFileSync(join(JAX_SOURCES, 'jax_gpt_step.py'), 'utf8').split('\n')[Number(line) - 1]!
  const shown = page.getByRole('region', { name: `Source of ${file}` }).locator(`[data-line="${line}"]`)
  await expect.poll(() => shown.locator('code').innerText()).toBe(text)
  expect(text).toContain('einsum')
})

test('the bytes of the scratchpad that are drawn as in use are those of the table', async () => {
  const usage = (await ask(server, 'step', 'SELECT timestamp, used_bytes FROM ScratchpadUsage ORDER BY timestamp')) as [number, number][]
  const [[most]] = (await ask(server, 'step', 'SELECT max(end_address) FROM ScratchpadAllocation')) as [[number]]
  expect(usage.length).toBeGreaterThan(10)
  await open(`step?tab=map&grids=${encodeURIComponent(JSON.stringify({ 'Memory map': { choices: { memory: 'scratchpad' } } }))}`)
  const chart = page.getByRole('img', { name: 'bytes in use over time' })
  await expect.poll(() => chart.getAttribute('data-rects')).toBe(String(usage.filter(([, bytes]) => bytes > 0).length))
  await page.mouse.move(0, 0)
  const { from, to } = await page.getByTestId('timeline').evaluate((node) => ({ from: Number(node.dataset.from), to: Number(node.dataset.to) }))
  // The height of the topmost pixel of each column that has the color of the bars: all have the same, and reach the bottom.
  const heights = await chart.locator('canvas').evaluate((node) => {
    const canvas = node as HTMLCanvasElement
    const { data, width, height } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
    const at = (x: number, y: number) => [...data.subarray(4 * (y * width + x), 4 * (y * width + x) + 4)].join()
    const counts = new Map<string, number>()
    for (let x = 0; x < width; x++) counts.set(at(x, height - 3), (counts.get(at(x, height - 3)) ?? 0) + 1)
    counts.delete('0,0,0,0')
    const color = [...counts].sort((a, b) => b[1] - a[1])[0]![0]
    return Array.from({ length: width }, (_, x) => {
      let y = 0
      while (y < height && at(x, y) !== color) y++
      return (height - y) / height
    })
  })
  const usedAt = (ps: number) => usage.filter(([ns]) => ns * 1000 <= ps).at(-1)?.[1] ?? 0
  let compared = 0
  heights.forEach((height, x) => {
    const [left, right] = [x - 2, x + 3].map((at) => from + ((to - from) * at) / heights.length) as [number, number]
    if (usage.some(([ns]) => ns * 1000 >= left && ns * 1000 <= right)) return // it changes there
    compared++
    expect(Math.abs(height - usedAt(left) / most), `column ${x}: ${height}`).toBeLessThan(0.04)
  })
  expect(compared).toBeGreaterThan(100)
  expect(heights.some((height) => height > 0.3)).toBe(true)
})

test('32 ranks: a tab each, their collectives in boxes, compared across ranks', async () => {
  await open('gather_ranks?tab=ranks&minimal=0')
  const tabs = page.getByRole('tablist', { name: 'Ranks' }).getByRole('tab')
  await expect.poll(() => tabs.count()).toBe(RANKS + 1)
  expect((await page.locator('.names .row').first().innerText()).trim()).toMatch(/^Rank 0 · /)
  expect(await grid(page, 'Ranks').getAttribute('aria-rowcount')).toBe(String(RANKS + 1))
  await page.getByLabel('Show', { exact: true }).selectOption('skew')
  const [[matched, ranks]] = (await ask(server, 'gather_ranks', 'SELECT count(*), min(rank_count) FROM CollectiveSkew')) as [[number, number]]
  expect(ranks).toBe(RANKS)
  await page.getByText(`${matched} rows`).waitFor()
  await tabs.nth(RANKS).click()
  await expect.poll(() => parameter('rank')).toBe(String(RANKS - 1))
  const [[gathers]] = (await ask(server, 'gather_ranks', `SELECT count(*) FROM CcOp WHERE rank = ${RANKS - 1} AND operation = 'AllGather'`)) as [[number]]
  await expect.poll(() => page.locator('[data-testid="timeline-box"][data-title="AllGather"]').count()).toBe(gathers)
  await expectAccessible(page)
})

test('the system profile of nccom-test lists a device profile of each rank', async () => {
  const [[listed]] = (await ask(server, 'gather', 'SELECT count(DISTINCT device_profile_name) FROM DeviceProfileList')) as [[number]]
  expect(listed).toBe(RANKS)
  const [[id, name]] = (await ask(server, 'gather', `SELECT e.id, device_profile_name FROM SystemProfileEvents e
    JOIN DeviceProfileList d ON d.process_id = e.process_id AND d.nc_id = e.nc_idx WHERE e.name = 'nc_exec_running' ORDER BY e.id DESC LIMIT 1`)) as [[number, string]]
  await page.goto(`${server.url}/profile/gather?event=s${id}`)
  const [tab] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Open device profile', exact: true }).click()])
  await tab.waitForURL((url) => url.pathname === `/profile/${name}`)
  await complete(tab)
  await tab.close()
})
