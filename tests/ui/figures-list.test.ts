// The list of profiles: every figure has an id in the catalog, and is what plain DuckDB finds by its query for that profile. The glossary
// defines all of them.
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FigureGroup } from '../../ui/src/model/figures'
import { CAPTURES, closePages, DATA, expectAccessible, launch, openPage, Server, type CaptureName } from './fixtures'
import { Collected, compareFigures } from './figure-walker'
import { run } from './device-server'
import { getJson } from './tab-helpers'

const NAMES = [...(Object.keys(CAPTURES) as CaptureName[]), 'tf']

let server: Server
let browser: Browser
let groups: FigureGroup[]

beforeAll(async () => {
  server = await Server.start(Object.keys(CAPTURES) as CaptureName[])
  run(['view', join(DATA, 'xplane/tf_gpu_worker.xplane.pb'), '--display-name', 'tf', '--data-path', server.workspace, '--ingest-only'])
  browser = await launch({ webgl: false })
  groups = (await getJson<{ groups: FigureGroup[] }>(server, '/figures')).groups
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

test('every figure of the list is what its query gives for the profile of the row', async () => {
  const page = await openPage(browser, `${server.url}/`, { width: 1600 })
  await page.locator('[data-profile=tf]').waitFor()
  const all = NAMES.map((name) => new Collected(server, groups, name))
  for (const one of all) await one.read(page, 'list', `[data-profile="${one.name}"]`)
  const nav = new Collected(server, groups, 'gpt')
  await nav.read(page, 'list', 'nav')
  expect([...all, nav].flatMap(({ strays }) => strays)).toEqual([])
  const shown = all.flatMap(({ figures }) => figures)
  expect(new Set(shown.map(({ id }) => id))).toEqual(
    new Set(['summary.step_ns', 'summary.findings.title', 'summary.event_count', 'summary.span_ns', 'summary.device_count']))
  expect(compareFigures(all)).toEqual([])

  const step = page.locator('[data-profile=gpt] .step [data-figure]')
  await step.hover()
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Step time' })
  await dialog.getByLabel('Query').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Open in SQL' }).click()
  await page.getByRole('tab', { name: 'SQL', selected: true }).waitFor()
  expect(page.url()).toContain('/profile/gpt?')
  await page.goBack()
  await page.locator('[data-profile=gpt] .size [data-figure]').hover()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Size' }).getByText('it has no query').waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('the glossary has terms and figures, finds them and names each by its address', async () => {
  const page = await openPage(browser, `${server.url}/`, { width: 390, height: 800, theme: 'light' })
  await page.getByRole('button', { name: 'Help' }).click()
  await page.getByRole('link', { name: 'glossary' }).click()
  const main = page.getByRole('main', { name: 'Glossary' })
  await main.getByRole('heading', { name: 'Terms' }).waitFor()
  const ids = await main.locator('.entry').evaluateAll((all) => all.map(({ id }) => id))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(expect.arrayContaining(groups.flatMap(({ id, figures }) => (id.startsWith('table.') ? [] : figures.map(({ column }) => `${id}.${column}`)))))
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector('main')!.scrollWidth <= innerWidth)).toBe(true)
  await expectAccessible(page, 'light')

  await page.getByRole('searchbox').fill('share busy capture')
  await expect.poll(() => main.locator('.entry').evaluateAll((all) => all.map(({ id }) => id))).toEqual(
    expect.arrayContaining(['summary.devices.busy_share', 'summary.threads.busy_share']))
  await page.getByRole('searchbox').fill('no such thing')
  await main.getByText('Nothing matches “no such thing”.').waitFor()

  await page.goto(`${server.url}/glossary#table.Step.device_ns`)
  await main.locator('.entry.on').waitFor()
  expect(await main.locator('.entry.on').evaluate((one) => [one.id, one.getBoundingClientRect().top < innerHeight])).toEqual(['table.Step.device_ns', true])
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectAccessible(page)

  await page.goto(`${server.url}/profile/gpt?tab=summary&panel=maximized`)
  await page.locator('[data-figure="summary.step_ns"]').first().hover()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByRole('link', { name: 'summary.step_ns' }).click()
  await expect.poll(() => page.url()).toBe(`${server.url}/glossary#summary.step_ns`)
  await main.locator('.entry.on').getByText('How long a step takes').waitFor()
  await page.goBack()
  await page.getByRole('region', { name: 'Summary' }).waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
