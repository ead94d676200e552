// Every figure of the tabs with tables has an id in the server's catalog, and is what plain DuckDB finds by the catalog's query. One page,
// in which the tabs are changed. Results in the SQL tab are left out: their query is what the user wrote.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FigureGroup } from '../../ui/src/model/figures'
import { JAX_SOURCES, JAX_STEP, makeCollectives, makeDeviceProfile } from './device-server'
import { closePages, launch, openPage, Server } from './fixtures'
import { Collected, compareFigures } from './figure-walker'
import { getJson } from './tab-helpers'

const PANEL = '#tab-panel'

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }
let groups: FigureGroup[]

beforeAll(async () => {
  server = await Server.start(['gpt', 'torch', 'tpu'], ['--framework-source-root', JAX_SOURCES])
  makeDeviceProfile(server.workspace, 'step', JAX_STEP, ['--framework-source-root', JAX_SOURCES, '--enable-memory-tracker'])
  makeCollectives(server.workspace, 'gather')
  browser = await launch({ webgl: false })
  groups = (await getJson<{ groups: FigureGroup[] }>(server, '/figures')).groups
  page = await openPage(browser, `${server.url}/profile/gpt?tab=steps&panel=maximized`, { width: 2400, height: 480, allow: /WebGL|status of (404|503)/ })
  page.setDefaultTimeout(20_000)
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

/** What a tab shows once all of it has been loaded. */
async function read(collected: Collected, where: string, selector = PANEL): Promise<void> {
  await page.waitForFunction(() => {
    const panel = document.querySelector('#tab-panel')
    return panel?.querySelector('[data-figure]') && !panel.querySelector('.notice.loading') && !panel.textContent!.includes('Loading…')
  })
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur()) // "?" would be typed
  await collected.read(page, where, selector)
}

const select = (name: string) => page.locator(PANEL).getByLabel(name, { exact: true })
const valuesOf = (name: string) => select(name).locator('option').evaluateAll((options) => options.map((one) => (one as HTMLOptionElement).value))

async function openTab(name: string): Promise<void> {
  await page.locator(`#tab-${name}`).click()
}

/** Each tab with each of its choices. */
const TABS: Record<string, (collected: Collected) => Promise<void>> = {
  async operators(collected) {
    for (const source of (await valuesOf('Show')).reverse()) {
      await select('Show').selectOption(source)
      await read(collected, `operators ${source}`)
    }
    await select('Filter Operations').fill('1') // opens groups
    for (const group of (await valuesOf('Group by')).slice(1)) {
      await select('Group by').selectOption(group)
      await read(collected, `operators by ${group}`)
    }
  },
  async kernels(collected) {
    await read(collected, 'kernels')
    await select('One row per launch configuration').check()
    await read(collected, 'kernels by configuration')
    await select('Show').selectOption('copies')
    await read(collected, 'copies')
  },
  steps: (collected) => read(collected, 'steps'),
  async markers(collected) {
    for (let count = 0; count < 2; count++) await page.getByRole('button', { name: 'Add marker' }).click()
    await read(collected, 'markers')
  },
  async source(collected) {
    for (const [at, file] of (await page.getByRole('list', { name: 'Files' }).getByRole('button').all()).entries()) {
      await file.click()
      await page.locator('.file .path').waitFor()
      await read(collected, `source ${at}`)
    }
  },
  async sql(collected) {
    await read(collected, 'sql', `${PANEL} .table .bar`)
    await read(collected, 'sql tables', `${PANEL} aside`)
  },
  async tables(collected) {
    for (const table of await page.getByRole('navigation', { name: 'Tables' }).getByRole('button').all()) {
      await table.click()
      const name = await table.locator('.name').innerText()
      await page.locator(`[role=grid][aria-label="${name}"]`).waitFor()
      await read(collected, `tables ${name}`, `${PANEL} .rows`)
    }
    await read(collected, 'tables', `${PANEL} nav`)
  },
  async layers(collected) {
    await select('Filter Layers').fill('1')
    await read(collected, 'layers')
  },
  map: (collected) => read(collected, 'map'),
}

/** Tabs of device profiles that show tables. */
async function deviceTable(collected: Collected, tab: string): Promise<void> {
  const views = (await select('Show').count()) > 0 ? await valuesOf('Show') : ['']
  for (const view of views) {
    if (view) await select('Show').selectOption(view)
    await read(collected, `${tab} ${view}`)
  }
}

test('every figure of the tabs is what its query gives', async () => {
  const all: Collected[] = []
  const walk = async (name: string, tabs: string[]) => {
    await page.goto(`${server.url}/profile/${name}?tab=${tabs[0]}&panel=maximized&sql=SELECT+1`)
    const collected = new Collected(server, groups, name)
    all.push(collected)
    for (const tab of tabs) {
      await openTab(tab)
      await page.waitForFunction(() => document.querySelector('#tab-panel')!.textContent!.trim() !== '' && !document.querySelector('#tab-panel .notice.loading'))
      await (TABS[tab]?.(collected) ?? deviceTable(collected, tab))
    }
    expect(page.consoleErrors).toEqual([])
  }
  await walk('gpt', ['operators', 'kernels', 'steps', 'markers', 'source', 'sql', 'tables'])
  await walk('torch', ['operators', 'kernels', 'steps'])
  await walk('tpu', ['operators', 'steps'])
  await walk('step', ['layers', 'tensors', 'queues', 'memory', 'map', 'neff', 'terms', 'source', 'tables'])
  await walk('gather_ranks', ['ranks', 'layers', 'tensors', 'neff'])
  expect(all.reduce((sum, { figures }) => sum + figures.length, 0)).toBeGreaterThan(2000)
  expect([...all.flatMap(({ strays }) => strays), ...compareFigures(all)]).toEqual([])
}, 600_000)
