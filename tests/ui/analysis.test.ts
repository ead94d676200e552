// The analysis beside the timeline: its pages against the server's figures, links that bring them back, and the ways between rows and
// events. One page is used for all that a profile has.
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOOL_TITLES, toolGroups, type Tool, type ToolInfo } from '../../ui/src/model/analysis'
import { formatShare } from '../../ui/src/model/numbers'
import { formatNs } from '../../ui/src/model/time'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { ask, cells, getJson, grid } from './tab-helpers'

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

type Row = Record<string, string | number | boolean | null>

const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const main = () => page.getByRole('main')
const details = () => page.getByRole('complementary')
const nav = () => page.getByRole('navigation', { name: 'Analyses' })
const tool = async (name: Tool) => {
  await nav().getByRole('button', { name: TOOL_TITLES[name], exact: true }).click()
  await main().getByRole('heading', { name: TOOL_TITLES[name], exact: true }).waitFor()
}
const answer = (profile: string, name: Tool, more = '') =>
  getJson<Record<string, Row[]>>(server, `/profiles/${profile}/tools/${name}?format=json${more}`)

async function open(address: string, options: Parameters<typeof openPage>[2] = {}): Promise<void> {
  page = await openPage(browser, server.url + address, options)
  await page.getByRole('group', { name: 'View' }).waitFor()
}

async function done(): Promise<void> {
  expect(page.consoleErrors).toEqual([])
  await page.close()
}

test('a switch, a key and the address lead to the analysis and back', async () => {
  await open('/profile/gpt?tab=steps')
  await page.getByRole('tablist').waitFor()
  await page.keyboard.press('v')
  await main().getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  expect(parameter('tool')).toBe('overview_page')
  expect(await page.getByRole('tablist').count()).toBe(0) // covered, and out of reach
  await tool('kernel_stats')
  expect(await nav().locator('[aria-current=page]').innerText()).toBe('Kernels')
  await page.keyboard.press('v')
  await page.getByRole('tab', { name: 'Steps', selected: true }).waitFor()
  expect(parameter('tool')).toBeNull()
  await page.getByRole('button', { name: 'Analysis', exact: true }).click()
  await main().getByRole('heading', { name: 'Kernels', exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('tab', { name: 'Steps', selected: true }).waitFor()
  await page.goBack()
  await page.goBack()
  await main().getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  const { tools } = await getJson<{ tools: ToolInfo[] }>(server, '/tools')
  const listed = toolGroups(tools).flatMap((group) => group.tools)
  expect(listed.length).toBe(tools.length)
  expect(await nav().getByRole('button').allInnerTexts()).toEqual(listed.map((name) => TOOL_TITLES[name]))
  await done()
})

test('tables have the server’s rows; a row leads to its events and back', async () => {
  await open('/profile/gpt?tool=kernel_stats')
  const { kernels } = await answer('gpt', 'kernel_stats')
  const rows = await cells(page, 'Kernel statistics')
  expect(rows[0]![0]).toBe(kernels![0]!.kernel_name)
  expect(await grid(page, 'Kernel statistics').getAttribute('aria-rowcount')).toBe(String(kernels!.length + 1))
  expect(await grid(page, 'Kernel statistics').locator('.body [role=row]').first().innerText()).toContain(formatNs(Number(kernels![0]!.total_duration_us) * 1000))
  await grid(page, 'Kernel statistics').getByText('fusion_410', { exact: true }).first().click()
  const chosen = kernels!.find((row) => row.kernel_name === 'fusion_410')!
  await details().getByText(formatNs(Number(chosen.max_duration_us) * 1000)).waitFor()
  await page.getByRole('searchbox', { name: 'Filter Kernel statistics' }).fill('fusion_410')
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  expect(readFileSync(await download.path(), 'utf8').split('\r\n')[1]).toContain('fusion_410')
  await expect.poll(() => parameter('grids')).toContain('fusion_410')
  await details().getByRole('button', { name: 'Show on timeline' }).click()
  await page.getByRole('tab', { name: /^Search 120/, selected: true }).waitFor()
  expect(parameter('q')).toBe('name:"fusion_410"')
  expect(parameter('tool')).toBeNull()
  const event = page.getByRole('region', { name: 'Event details' })
  await event.getByRole('heading', { name: 'fusion_410' }).waitFor()
  // Back to the operation's row, which is another table.
  await event.getByRole('button', { name: 'Operation in analysis' }).click()
  await details().waitFor()
  expect(parameter('tool')).toBe('hlo_stats')
  const name = await details().getByRole('heading').innerText()
  const { operations } = await answer('gpt', 'hlo_stats')
  const operation = operations!.find((row) => row.hlo_op_name === name)!
  expect(operation.category).toBe('custom fusion')
  await details().getByText(formatNs(Number(operation.total_self_time) * 1000)).first().waitFor()
  await page.goBack()
  await page.goBack()
  await details().getByRole('heading', { name: 'fusion_410' }).waitFor()
  expect(await page.getByRole('searchbox').inputValue()).toBe('fusion_410')
  await done()
})

test('lists of values, grouping and sorting are in the address', async () => {
  await open('/profile/torch?tool=framework_op_stats')
  await grid(page, 'Operator statistics').waitFor()
  await page.getByLabel('On', { exact: true }).selectOption('Host')
  await grid(page, 'Operator statistics').getByRole('columnheader', { name: 'Count' }).getByRole('button').click()
  const { operations_without_idle: operators } = await answer('torch', 'framework_op_stats')
  const hosts = operators!.filter((row) => row.host_or_device === 'Host')
  await expect.poll(() => parameter('grids')).toContain('-occurrences')
  const most = Math.max(...hosts.map((row) => Number(row.occurrences)))
  await grid(page, 'Operator statistics').locator('.body [role=row]').first().getByText(most.toLocaleString('en-US'), { exact: true }).waitFor()
  expect(await grid(page, 'Operator statistics').getAttribute('aria-rowcount')).toBe(String(hosts.length + 1))
  await page.reload()
  await grid(page, 'Operator statistics').locator('.body [role=row]').first().getByText(most.toLocaleString('en-US'), { exact: true }).waitFor()
  await tool('op_profile')
  await page.getByLabel('Group by', { exact: true }).selectOption('program')
  const tree = (await answer('torch', 'op_profile', '&group_by=program')).nodes as unknown as { depth: number; name: string; time_percent: number }[]
  const top = tree.filter((node) => node.depth === 1).sort((a, b) => b.time_percent - a.time_percent)
  await expect.poll(async () => (await cells(page, 'Op profile'))[0]![0]).toBe(top[0]!.name)
  await grid(page, 'Op profile').locator('.body [role=row]').first().getByText(formatShare(top[0]!.time_percent / 100)).first().waitFor()
  await tool('collective_stats')
  const { collectives } = await answer('torch', 'collective_stats')
  await page.getByLabel('Operation', { exact: true }).selectOption('broadcast')
  const broadcasts = collectives!.filter((row) => row.operation === 'broadcast')
  await expect.poll(() => grid(page, 'Collective statistics').getAttribute('aria-rowcount')).toBe(String(broadcasts.length + 1))
  await grid(page, 'Collective statistics').locator('.body [role=row]').first().click()
  await details().getByRole('button', { name: 'Show on timeline' }).waitFor()
  await expectAccessible(page)
  await done()
})

test('the overview begins with what costs time; its evidence and its steps are on the timeline', async () => {
  await open('/profile/gpt?tool=overview_page')
  const { steps, facts } = await answer('gpt', 'overview_page')
  await main().getByText(String(facts![0]!.value)).waitFor()
  const { findings } = await getJson<{ findings: { title: string; evidence: { label: string }[] }[] }>(server, '/profiles/gpt/summary')
  await main().getByRole('heading', { name: findings[0]!.title }).waitFor()
  const chart = main().getByRole('slider', { name: /^Step/ })
  await chart.focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowRight')
  expect(await chart.getAttribute('aria-valuetext')).toBe(`Step 1: ${formatNs(Number(steps![1]!.stepTimeMs) * 1e6)}`)
  await page.keyboard.press('Enter')
  await expect.poll(() => parameter('tool')).toBeNull()
  const [[from, to]] = (await ask(server, 'gpt', 'SELECT least(start_ts, device_start_ts), greatest(end_ts, device_end_ts) FROM Step WHERE number = 1')) as [number[]]
  expect(parameter('span')).toBe(`${from! * 1000}-${to! * 1000}`)
  await page.goBack()
  await main().getByRole('button', { name: findings[0]!.evidence[0]!.label }).click()
  await expect.poll(() => parameter('tool') === null && parameter('event') !== null).toBe(true)
  await done()
})

test('the roofline draws operations below the peaks; a point is a row', async () => {
  await open('/profile/tpu?tool=roofline_model')
  const chart = main().getByRole('img', { name: /^Roofline/ })
  const { roofline, device } = await answer('tpu', 'roofline_model')
  const rows = roofline!.filter((row) => row.step === 'Total' && row.include_infeed_outfeed === true && Number(row.rank) > 0)
  const drawn = rows.filter((row) => Number(row.operational_intensity) > 0 && Number(row.model_flop_rate) > 0)
  await expect.poll(() => chart.locator('circle').count()).toBe(drawn.length)
  expect(await chart.getAttribute('aria-label')).toContain(`${Number(device![0]!.tflops)} TFLOP/s`)
  await chart.locator('circle').first().click({ force: true })
  await expect.poll(() => parameter('grids')).toContain('Roofline')
  const name = await details().getByRole('heading').innerText()
  expect(drawn.map((row) => row.operation)).toContain(name)
  // Names of events on TPUs are whole texts.
  await details().getByRole('button', { name: 'Show on timeline' }).click()
  await page.getByRole('region', { name: 'Event details' }).getByRole('heading', { name: `%${name} = ` }).waitFor()
  await done()
})

test('memory is drawn with its peak, and what is alive there; a moment is on the timeline', async () => {
  await open('/profile/gpt?tool=memory_profile')
  const { memoryProfilePerAllocator: all } = await getJson<{
    memoryProfilePerAllocator: Record<string, unknown>
  }>(server, '/profiles/gpt/tools/memory_profile?format=gviz')
  const name = Object.keys(all)[0]!
  expect(await page.getByLabel('Allocator').inputValue()).toBe(name)
  const { at_peak: alive } = await answer('gpt', 'memory_profile', '&table=at_peak')
  const rows = alive!.filter(({ memory_id }) => memory_id === name).length
  await expect.poll(() => grid(page, 'Alive at the peak').getAttribute('aria-rowcount'), { timeout: 20_000 }).toBe(String(rows + 1))
  await page.getByLabel('Scale').selectOption('capacity')
  await main().getByText('Free', { exact: true }).waitFor()
  const chart = main().getByRole('slider')
  await chart.focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('Enter')
  await expect.poll(() => parameter('tool')).toBeNull()
  expect(parameter('span')).toMatch(/^\d+-\d+$/)
  await done()
})

test('the graph leads from an operation to its neighbors and into fusions; the memory of the module to the graph', async () => {
  await open('/profile/gpt?tool=memory_viewer')
  const memory = await getJson<{ maxHeap: { instructionName?: string; logicalBufferSizeMib: number }[] }>(server, '/profiles/gpt/tools/memory_viewer?format=json')
  const largest = memory.maxHeap.reduce((most, one) => (one.logicalBufferSizeMib > most.logicalBufferSizeMib ? one : most))
  await grid(page, 'Buffers at the peak').getByText(largest.instructionName!, { exact: true }).click()
  await details().getByRole('button', { name: 'Graph', exact: true }).click()
  const { nodes } = await getJson<{ nodes: { name: string; called?: string[] }[] }>(
    server, `/profiles/gpt/tools/graph_viewer?format=json&width=2&op=${largest.instructionName}`,
  )
  const drawn = page.getByRole('group', { name: /^Graph of/ }).getByRole('button')
  await expect.poll(async () => (await drawn.evaluateAll((all) => all.map((one) => one.querySelector('title')!.textContent!.split(':')[0]))).sort())
    .toEqual(nodes.map((node) => node.name).sort())
  await expectAccessible(page)
  // Its body opens in the graph, the address brings that back, and it closes.
  const body = nodes.find((node) => node.name === largest.instructionName)!.called![0]!
  const inside = await getJson<{ nodes: { name: string }[] }>(server, `/profiles/gpt/tools/graph_viewer?format=json&op=${body}`)
  await details().getByRole('button', { name: 'Open fusion' }).click()
  const isOpen = async () => {
    await page.getByRole('button', { name: 'Show all' }).click() // only what is visible is drawn
    return (await drawn.count()) === nodes.length + inside.nodes.length
  }
  await expect.poll(isOpen).toBe(true)
  await page.reload()
  await expect.poll(isOpen).toBe(true)
  await details().getByRole('button', { name: 'Close fusion' }).click()
  await expect.poll(() => drawn.count()).toBe(nodes.length)
  await details().getByRole('button', { name: 'Fusion alone' }).click()
  await page.getByRole('group', { name: `Graph of ${body}` }).waitFor()
  await page.goBack()
  await expect.poll(() => drawn.count()).toBe(nodes.length)
  await page.getByRole('searchbox', { name: 'Find an instruction' }).fill('gemm_fusion_dot.131')
  await page.getByRole('list', { name: 'Instructions' }).getByRole('button', { name: 'gemm_fusion_dot.131', exact: true }).click()
  await details().getByRole('heading', { name: 'gemm_fusion_dot.131' }).waitFor()
  // Enter takes the first match at once, without waiting for the list.
  const search = page.getByRole('searchbox', { name: 'Find an instruction' })
  await search.fill('wrapped_convert.25')
  await search.press('Enter')
  await details().getByRole('heading', { name: 'wrapped_convert.25' }).waitFor()
  // Also while the list of modules is still on its way, which the search needs.
  let release = () => {}
  const held = new Promise<void>((done) => (release = done))
  await page.route('**/sql', async (route) => {
    if (route.request().postData()?.includes('FROM HloModule')) await held
    await route.continue()
  })
  await page.reload()
  await search.fill('gemm_fusion_dot.131')
  await search.press('Enter')
  release()
  await details().getByRole('heading', { name: 'gemm_fusion_dot.131' }).waitFor()
  await page.unroute('**/sql')
  await search.fill('no such thing')
  await search.press('Enter')
  await page.getByText('No instruction contains “no such thing”.').waitFor()
  await search.fill('gemm_fusion_dot.131')
  await search.press('Enter')
  await expect.poll(() => search.inputValue()).toBe('')
  await drawn.filter({ hasText: 'wrapped_convert.25' }).first().press('Enter') // a neighbor, by the keyboard
  await details().getByRole('heading', { name: 'wrapped_convert.25' }).waitFor()
  await page.getByRole('button', { name: 'Zoom in' }).click()
  // A search that is answered after something else was opened leaves that open.
  const later = new Promise<void>((done) => (release = done))
  await page.route('**/sql', async (route) => {
    await later
    await route.continue()
  })
  await search.fill('wrapped_convert.25')
  await search.press('Enter')
  await page.getByRole('button', { name: 'Whole program' }).click()
  release()
  await page.getByRole('list', { name: 'Instructions' }).waitFor()
  await page.getByText(/684 of 684 instructions/).waitFor()
  await page.unroute('**/sql')
  // Rows of other analyses name the program by its number.
  await page.goto(`${server.url}/profile/gpt?tool=hlo_stats`)
  await grid(page, 'HLO statistics').getByText('loop_add_fusion', { exact: true }).first().click()
  await details().getByRole('button', { name: 'Graph', exact: true }).click()
  await search.fill('wrapped_convert.25')
  await page.getByRole('list', { name: 'Instructions' }).getByRole('button', { name: 'wrapped_convert.25', exact: true }).click()
  await details().getByRole('heading', { name: 'wrapped_convert.25' }).waitFor()
  await done()
})

test('a page without data says what to capture', async () => {
  await open('/profile/cpu?tool=kernel_stats')
  const { tools } = await getJson<{ tools: ToolInfo[] }>(server, '/tools')
  const why = tools.find((one) => one.name === 'kernel_stats')!.why
  await main().getByText(why.slice(1)).waitFor()
  for (const name of ['inference_profile', 'megascale_stats', 'perf_counters', 'pod_viewer'] as Tool[]) {
    await tool(name)
    await main().getByText('Nothing to show.').waitFor()
  }
  await done()
})

test.each(['cpu', 'gpt', 'tpu', 'neuron'])('pages of %s without data are gray, with the reason', async (profile) => {
  await open(`/profile/${profile}?tool=overview_page`)
  const { tools } = await getJson<{ tools: ToolInfo[] }>(server, `/profiles/${profile}/tools`)
  const color = (name: Tool) => nav().getByRole('button', { name: TOOL_TITLES[name], exact: true }).evaluate((one) => getComputedStyle(one).color)
  const normal = await color('overview_page')
  for (const { name, why, is_empty } of tools as (ToolInfo & { name: Tool })[]) {
    await tool(name)
    await expect.poll(() => main().getByText('Loading…').count()).toBe(0)
    expect([name, (await main().getByText('Nothing to show.').count()) > 0]).toEqual([name, is_empty])
    expect((await color(name)) !== normal).toBe(is_empty)
    if (is_empty) expect(await nav().getByRole('button', { name: TOOL_TITLES[name], exact: true }).getAttribute('title')).toBe(`Nothing to show: ${why}.`)
  }
  await done()
})

test.each(['dark', 'light'] as const)('pages are accessible in the %s theme', async (theme) => {
  await open('/profile/gpt?tool=overview_page', { theme })
  const { tools } = await getJson<{ tools: ToolInfo[] }>(server, '/tools')
  const charts: Tool[] = ['hlo_stats', 'roofline_model', 'memory_profile'] // what differs between themes
  // The whole graph has hundreds of nodes, which axe looks at one by one: the test of the graph has a few.
  const all = toolGroups(tools).flatMap((group) => group.tools).filter((name) => name !== 'graph_viewer')
  for (const name of theme === 'dark' ? all : charts) {
    await tool(name)
    await expect.poll(() => main().getByText('Loading…').count()).toBe(0)
    if ((await main().getByText('Nothing to show.').count()) === 0) await expectAccessible(page, theme)
    expect(await main().evaluate((element) => element.outerHTML)).not.toMatch(/NaN|undefined|Infinity|\[object/)
  }
  await done()
})
