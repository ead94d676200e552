// Device profiles in the browser: views, details, colors, tabs and the way there from a system profile. One server, one page.
import { readFileSync } from 'node:fs'
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { formatShare } from '../../ui/src/model/numbers'
import { DEVICE, startDeviceServer, SYSTEM } from './device-server'
import { closePages, expectAccessible, launch, openPage, type Server } from './fixtures'
import { amount, ask, cells, grid, setTheme } from './tab-helpers'
import { Api, complete } from './timeline-page'

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  server = await startDeviceServer()
  browser = await launch({ webgl: false })
  page = await openPage(browser, `${server.url}/profile/${DEVICE}`, { height: 2200, allow: /WebGL/ })
  await complete(page)
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

afterEach(() => expect(page.consoleErrors).toEqual([]))

const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const lanes = () => page.locator('.names .row').evaluateAll((rows) => rows.map((row) => row.querySelector('.label')?.textContent?.trim() ?? ''))

async function open(query: string): Promise<void> {
  await page.goto(`${server.url}/profile/${DEVICE}?${query}`)
  await complete(page)
}

test('the minimal view has engines and utilization; the full view the rest, packets and semaphores folded', async () => {
  const engines = ['Tensor', 'TensorMatrix', 'Vector', 'Scalar', 'GpSimd', 'Sync', 'TensorMatrix utilization', 'MFU']
  expect((await lanes()).filter((label) => !label.includes('NC0'))).toEqual(engines)
  const minimal = page.getByRole('button', { name: 'Minimal' })
  expect(await minimal.getAttribute('aria-pressed')).toBe('true')
  await minimal.click()
  await expect.poll(() => parameter('minimal')).toBe('0')
  const shown = await lanes()
  for (const label of ['DMA queues', 'qSyncWeights0', 'Packets of qSyncWeights0', 'Memory and throughput', 'Pending DMA', 'SBUF use', 'Semaphores'])
    expect(shown).toContain(label)
  expect(shown.filter((label) => /DMA engine|^Semaphore /.test(label))).toEqual([])
  await page.getByRole('button', { name: 'Expand Packets of qSyncWeights0' }).click()
  await expect.poll(async () => (await lanes()).filter((label) => label.startsWith('qSyncWeights0, DMA engine')).length).toBe(16)
  await minimal.click()
  await expect.poll(() => parameter('minimal')).toBeNull()
})

test('an instruction: its operands field by field, its groups, and its dependencies to follow', async () => {
  const [row] = await ask(server, DEVICE, `SELECT i.id, i.layer, f.in_id, p.opcode FROM Instruction i JOIN Flow f ON f.out_id = i.id
    JOIN Instruction p ON p.id = f.in_id WHERE i.opcode = 'MATMUL' AND f.dependency_type = 'semaphore' ORDER BY i.id LIMIT 1`)
  const [id, layer, cause, opcode] = row as [number, string, number, string]
  await open(`event=s${id}`)
  const details = page.getByRole('region', { name: 'Event details' })
  await details.getByText(layer).first().waitFor()
  const operands = await details.locator('dl[aria-label="Operands"]').textContent()
  for (const part of ['until semaphore', 'Source', 'Destination', 'columns of the Tensor engine']) expect(operands).toContain(part)
  for (const title of ['Instruction', 'Compute', 'Program']) await details.locator('summary', { hasText: title }).first().waitFor()
  await details.getByRole('list', { name: 'Predecessors' }).getByRole('button', { name: new RegExp(opcode) }).filter({ hasText: 'semaphore' }).click()
  await expect.poll(() => parameter('event')).toBe(`s${cause}`)
})

test('colors by layer, HLO operation, opcode and engine have legends', async () => {
  for (const [color, entry] of [['layer', '/gpt/block0'], ['hlo', '.'], ['opcode', 'MATMUL'], ['engine', 'TensorMatrix']] as const) {
    await page.getByLabel('Color by').selectOption(color)
    await page.getByRole('complementary', { name: 'Legend' }).getByTitle(entry, { exact: false }).first().waitFor()
  }
})

test('layers: a tree whose figures are those of the tables; a click finds the layer', async () => {
  await open('tab=layers')
  const shown = await cells(page, 'Layers')
  const [[count, flops]] = (await ask(server, DEVICE, 'SELECT count(*), sum(raw_flops) FROM Instruction WHERE layer <> \'\'')) as [[number, number]]
  const root = shown.find(([name]) => name === '/')!
  expect([amount(root[10]), amount(root[6])]).toEqual([count, flops])
  await grid(page, 'Layers').getByText('block3', { exact: true }).click()
  const [[found]] = (await ask(server, DEVICE, "SELECT count(*) FROM Instruction WHERE layer LIKE '/gpt/block3%'")) as [[number]]
  await page.getByRole('tab', { name: `Search ${found}` }).waitFor()
  await expect.poll(() => parameter('span')).not.toBeNull()
})

test('the tabs of tables, with what their columns mean', async () => {
  await open('tab=tensors')
  const [[tensors]] = (await ask(server, DEVICE, 'SELECT count(*) FROM TensorInfo')) as [[number]]
  await page.getByText(`${tensors} rows`).waitFor()
  for (const [tab, label, text] of [
    ['DMA queues', 'DMA queues', 'qSyncWeights0'], ['Memory', 'Memory', 'weights'], ['NEFF', 'NEFF', 'gpt12'], ['Terminology', 'Terminology', 'model_flops'],
  ] as const) {
    await page.getByRole('tab', { name: tab, exact: true }).click()
    await grid(page, label).getByText(text, { exact: true }).first().waitFor()
  }
  await grid(page, 'Terminology').getByText('Operations that the model needs', { exact: false }).first().click()
  const [[flops]] = (await ask(server, DEVICE, 'SELECT model_flops FROM Summary')) as [[number]]
  expect(amount((await page.getByRole('region', { name: 'Chosen field' }).locator('.exact').innerText()))).toBe(flops)
})

test('searches find what the tables have: opcodes, engines, layers, operands, queues, tensors, sizes', async () => {
  const api = new Api(server.url, DEVICE)
  const count = async (table: string, condition: string) => ((await ask(server, DEVICE, `SELECT count(*) FROM ${table} WHERE ${condition}`)) as [[number]])[0][0]
  const SEARCHES: [string, string, string][] = [
    ['opcode:matmul', 'Instruction', "opcode = 'MATMUL'"],
    ['engine:Vector duration>300ns', 'Instruction', "engine = 'Vector' AND duration_ns > 300"],
    ['layer~attention opcode~COPY', 'Instruction', "layer LIKE '%attention%' AND opcode LIKE '%COPY%'"],
    ['operands~"fp32@SBUF"', 'Instruction', "contains(operands, 'fp32@SBUF')"],
    ['flops>0', 'Instruction', 'raw_flops > 0'],
    ['queue:qSyncWeights0', 'DmaPacketAggregated', "queue_name = 'qSyncWeights0'"],
    ['tensor:wte', 'DmaPacketAggregated', "variable = 'wte'"],
    ['size>=100kB', 'DmaPacketAggregated', 'transfer_bytes >= 100000'],
  ]
  for (const [query, table, condition] of SEARCHES) {
    const expected = await count(table, condition)
    expect(expected, query).toBeGreaterThan(0)
    expect((await api.search(query)).count, query).toBe(expected)
  }
  await open('')
  const box = page.getByRole('combobox', { name: /^Search/ })
  await box.fill('queue:qSyncW')
  await page.getByRole('option', { name: 'qSyncWeights0' }).click()
  await box.press('Enter')
  await expect.poll(() => parameter('q')).toBe('queue:qSyncWeights0')
})

test('the critical path is marked: what is on it, and no more', async () => {
  const [[events]] = (await ask(server, DEVICE, 'SELECT count(DISTINCT event_id) FROM CriticalPath')) as [[number]]
  const found = await new Api(server.url, DEVICE).search('critical:*')
  expect(found.count).toBe(events)
  await open('')
  const asked = page.waitForRequest((request) => request.url().endsWith('/timeline') && (request.postData() ?? '').includes('critical:*'))
  await page.getByRole('button', { name: 'Critical path', exact: true }).click()
  await asked
  await complete(page)
  expect(parameter('path')).toBe('1')
})

test('layers over time are nested bars; a click marks the layer', async () => {
  await open('tab=layers')
  await page.getByLabel('Show layers').selectOption('time')
  const chart = page.getByRole('img', { name: 'Layers over time' })
  await expect.poll(async () => Number(await chart.getAttribute('data-rects'))).toBeGreaterThan(50)
  const box = (await chart.boundingBox())!
  await page.mouse.move(box.x + box.width / 2, box.y + 30)
  const [name, , path] = await page.getByRole('tooltip').locator('> *').allTextContents()
  expect(path).toBe(`/gpt/${name}`)
  await page.mouse.down()
  await page.mouse.up()
  await expect.poll(() => parameter('q')).toBe(`layer:"${path}*"`)
  expect(parameter('span')).not.toBeNull()
})

test('the memory map has what the table has, in the visible time', async () => {
  const [from, to] = [100_000, 150_000]
  await open(`tab=map&span=${from * 1000}-${to * 1000}`)
  const margin = (to - from) / 2
  const [[count]] = (await ask(server, DEVICE, `SELECT count(*) FROM SbufAllocation WHERE partition = 0
    AND end_ts >= ${from - margin} AND start_ts <= ${to + margin}`)) as [[number]]
  await page.getByText(`${count.toLocaleString('en-US')} allocations`).waitFor()
  expect(await page.getByRole('img', { name: 'SBUF partition 0' }).getAttribute('data-rects')).toBe(String(count))
})

test('terms have formulas; what is visible is exported as CSV', async () => {
  await open('tab=terms')
  await grid(page, 'Terminology').getByText('dma_active_time / total_time', { exact: true }).first().waitFor()
  await open('span=100000000-150000000')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.getByText('Visible range as CSV').click()
  await page.getByLabel('Sample at the timeline').uncheck()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()])
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n')
  const [[count]] = (await ask(server, DEVICE, 'SELECT count(*) FROM Instruction WHERE end_ts >= 100000 AND start_ts <= 150000')) as [[number]]
  expect(lines[0]).toMatch(/^timeline_track,start_ts,/)
  expect(lines.length - 1).toBe(count)
})

test('the summary asks once, also when its tab is opened again; a tab beyond the edge comes into view', async () => {
  await page.goto('about:blank') // whose requests are not counted: those of the page before may not all be sent
  const sent: string[] = []
  const record = (request: Request) => void (request.url().endsWith('/sql') && sent.push(request.postData()!))
  page.on('request', record)
  await page.setViewportSize({ width: 760, height: 2200 })
  await open('tab=summary')
  const summary = page.getByRole('list', { name: 'Engines and DMA' })
  await summary.waitFor()
  await page.getByRole('tab', { name: 'Summary' }).focus()
  await page.keyboard.press('End')
  await expect.poll(() => parameter('tab')).toBe('tables')
  const [list, last] = [page.getByRole('tablist', { name: 'Profile tabs' }), page.getByRole('tab', { name: 'Tables' })]
  const right = async (one: typeof last) => one.boundingBox().then((box) => box!.x + box!.width)
  await expect.poll(async () => (await right(last)) <= (await right(list)) + 1).toBe(true)
  await page.keyboard.press('Home')
  await summary.waitFor()
  page.off('request', record)
  await page.setViewportSize({ width: 1280, height: 2200 })
  expect(sent.filter((body) => body.includes('OpcodeSummary'))).toHaveLength(1)
  expect(sent).toHaveLength(new Set(sent).size)
})

test('the summary has the findings and the metrics', async () => {
  await open('tab=summary&panel=maximized')
  const region = page.getByRole('region', { name: 'Summary' })
  const [[mfu, tensor]] = (await ask(server, DEVICE, 'SELECT mfu_estimated_percent, tensor_engine_active_time_percent FROM Summary')) as [[number, number]]
  await region.getByRole('list', { name: 'Engines and DMA' }).getByText(formatShare(tensor!)).waitFor()
  await region.getByRole('list', { name: 'Utilization' }).getByText(formatShare(mfu!)).first().waitFor()
  for (const title of ['Findings', 'Operations', 'HBM traffic', 'Opcodes', 'System information']) await region.getByRole('heading', { name: title, exact: true }).waitFor()
  for (const theme of ['dark', 'light'] as const) {
    await setTheme(page, theme)
    await expectAccessible(page, theme)
  }
})

test('an execution of the system profile opens its device profile', async () => {
  const [[id]] = (await ask(server, SYSTEM, "SELECT id FROM SystemProfileEvents WHERE name = 'nc_exec_running'")) as [[number]]
  await page.goto(`${server.url}/profile/${SYSTEM}?event=s${id}`)
  await page.getByRole('region', { name: 'Summary' }).getByTitle(`Open device profile ${DEVICE}`).waitFor()
  const [tab] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Open device profile', exact: true }).click()])
  await expect.poll(() => new URL(tab.url()).pathname).toBe(`/profile/${DEVICE}`)
  await complete(tab)
  await tab.close()
})
