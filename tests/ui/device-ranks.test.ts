// Device profiles that are uploaded: a NEFF with its NTFF whose timeline has a warning, one with an archive of its source files, and a
// directory of four ranks with collectives.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { run } from './device-server'
import { closePages, DATA, expectAccessible, launch, openPage, ROOT, Server } from './fixtures'
import { ask, cells, grid } from './tab-helpers'
import { complete } from './timeline-page'

const SLOW = 30_000
const RANKS = 4

let server: Server
let browser: Browser
let folder: string
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-ranks-'))
  mkdirSync(join(folder, 'ranks'))
  const capture = (graph: string, neff: string, ntff: string) => {
    run(['neff', 'build', graph, '-o', join(folder, neff)])
    run(['capture', '-n', join(folder, neff), '-s', join(folder, ntff)])
  }
  capture(join(DATA, 'device/warnings.json'), 'model.neff', 'profile.ntff')
  capture(join(ROOT, 'examples/collectives.json'), 'ranks/model.neff', 'ranks/profile.ntff')
  capture(join(DATA, 'device/step.hlo.pb'), 'step.neff', 'step.ntff')
  if (spawnSync('tar', ['-C', join(DATA, 'device'), '-czf', join(folder, 'model.tar.gz'), 'model']).status !== 0) throw new Error('tar failed')
  server = await Server.over(join(folder, 'workspace'))
  browser = await launch({ webgl: false })
  page = await openPage(browser, server.url, { width: 1440, height: 1400, allow: /WebGL/ })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

afterEach(() => expect(page.consoleErrors).toEqual([]))

async function upload(button: string, paths: string | string[], name: string): Promise<void> {
  await page.goto(server.url)
  await page.getByRole('button', { name: 'Upload Profile', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Upload Profile' })
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), dialog.getByRole('button', { name: button }).click()])
  await chooser.setFiles(paths)
  await dialog.getByRole('textbox', { name: 'Profile name' }).fill(name)
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
  await row.getByText('Ready', { exact: true }).waitFor({ timeout: SLOW })
  await row.getByRole('link', { name, exact: true }).click()
  await complete(page)
}

const boxes = (title: string) => page.locator(`[data-testid="timeline-box"][data-title="${title}"]`)
const lanes = () => page.locator('.names .row').evaluateAll((rows) => rows.map((row) => row.querySelector('.label')?.textContent?.trim() ?? ''))

test('a NEFF and its NTFF: a warning is a box around the loads, and tells why', async () => {
  await upload('Individual Files', [join(folder, 'model.neff'), join(folder, 'profile.ntff')], 'one')
  await page.getByRole('button', { name: 'Minimal' }).click()
  const title = 'Tensor loaded more than twice'
  await boxes(title).waitFor()
  const [[start, duration, statement, from, to]] = (await ask(server, 'one', `SELECT start_ts, duration_ns, statement, (SELECT min(start_ts) FROM DmaPacket WHERE variable = 'w'),
    (SELECT max(end_ts) FROM DmaPacket WHERE variable = 'w') FROM PerformanceWarning`)) as [[number, number, string, number, number]]
  expect([start, start + duration]).toEqual([from, to])
  const tag = page.getByRole('button', { name: new RegExp(`^${title}: w is loaded to SBUF 3.0 times`) })
  await tag.hover()
  await page.getByRole('tooltip').getByText(statement).waitFor()
  await tag.click()
  await expect.poll(() => new URL(page.url()).searchParams.get('span')).not.toBeNull()
})

test('a NEFF, its NTFF and an archive of source files: the lines of instructions are shown', async () => {
  await upload('Individual Files', ['step.neff', 'step.ntff', 'model.tar.gz'].map((name) => join(folder, name)), 'sources')
  const stored = (await ask(server, 'sources', 'SELECT name, kind FROM SourceFile ORDER BY name')) as [string, string][]
  expect(stored.map(([name]) => name.split('/').slice(-2).join('/'))).toEqual(['kernels/softmax.py', 'model/train.py'])
  const file = stored[1]![0]
  await page.goto(`${server.url}/profile/sources?tab=source&file=${encodeURIComponent(file)}`)
  const text = readFileSync(join(DATA, 'device/model/train.py'), 'utf8').split('\n')
  const [[line]] = (await ask(server, 'sources', `SELECT min(split_part(bir_debug_info_source_location, ':', -1)::INT) FROM Instruction
    WHERE bir_debug_info_source_location LIKE '${file}:%'`)) as [[number]]
  const shown = page.getByRole('region', { name: `Source of ${file}` }).locator(`[data-line="${line}"]`)
  await expect.poll(() => shown.locator('code').innerText()).toBe(text[line - 1])
  await shown.getByRole('button').waitFor()
})

test('an archive that is cut off is refused in the dialog', async () => {
  const damaged = join(folder, 'damaged.tar.gz')
  writeFileSync(damaged, readFileSync(join(folder, 'model.tar.gz')).subarray(0, 300))
  await page.goto(server.url)
  await page.getByRole('button', { name: 'Upload Profile', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Upload Profile' })
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), dialog.getByRole('button', { name: 'Individual Files' }).click()])
  await chooser.setFiles([join(folder, 'step.neff'), damaged])
  await dialog.getByRole('alert').filter({ hasText: 'damaged.tar.gz: ' }).waitFor()
})

test('a directory of ranks: tabs, a box around each collective, and collectives across ranks', async () => {
  await upload('Directory Upload', join(folder, 'ranks'), 'ranks')
  const tabs = page.getByRole('tablist', { name: 'Ranks' }).getByRole('tab')
  await expect.poll(() => tabs.allTextContents()).toEqual(['All ranks', ...Array.from({ length: RANKS }, (_, rank) => `Rank ${rank}`)])
  const engines = async () => (await lanes()).filter((label) => label === 'Vector').length
  expect(await engines()).toBe(RANKS)
  await tabs.nth(3).click()
  await expect.poll(engines).toBe(1)
  const [[reductions]] = (await ask(server, 'ranks', "SELECT count(*) FROM CcOp WHERE rank = 2 AND operation = 'AllReduce'")) as [[number]]
  await expect.poll(() => boxes('AllReduce').count()).toBe(reductions)
  // Of boxes that overlap, some have no room for their names; which these are depends on how the ranks met.
  const named = page.getByRole('button', { name: /^\w+: .*rank 2 of ranks 0, 1, 2, 3/ }).first()
  const operation = /^\w+/.exec((await named.getAttribute('aria-label'))!)![0]
  await named.click()
  const events = (await ask(server, 'ranks', `SELECT id FROM CcOp WHERE rank = 2 AND operation = '${operation}'`)) as [number][]
  await expect.poll(() => new URL(page.url()).searchParams.get('event')).toBeOneOf(events.map(([event]) => `s${event}`))

  await page.getByRole('tab', { name: 'Ranks', exact: true }).click()
  await page.getByText('No rank waited for another.').waitFor()
  expect((await cells(page, 'Ranks')).length).toBe(RANKS)
  await page.getByLabel('Show', { exact: true }).selectOption('skew')
  const [[matched]] = (await ask(server, 'ranks', 'SELECT count(*) FROM CollectiveSkew')) as [[number]]
  await page.getByText(`${matched} rows`).waitFor()
  await grid(page, 'Ranks').getByText('Permute', { exact: true }).waitFor()
  await expectAccessible(page)
})
