// The screens of Neuron's guides, under their headings: what a reader clicks works as told. One server, one page, and one capture: a graph
// that gathers rows on two workers, with an index out of bounds.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { run } from './device-server'
import { closePages, DATA, expectAccessible, launch, openPage, Server } from './fixtures'
import { ask, setTheme } from './tab-helpers'
import { canvasBox, complete, spanOf } from './timeline-page'

const GRAPH = {
  name: 'rows', ranks: 2, inputs: [{ name: 'i', shape: [8], dtype: 'int32' }, { name: 't', shape: [16, 32] }],
  ops: [{ name: 'g', op: 'gather', inputs: ['t', 'i'] }, { name: 'y', op: 'all_reduce', inputs: ['g'] }], outputs: ['y'],
}

let server: Server
let browser: Browser
let folder: string
let page: Page & { consoleErrors: string[] }

const view = (...words: string[]) => run(['view', ...words, '--data-path', join(folder, 'workspace'), '--ingest-only'])
const parameter = (name: string) => new URL(page.url()).searchParams.get(name)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-guides-'))
  const capture = join(folder, 'output')
  writeFileSync(join(folder, 'rows.json'), JSON.stringify(GRAPH))
  writeFileSync(join(folder, 'i.raw'), new Uint8Array(Int32Array.of(0, 1, 2, 99, 4, 5, 6, 7).buffer))
  run(['neff', 'build', join(folder, 'rows.json'), '-o', join(folder, 'rows.neff')])
  run(['capture', '-n', join(folder, 'rows.neff'), '-s', join(capture, 'profile.ntff'), '-r', '2', '--ignore-exec-errors', 'i', join(folder, 'i.raw')],
    { NEURON_RT_INSPECT_ENABLE: '1', NEURON_RT_INSPECT_OUTPUT_DIR: capture })
  view('-n', join(folder, 'rows.neff'), '-d', capture, '--display-name', 'rows')
  server = await Server.over(join(folder, 'workspace'))
  browser = await launch({ webgl: false })
  page = await openPage(browser, server.url, { width: 1440, height: 1000, allow: /WebGL/ })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

afterEach(() => expect(page.consoleErrors).toEqual([]))

describe('Capture and View Profiles in Neuron Explorer', () => {
  test('Profile Manager: Processing Status', async () => {
    await page.goto(server.url)
    await page.getByRole('link', { name: 'rows', exact: true }).first().waitFor()
    view(join(DATA, 'xplane/jax_cpu.xplane.pb'), '--display-name', 'later')
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('row', { name: /later/ }).getByText('Ready').waitFor({ timeout: 5000 }) // the list itself asks every 10 s
  })

  test('Profile Manager: Listing profiles', async () => {
    await page.getByRole('button', { name: 'Rename later' }).click()
    await page.getByRole('dialog', { name: 'Rename' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Favorite: later' }).click()
    await page.getByRole('button', { name: 'Favorite: later', pressed: true }).waitFor()
    for (const theme of ['dark', 'light'] as const) {
      await setTheme(page, theme)
      await expectAccessible(page, theme)
    }
    await page.getByRole('button', { name: 'Summary of later' }).click()
    await page.getByRole('region', { name: 'Summary' }).getByRole('heading', { name: 'Findings' }).waitFor()
    await expect.poll(() => parameter('panel')).toBe('maximized')
    await page.goto(`${server.url}/profile/rows`) // how one is looked at is not how the next is opened
    await complete(page)
    expect(parameter('panel')).toBeNull()
  })
})

describe('Neuron Profile User Guide', () => {
  test('Viewing profiles for multi-worker jobs', async () => {
    await page.goto(`${server.url}/profile_cc/rows_ranks`)
    const tabs = page.getByRole('tablist', { name: 'Ranks' }).getByRole('tab')
    await expect.poll(() => tabs.allTextContents()).toEqual(['All ranks', 'Rank 0', 'Rank 1'])
    await tabs.nth(2).click()
    await expect.poll(() => parameter('rank')).toBe('1')
    expect(new URL(page.url()).pathname).toBe('/profile_cc/rows_ranks')
  })

  test('Features: a right click drops a marker, and a tap of a key moves the view and its address', async () => {
    await page.goto(`${server.url}/profile/rows_profile_rank_1`)
    await complete(page)
    const box = await canvasBox(page)
    for (const share of [0.3, 0.6]) await page.mouse.click(box.x + share * box.width, box.y + box.height - 40, { button: 'right' })
    await page.keyboard.press('Escape')
    await expect.poll(() => parameter('markers')?.split('~').length).toBe(2)
    await page.getByRole('button', { name: /^Marker M2/ }).waitFor()
    for (const [key, least] of [['w', 0.3], ['w', 0.3], ['d', 0.1], ['a', 0.1], ['s', 0.3]] as const) {
      const before = await spanOf(page)
      await page.keyboard.press(key)
      await expect.poll(async () => {
        const now = await spanOf(page)
        return Math.max(Math.abs(now.from - before.from), Math.abs(now.to - before.to)) / (before.to - before.from)
      }, { message: key }).toBeGreaterThan(least / 2)
      await complete(page)
      const { from, to } = await spanOf(page)
      await expect.poll(() => parameter('span'), { message: key }).toBe(`${from}-${to}`)
    }
  })

  test('Hardware Errors', async () => {
    const [[id, text, title]] = (await ask(server, 'rows_profile_rank_1', 'SELECT id, metadata, description FROM Error')) as [[number, string, string]]
    await page.goto(`${server.url}/profile/rows_profile_rank_1`)
    await complete(page)
    await page.getByRole('region', { name: 'Summary' }).getByRole('listitem').first().getByRole('heading', { name: 'An execution failed' }).waitFor()
    expect(await page.getByRole('button', { name: 'Minimal' }).getAttribute('aria-pressed')).toBe('true')
    await page.locator('.names .row', { hasText: 'Custom Notification' }).waitFor()
    const mark = page.locator(`[data-testid="timeline-box"][data-title="${title}"]`)
    await mark.waitFor()
    const { width, height } = (await mark.boundingBox())!
    expect(width).toBeGreaterThanOrEqual(2)
    expect(height).toBeGreaterThanOrEqual(15)
    const tag = page.getByRole('button', { name: new RegExp(`^${title}: DMA descriptor`) })
    await tag.hover()
    await page.getByRole('tooltip').getByText(text).waitFor()
    await tag.click()
    await expect.poll(() => parameter('event')).toBe(`s${id}`)
    expect(parameter('span')).toBeNull() // an instant is not zoomed to
    const details = page.getByRole('region', { name: 'Details' })
    await details.getByText(text).waitFor()
    await details.getByText('Custom Notification', { exact: true }).waitFor()
  })
})

describe('Neuron Profiler 2.0 (Beta) User Guide', () => {
  test('Neuron Profiler System Profile UI', async () => {
    await page.goto(`${server.url}/profile/rows`)
    await complete(page)
    await page.getByRole('button', { name: 'Device profiles' }).first().click()
    const dialog = page.getByRole('dialog', { name: /Device profiles/ })
    const graph = dialog.locator('tbody')
    await expect.poll(() => graph.count()).toBe(1) // a graph, on two cores
    expect(await graph.getByRole('rowheader').allInnerTexts()).toEqual(['rows', ''])
    expect(await graph.getByRole('row').evaluateAll((rows) => rows.map((row) => (row as HTMLTableRowElement).cells[1]!.innerText))).toEqual(['0', '1'])
    const [tab] = await Promise.all([page.waitForEvent('popup'), graph.getByRole('link').nth(1).click()])
    await expect.poll(() => new URL(tab.url()).pathname).toBe('/profile/rows_profile_rank_1')
    await tab.close()
    await expectAccessible(page)
  })
})
