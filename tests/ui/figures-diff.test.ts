// Every figure of the page that compares two profiles has an id in the server's catalog, and is what plain DuckDB finds over both.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FigureGroup } from '../../ui/src/model/figures'
import { closePages, launch, openPage, Server } from './fixtures'
import { CollectedDiff, compareFigures } from './figure-walker'
import { getJson } from './tab-helpers'

let server: Server
let browser: Browser
let groups: FigureGroup[]

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
  groups = (await getJson<{ groups: FigureGroup[] }>(server, '/figures')).groups
})

afterAll(async () => {
  await closePages(browser)
})

/** What ? shows of the step time of B. */
async function askHelp(page: Page): Promise<void> {
  await page.locator('[data-figure="diff.b_ns"]').first().hover()
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Step time of B' })
  await dialog.getByText('Mean step time of B').waitFor()
  expect(await dialog.getByLabel('Query').innerText()).toContain('FROM b.StepBreakdown')
  expect(await dialog.getByRole('button', { name: 'Open in SQL' }).count(), 'the SQL tab is of one profile').toBe(0)
  await page.keyboard.press('Escape')
}

test('every figure of two profiles compared is what its query gives', async () => {
  const all: CollectedDiff[] = []
  for (const [a, b] of [['gpt', 'matmul'], ['torch', 'gpt']] as const) {
    const collected = new CollectedDiff(server, groups, a, b)
    all.push(collected)
    const page = await openPage(browser, `${server.url}/?view=diff&a=${a}&b=${b}`, { width: 1600, height: 1200 })
    const kinds = page.getByLabel('Kind of rows')
    await kinds.waitFor()
    for (const kind of await kinds.locator('option').evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value))) {
      await kinds.selectOption(kind)
      await page.locator(`[data-figure="diff.${kind}.a"]`).first().waitFor()
      await collected.read(page, kind, 'main')
    }
    await askHelp(page)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  }
  expect(all.flatMap(({ strays }) => strays)).toEqual([])
  expect(all.reduce((sum, { figures }) => sum + figures.length, 0)).toBeGreaterThan(1000)
  expect(compareFigures(all)).toEqual([])
}, 300_000)
