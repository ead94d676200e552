// Every figure on the pages has an id in the server's catalog, and is what plain DuckDB finds by the catalog's query.
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOOL_TITLES, type Tool, type ToolInfo } from '../../ui/src/model/analysis'
import type { FigureGroup } from '../../ui/src/model/figures'
import { makeDeviceProfile, run } from './device-server'
import { CAPTURES, closePages, DATA, launch, openPage, Server, type CaptureName } from './fixtures'
import { Collected, compareFigures, follow, Requests } from './figure-walker'
import { getJson } from './tab-helpers'

// Kinds of captures that other tests of pages do without: ROCm by XLA and by PyTorch, TensorFlow, a device profile.
const OTHERS = {
  rocm: [join(DATA, 'xplane/rocm_mi300_gemm.xplane.pb')], amd: [join(DATA, 'kineto/amd_mi250.json.gz')], tf: [join(DATA, 'xplane/tf_gpu_worker.xplane.pb')],
}

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }
let groups: FigureGroup[]

beforeAll(async () => {
  server = await Server.start(Object.keys(CAPTURES) as CaptureName[])
  for (const [name, files] of Object.entries(OTHERS)) run(['view', ...files, '--display-name', name, '--data-path', server.workspace, '--ingest-only'])
  makeDeviceProfile(server.workspace, 'device', join(DATA, 'device/step.hlo.pb'))
  browser = await launch({ webgl: false })
  groups = (await getJson<{ groups: FigureGroup[] }>(server, '/figures')).groups
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

test('every figure of the summary and of the analyses is what its query gives', async () => {
  const all: Collected[] = []
  for (const name of [...Object.keys(CAPTURES), ...Object.keys(OTHERS), 'device']) {
    const { tools } = await getJson<{ tools: ToolInfo[] }>(server, `/profiles/${name}/tools`)
    const collected = new Collected(server, groups, name)
    all.push(collected)
    page = await openPage(browser, `${server.url}/profile/${name}?tab=summary&panel=maximized`, { width: 1600, height: 1200 })
    const requests = new Requests(page)
    await page.getByRole('region', { name: 'Summary' }).getByText('Duration', { exact: true }).waitFor()
    await collected.read(page, 'summary', '[role=region][aria-label=Summary]')
    for (const tool of tools.filter(({ is_empty }) => !is_empty).map((one) => one.name as Tool)) {
      await follow(page, `/profile/${name}?tool=${tool}`)
      const main = page.getByRole('main', { name: TOOL_TITLES[tool], exact: true })
      await main.waitFor()
      await main.getByText('Loading…').waitFor({ state: 'detached' })
      await requests.settled()
      await collected.read(page, tool, '.analysis main')
    }
    expect(page.consoleErrors).toEqual([])
    await page.close()
  }
  expect(all.flatMap(({ strays }) => strays)).toEqual([])
  expect(all.reduce((sum, { figures }) => sum + figures.length, 0)).toBeGreaterThan(2000)
  expect(compareFigures(all)).toEqual([])
}, 600_000)

test('? tells what a figure means and opens its query', async () => {
  page = await openPage(browser, `${server.url}/profile/gpt?tab=summary&panel=maximized`)
  const busy = page.locator('[data-figure="summary.devices.busy_share"]').first()
  await busy.hover()
  await expect.poll(() => busy.getAttribute('title')).toContain('Busy time as a share of the capture')
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Busy' })
  await dialog.getByText('busy_ns / summary.span_ns').waitFor()
  const query = dialog.getByLabel('Query')
  await query.waitFor()
  await dialog.getByRole('button', { name: 'Open in SQL' }).click()
  await page.getByRole('tab', { name: 'SQL', selected: true }).waitFor()
  expect(await page.evaluate(() => new URL(location.href).searchParams.get('sql'))).toContain('"busy_share"')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
