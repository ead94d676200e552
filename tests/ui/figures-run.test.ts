// Every figure on the pages of a run of many ranks has an id in the server's catalog, and is what plain DuckDB finds over the results of the
// run by the catalog's query; those of a rank, over its files in the dataset.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FigureGroup } from '../../ui/src/model/figures'
import { MEASURES, type RunReport, type StepAnswer } from '../../ui/src/model/run'
import { Collected, compareFigures } from './figure-walker'
import { closePages, DATA, GENERATOR, KYMO, launch, openPage, Server } from './fixtures'
import { getJson } from './tab-helpers'

const FAULTS = ['--clocks', '1e6:5', '--straggler', 'kernel:5:1.3:10', '--lost-start', '3:7', '--lost-rank', '9', '--slow-link', 'dp_1:2.5']
const REAL = 551 // a step of the real ranks

let folder: string
let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }
let groups: FigureGroup[]

function run(program: string, ...options: string[]) {
  const made = spawnSync(program, options)
  if (made.status !== 0) throw new Error(`${program}: ${made.error ?? made.stderr}`)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-run-figures-'))
  const runs = join(folder, 'runs')
  run(GENERATOR, '--run', 'night', '--ranks', '16', '--steps', '200', '--machine-ranks', '4', '--tensor', '2', '--pipeline', '2', ...FAULTS, runs)
  for (const [rank, file] of ['recommender_rank', 'recommender_rank1'].entries())
    run(KYMO, 'fleet', 'add', runs, join(DATA, `kineto/${file}.json.gz`), '--run', 'real', '--rank', String(rank))
  server = await Server.over(join(folder, 'data'), [runs])
  browser = await launch({ webgl: false })
  groups = (await getJson<{ groups: FigureGroup[] }>(server, '/figures')).groups
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const PAGE = '.page'
const drawn = () => page.locator('canvas[data-complete=true]').first().waitFor()
const ofRun = (name: string) => new Collected(server, groups, name, { path: `/runs/runs/${name}`, folder: join(folder, 'runs/_analysis', name) })

/** Hovers over a place of the picture, both as shares of it. */
async function hover(across: number, down: number) {
  const canvas = page.locator('canvas').first()
  const box = (await canvas.boundingBox())!
  await canvas.hover({ position: { x: 74 + (box.width - 74) * across, y: (box.height - 22) * down } })
  await page.getByRole('tooltip').waitFor()
}

async function expectAllRight(collected: Collected, least: number) {
  expect(collected.strays).toEqual([])
  expect(collected.figures.length).toBeGreaterThan(least)
  expect(compareFigures([collected])).toEqual([])
  expect(page.consoleErrors).toEqual([])
}

test('every figure of a run, its steps and its heat map is what its query gives', async () => {
  const collected = ofRun('night')
  page = await openPage(browser, `${server.url}/?run=runs/night`)
  await drawn()
  await page.getByRole('heading', { name: 'What if' }).waitFor()
  for (const measure of MEASURES) {
    await page.getByLabel('Measure').selectOption(measure)
    await page.getByTestId('scale-high').locator(`[data-key*='"${measure}"']`).waitFor()
    await drawn()
    await hover(100.5 / 200, 5.5 / 15)
    await collected.read(page, `measure ${measure}`, PAGE)
  }
  await page.getByLabel('Measure').selectOption('excess')
  await page.getByLabel('Order of ranks').selectOption('cluster')
  await page.locator('[data-figure="run.clusters.lanes"]').first().waitFor()
  await page.setViewportSize({ width: 300, height: 700 }) // cells of several steps
  await drawn()
  await hover(0.2, 0.01)
  await page.locator('[data-figure="run.cell.mean_ns"]').waitFor()
  await collected.read(page, 'cells of several steps', PAGE)
  await page.setViewportSize({ width: 1280, height: 800 })
  const { path_steps } = await getJson<StepAnswer>(server, '/runs/runs/night/steps/0')
  for (const step of [path_steps[0]!.step, 25]) {
    await page.goto(`${server.url}/?run=runs/night&step=${step}&lane=5&order=slowest&collective=1`)
    await drawn()
    await page.getByText(/came last,/).waitFor()
    await page.getByRole('heading', { name: 'What if' }).waitFor()
    await collected.read(page, `step ${step}`, PAGE)
  }
  const report = await getJson<RunReport>(server, '/runs/runs/night/report')
  const told = collected.figures.filter(({ page: where }) => where === 'step 25')
  for (const column of ['title', 'statement']) expect(told.filter((one) => one.column === column).length).toBe(report.findings.length)
  expect(collected.figures.filter(({ group }) => group.endsWith('run.cell')).length).toBe(MEASURES.length + 2)
  await expectAllRight(collected, 400)
  await page.close()
}, 600_000)

test('every figure of real ranks, which lack much, and of their timelines is what its query gives; so is that of a rank as a profile', async () => {
  const collected = ofRun('real')
  page = await openPage(browser, `${server.url}/?run=runs/real&step=${REAL}&lane=0`)
  await drawn()
  await page.getByText(/Clocks of machines are aligned to about ±/).waitFor()
  await page.getByLabel('Collectives of the step').waitFor()
  await page.getByRole('heading', { name: 'Findings' }).waitFor()
  await page.locator('[data-figure="run.findings.title"]').first().waitFor()
  await collected.read(page, 'step', PAGE)
  const rows = page.getByLabel('Collectives of the step').locator('tbody tr')
  await rows.last().getByRole('button').click()
  await page.getByText(/its ranks end it .* apart|came last,/).waitFor()
  await collected.read(page, 'collective', PAGE)
  await expectAllRight(collected, 40)
  expect(await page.locator('[data-figure="run.findings.cost_ns"]').count()).toBe(0) // unknown, not 0

  const tables = join(folder, 'rank')
  const rank = new Collected(server, groups, 'rank', { path: `/profiles/${encodeURIComponent('runs/run=real/rank=1')}`, folder: tables })
  mkdirSync(tables)
  for (const table of readdirSync(join(folder, 'runs'))) {
    const file = join(folder, 'runs', table, 'run=real/instance=rank-1/rank=1/part-0.parquet')
    if (existsSync(file)) symlinkSync(file, join(tables, `${table}.parquet`))
  }
  await page.getByRole('link', { name: 'Open rank 1' }).click()
  await page.getByRole('tab', { name: 'Summary' }).click()
  await page.getByRole('region', { name: 'Summary' }).getByText('Duration', { exact: true }).waitFor()
  await rank.read(page, 'summary', '[role=region][aria-label=Summary]')
  await expectAllRight(rank, 40)
  await page.close()
}, 600_000)

test('? tells the query of a figure, and of the cell that is pointed at; it can be copied', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night`)
  await drawn()
  await hover(0.5, 0.5)
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Largest' })
  await dialog.getByText('kymo sql runs/night -').waitFor()
  const query = dialog.getByLabel('Query')
  expect(await query.innerText()).toContain('"max_ns"')
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text: string) => void (document.title = text) } }))
  await dialog.getByRole('button', { name: 'Copy query' }).click()
  await dialog.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.title()).toContain('"max_ns"')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
