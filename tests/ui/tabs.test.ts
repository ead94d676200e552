// The tabs below the timeline: navigation, tables, and their numbers against the profile.
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { amount, ask, cells, grid, setTheme } from './tab-helpers'

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
const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)

/** Runs an action and returns the file it downloads. */
async function saved(page: Page, work: () => Promise<void>): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), work()])
  return readFileSync(await download.path(), 'utf8')
}

describe('the tab list', () => {
  test('is navigated with the arrow keys; the URL and the back button follow', async () => {
    const page = await open('/profile/gpt?tab=operators')
    await page.getByRole('tab', { name: 'Operators' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: 'Kernels', selected: true }).waitFor()
    expect(parameter(page, 'tab')).toBe('kernels')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('tab-kernels')
    await page.keyboard.press('End')
    await page.getByRole('tab', { name: 'Tables', selected: true }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: 'Summary', selected: true }).waitFor()
    await page.goBack()
    await page.getByRole('tab', { name: 'Tables', selected: true }).waitFor()
    expect(await page.getByRole('tabpanel').getAttribute('aria-labelledby')).toBe('tab-tables')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('shows the number of results, selected events and markers, and does not switch tabs on load', async () => {
    const page = await open('/profile/gpt?tab=steps&q=name:fusion_410&box=0-50000000000_8.18&markers=1000!a~2000!b')
    await page.getByRole('tab', { name: 'Search 120' }).waitFor()
    await page.getByRole('tab', { name: 'Markers 2' }).waitFor()
    await page.getByRole('tab', { name: /Selection [\d,]+/ }).waitFor()
    expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('Steps')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})

describe('tables', () => {
  test('are sorted by column headers, with mouse or keyboard', async () => {
    const page = await open('/profile/gpt?tab=kernels')
    const heading = (name: string) => grid(page, 'Kernels').getByRole('columnheader', { name })
    await heading('Total').waitFor()
    expect(await heading('Total').getAttribute('aria-sort')).toBe('descending')
    await heading('Kernel').getByRole('button').click()
    expect(await heading('Kernel').getAttribute('aria-sort')).toBe('ascending')
    const names = (await cells(page, 'Kernels')).map((row) => row[0]!)
    expect(names).toEqual([...names].sort())
    await heading('Count').getByRole('button').focus()
    await page.keyboard.press('Enter')
    expect(await heading('Count').getAttribute('aria-sort')).toBe('descending')
    const counts = (await cells(page, 'Kernels')).map((row) => amount(row[1]))
    expect(counts).toEqual([...counts].sort((a, b) => b - a))
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('are filtered, navigated, copied from and downloaded', async () => {
    const page = await open('/profile/gpt?tab=kernels')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('searchbox', { name: 'Filter Kernels' }).fill('gemm_fusion')
    const [[count]] = (await ask(server, 'gpt', "SELECT count(DISTINCT name) FROM GpuKernel WHERE name LIKE '%gemm\\_fusion%' ESCAPE '\\'")) as [[number]]
    await page.getByText(`${count} kernels`).waitFor()
    const csv = await saved(page, () => page.getByRole('button', { name: 'CSV' }).click())
    const lines = csv.trim().split('\r\n')
    expect(lines).toHaveLength(count + 1)
    expect(lines[0]).toMatch(/^Kernel,Count,Total \(ns\),Share,Mean \(ns\)/)
    expect(lines.slice(1).every((line) => line.includes('gemm_fusion'))).toBe(true)
    await grid(page, 'Kernels').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+c')
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(lines[2]!.split(',')[0])
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('q') === `name:"${lines[2]!.split(',')[0]}"`)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('with forty thousand rows keep only the visible ones in the DOM', async () => {
    const page = await open('/profile/torch?tab=sql&sql=SELECT+id,name+FROM+SystemProfileEvents+ORDER+BY+id')
    const rows = (await ask(server, 'torch', 'SELECT count(*), max(id) FROM SystemProfileEvents')) as [[number, number]]
    await grid(page, 'Result').waitFor()
    expect(await grid(page, 'Result').getAttribute('aria-rowcount')).toBe(String(rows[0][0] + 1))
    await grid(page, 'Result').focus()
    await page.keyboard.press('End')
    await grid(page, 'Result').locator(`[aria-rowindex="${rows[0][0] + 1}"]`).getByText(String(rows[0][1]), { exact: true }).waitFor()
    expect(await grid(page, 'Result').locator('[role=row]').count()).toBeLessThan(80)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})

describe('operators', () => {
  const first = async (page: Page) => (await cells(page, 'Operations'))[0]!

  test('of a JAX profile are its HLO operations', async () => {
    const [row] = await ask(server, 'gpt',
      "SELECT name, count(*), sum(kernel_ns)::DOUBLE, max(kernel_ns) FROM HloRun WHERE kind = 'operation' GROUP BY name, operation_id ORDER BY 3 DESC LIMIT 1")
    const page = await open('/profile/gpt?tab=operators')
    const shown = await first(page)
    expect([shown[0], amount(shown[1]), amount(shown[4]), amount(shown[7])]).toEqual(row)
    expect(amount(shown[2])).toBe(row![2]) // operations on a stream contain no others
    const summary = (await (await fetch(`${server.url}/api/v1/profiles/gpt/summary`)).json()) as {
      operations: { name: string; self_ns: number; share: number }[]
    }
    expect([shown[0], amount(shown[2])]).toEqual([summary.operations[0]!.name, summary.operations[0]!.self_ns])
    expect(amount(shown[3])).toBeCloseTo(summary.operations[0]!.share, 5)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('of a TPU, of PyTorch and of Neuron are those of their events', async () => {
    const of: [string, string][] = [
      ['tpu', "SELECT t.display_name, count(*), sum(e.self_ns)::DOUBLE FROM SystemProfileEvents e JOIN Track k ON k.id = e.track_id JOIN EventType t ON t.id = e.event_type_id WHERE k.role = 'ops' GROUP BY t.display_name, e.name ORDER BY 3 DESC LIMIT 1"],
      ['torch', "SELECT e.name, count(*), sum(self_ns)::DOUBLE FROM SystemProfileEvents e JOIN EventType t ON t.id = e.event_type_id WHERE (t.attributes_json->>'$.cat') = 'cpu_op' GROUP BY 1 ORDER BY 3 DESC LIMIT 1"],
      ['neuron', "SELECT e.name, count(*), sum(self_ns)::DOUBLE FROM SystemProfileEvents e JOIN Track k ON k.id = e.track_id WHERE nc_idx IS NULL AND k.role <> 'counter' GROUP BY 1 ORDER BY 3 DESC LIMIT 1"],
    ]
    for (const [profile, sql] of of) {
      const [row] = await ask(server, profile, sql)
      const page = await open(`/profile/${profile}?tab=operators`)
      const shown = await first(page)
      expect([shown[0], amount(shown[1])], profile).toEqual(row!.slice(0, 2))
      expect(amount(shown[2]), profile).toBeCloseTo(row![2] as number, 2)
      expect(page.consoleErrors).toEqual([])
      await page.close()
    }
  })

  test('are a tree of layers whose parts add up', async () => {
    const [[total]] = (await ask(server, 'gpt', "SELECT sum(kernel_ns)::DOUBLE FROM HloRun WHERE kind = 'operation'")) as [[number]]
    const page = await open('/profile/gpt?tab=operators&panel=maximized', { height: 1400 }) // all layers are in the DOM
    await page.getByRole('combobox', { name: 'Group by' }).selectOption('layer')
    const top = await cells(page, 'Operations')
    expect(top.reduce((sum, row) => sum + amount(row[2]), 0)).toBe(total)
    await grid(page, 'Operations').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowRight')
    const row = grid(page, 'Operations').locator('[aria-rowindex="2"]')
    expect(await row.getAttribute('aria-expanded')).toBe('true')
    const inside = await grid(page, 'Operations').locator('[aria-level="2"]').evaluateAll((rows) =>
      rows.map((one) => one.querySelectorAll('[role=gridcell]')[2]!.getAttribute('title')!),
    )
    expect(inside.reduce((sum, text) => sum + amount(text), 0)).toBe(amount(top[0]![2]))
    await page.keyboard.press('ArrowLeft')
    expect(await row.getAttribute('aria-expanded')).toBe('false')
    for (const group of ['kind', 'module', 'file']) {
      await page.getByRole('combobox', { name: 'Group by' }).selectOption(group)
      expect((await cells(page, 'Operations')).reduce((sum, one) => sum + amount(one[2]), 0)).toBe(total)
    }
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('are not queried again when the tab is reopened', async () => {
    const page = await open('/profile/gpt?tab=operators')
    const before = await cells(page, 'Operations')
    let requests = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/sql')) requests++
    })
    await page.getByRole('tab', { name: 'Markers' }).click()
    await page.getByText('No markers.').waitFor()
    await page.getByRole('tab', { name: 'Operators' }).click()
    expect(await cells(page, 'Operations')).toEqual(before)
    expect(requests).toBe(0)
    await page.getByRole('combobox', { name: 'Show' }).selectOption('all')
    await expect.poll(() => requests).toBe(1)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('a click highlights an operation on the timeline, selects its first run, and keeps the tab', async () => {
    const [[name, id]] = (await ask(server, 'gpt',
      "SELECT name, arg_min(id, start_ts) FROM HloRun WHERE kind = 'operation' GROUP BY name ORDER BY sum(kernel_ns) DESC LIMIT 1")) as [[string, number]]
    const page = await open('/profile/gpt?tab=operators')
    await grid(page, 'Operations').getByText(name, { exact: true }).click()
    await page.waitForURL((url) => url.searchParams.get('event') === `h${id}`)
    expect(parameter(page, 'q')).toBe(`name:"${name}"`)
    expect(parameter(page, 'tab')).toBe('operators')
    await page.getByRole('tab', { name: /^Search \d+/ }).waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})

describe('kernels and steps', () => {
  test('kernels are those of the table, with their launches', async () => {
    const [row] = await ask(server, 'gpt',
      'SELECT name, count(*), sum(duration_ns)::DOUBLE, min(duration_ns), max(duration_ns) FROM GpuKernel GROUP BY name ORDER BY 3 DESC LIMIT 1')
    const [[split]] = (await ask(server, 'torch',
      'SELECT count(*) FROM (SELECT DISTINCT name, grid_x, grid_y, grid_z, block_x, block_y, block_z FROM GpuKernel)')) as [[number]]
    const page = await open('/profile/gpt?tab=kernels')
    const shown = (await cells(page, 'Kernels'))[0]!
    expect([shown[0], amount(shown[1]), amount(shown[2]), amount(shown[5]), amount(shown[6])]).toEqual(row)
    await page.goto(`${server.url}/profile/torch?tab=kernels`)
    await page.getByRole('checkbox', { name: 'One row per launch configuration' }).check()
    await page.getByText(`${split} kernels`).waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('copies have their bandwidth', async () => {
    const [row] = await ask(server, 'torch',
      "SELECT name, count(*), sum(size_bytes)::DOUBLE, sum(size_bytes) / sum(duration_ns) * 1e9 FROM GpuCopy WHERE size_bytes IS NOT NULL GROUP BY name, source_kind, destination_kind ORDER BY sum(duration_ns) DESC LIMIT 1")
    const page = await open('/profile/torch?tab=kernels')
    await page.getByRole('combobox', { name: 'Show' }).selectOption('copies')
    const shown = (await cells(page, 'Copies'))[0]!
    expect([shown[0], amount(shown[2]), amount(shown[8])]).toEqual(row!.slice(0, 3))
    expect(amount(shown[9]) / (row![3] as number)).toBeCloseTo(1, 6)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('the kernel share of a step is the time in which kernels run, never above 100 %', async () => {
    const steps = (await ask(server, 'gpt', 'SELECT id, device_end_ts - device_start_ts FROM Step ORDER BY start_ts, id')) as [number, number][]
    const kernels = (await ask(server, 'gpt', 'SELECT step_id, start_ts, end_ts FROM GpuKernel ORDER BY start_ts')) as [number, number, number][]
    const shares = steps.map(([id, span]) => {
      let [busy, sum, until] = [0, 0, 0]
      for (const [, start, end] of kernels.filter((kernel) => kernel[0] === id)) {
        busy += Math.max(0, end - Math.max(start, until))
        sum += end - start
        until = Math.max(until, end)
      }
      return { busy: busy / span, sum: sum / span }
    })
    expect(Math.max(...shares.map(({ sum }) => sum))).toBeGreaterThan(1) // or a sum would do
    const page = await open('/profile/gpt?tab=steps')
    const shown = (await cells(page, 'Steps')).slice(0, 5).map((row) => parseFloat(row[7]!))
    shown.forEach((share, at) => expect(share).toBeCloseTo(shares[at]!.busy, 4))
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('a click on a step shows all of it', async () => {
    const rows = (await ask(server, 'gpt',
      'SELECT number, start_ts, duration_ns, device_end_ts - device_start_ts, event_id, end_ts, device_end_ts FROM Step ORDER BY start_ts')) as number[][]
    const page = await open('/profile/gpt?tab=steps')
    const shown = await cells(page, 'Steps')
    expect(shown.slice(0, 5).map((row) => [amount(row[1]), amount(row[2]) / 1000, amount(row[3]), amount(row[5])])).toEqual(
      rows.slice(0, 5).map((row) => row.slice(0, 4)),
    )
    await grid(page, 'Steps').locator('[aria-rowindex="4"]').click()
    await page.waitForURL((url) => url.searchParams.get('event') === `s${rows[2]![4]}`)
    const [from, to] = parameter(page, 'span')!.split('-').map(Number) as [number, number]
    expect(from).toBeLessThanOrEqual(rows[2]![1]! * 1000)
    expect(to).toBeGreaterThanOrEqual(Math.max(rows[2]![5]!, rows[2]![6]!) * 1000)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})

test.each([
  ['kernels', 'neuron', 'This profile has no GPU kernels.'],
  ['steps', 'neuron', 'This profile has no steps.'],
  ['source', 'neuron', 'This profile has no source locations.'],
  ['markers', 'cpu', 'No markers.'],
])('the empty %s tab of %s says why', async (tab, profile, words) => {
  const page = await open(`/profile/${profile}?tab=${tab}`)
  await page.getByRole('tabpanel').getByText(words).waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test.each(['dark', 'light'] as const)('every tab is accessible in the %s theme', async (theme) => {
  const page = await open('/profile/gpt?tab=operators&q=name:fusion*&box=0-50000000000_8.18&markers=1000!a~2000!b&sql=FROM+Step', { theme })
  await setTheme(page, theme)
  for (const tab of ['Operators', 'Kernels', 'Steps', 'Selection', 'Search', 'Markers', 'Source', 'SQL', 'Tables']) {
    await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).click()
    await page.getByRole('tabpanel').locator('[role=grid], [role=treegrid], table, .notice:not(.loading)').first().waitFor()
    await expectAccessible(page, theme)
  }
  await page.close()
})
