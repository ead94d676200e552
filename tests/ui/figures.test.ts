// Every figure on the pages has an id in the server's catalog, and is what plain DuckDB finds by the catalog's query.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOOL_TITLES, type Tool, type ToolInfo } from '../../ui/src/model/analysis'
import { findFigure, type FigureGroup } from '../../ui/src/model/figures'
import { makeDeviceProfile, run } from './device-server'
import { CAPTURES, closePages, DATA, launch, openPage, ROOT, Server, type CaptureName } from './fixtures'
import { getJson } from './tab-helpers'

interface Shown {
  id: string
  key: Record<string, unknown>
  text: string
}

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

/** The figures in an element, and what looks like one but has no id. Names, code, axes and what can be chosen are none. */
function readFigures(selector: string): { figures: Shown[]; strays: string[] } {
  const root = document.querySelector(selector)!
  const figures = [...root.querySelectorAll<HTMLElement>('[data-figure]')].map((element) => ({
    id: element.dataset.figure!, key: JSON.parse(element.dataset.key ?? '{}') as Record<string, unknown>, text: element.textContent!.trim(),
  }))
  const unit = '(?:%|[pnµm]?s|[kMGT]?B(?:/s)?|[kMGTP]?FLOP(?:/s|/B)?|GHz)'
  const number = new RegExp(`^[<≈-]?\\s*[\\d,]*\\.?\\d+$|(?:^|[\\s(])-?\\d[\\d,.]* ${unit}(?![\\w/])`)
  const strays: string[] = []
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const parent = texts.currentNode.parentElement!
    if (parent.closest('[data-figure], [data-name], .name, code, select, svg, h1, h2, h3, style') || !number.test(texts.currentNode.textContent!.trim())) continue
    strays.push(`${parent.className}: ${texts.currentNode.textContent!.trim()}`)
  }
  return { figures, strays }
}

/** Figures of one profile, page by page. */
class Collected {
  readonly queries: Record<string, string> = {}
  readonly figures: (Shown & { page: string; group: string; column: string; unit: string })[] = []
  readonly strays: string[] = []

  constructor(readonly name: string) {}

  async read(where: string, selector: string): Promise<void> {
    const { figures, strays } = await page.evaluate(readFigures, selector)
    this.strays.push(...strays.map((stray) => `${this.name} ${where}: ${stray}`))
    for (const shown of figures) {
      const found = findFigure(groups, shown.id)
      if (!found) {
        this.strays.push(`${this.name} ${where}: ${shown.id} is not in the catalog`)
        continue
      }
      const { group, definition } = found
      // What depends on what was chosen on the page, the page alone knows.
      if (group.id === 'computed') continue // of what no table holds
      const query = /^chart\.|^op_profile\./.test(group.id) ? `${where}: ${group.id}` : group.id
      this.queries[query] ??= query === group.id ? await this.ask(group.id) : await queryOnPage(shown.id)
      this.figures.push({ ...shown, page: where, group: query, column: definition.column, unit: definition.unit })
    }
  }

  private async ask(group: string): Promise<string> {
    return (await getJson<{ query: string }>(server, `/profiles/${this.name}/figures/${group}`)).query
  }

  get folder(): string {
    return join(server.workspace, 'profiles/global', `${this.name}@latest`)
  }
}

/** The query of a figure's group, as the page tells it. */
async function queryOnPage(id: string): Promise<string> {
  await page.locator(`[data-figure="${id}"]`).first().hover()
  await page.keyboard.press('?')
  const query = (await page.getByRole('dialog').getByLabel('Query').getAttribute('data-query'))!
  await page.keyboard.press('Escape')
  return query
}

function compare(all: Collected[]): string[] {
  const input = JSON.stringify(all.map(({ name, folder, queries, figures }) => ({ name, folder, queries, figures })))
  const done = spawnSync(join(ROOT, '.venv/bin/python'), [join(ROOT, 'tests/ui/check_figures.py')], { input, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (done.status !== 0) throw new Error(done.stderr)
  return done.stdout.split('\n').filter(Boolean)
}

test('every figure of the summary and of the analyses is what its query gives', async () => {
  const all: Collected[] = []
  for (const name of [...Object.keys(CAPTURES), ...Object.keys(OTHERS), 'device']) {
    const { tools } = await getJson<{ tools: ToolInfo[] }>(server, `/profiles/${name}/tools`)
    const collected = new Collected(name)
    all.push(collected)
    page = await openPage(browser, `${server.url}/profile/${name}?tab=summary&panel=maximized`, { width: 1600, height: 1200 })
    await page.getByRole('region', { name: 'Summary' }).getByText('Duration', { exact: true }).waitFor()
    await collected.read('summary', '[role=region][aria-label=Summary]')
    for (const tool of tools.filter(({ is_empty }) => !is_empty).map((one) => one.name as Tool)) {
      if (['graph_viewer', 'memory_viewer'].includes(tool)) continue
      await page.goto(`${server.url}/profile/${name}?tool=${tool}`)
      const main = page.getByRole('main', { name: TOOL_TITLES[tool], exact: true })
      await main.waitFor()
      await main.getByText('Loading…').waitFor({ state: 'detached' })
      await page.waitForLoadState('networkidle')
      await collected.read(tool, '.analysis main')
    }
    expect(page.consoleErrors).toEqual([])
    await page.close()
  }
  expect(all.flatMap(({ strays }) => strays).filter((stray) => !stray.includes('up to'))).toEqual([])
  expect(all.reduce((sum, { figures }) => sum + figures.length, 0)).toBeGreaterThan(2000)
  expect(compare(all)).toEqual([])
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
