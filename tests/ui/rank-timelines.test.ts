// Timelines of ranks at a step of their run: which ranks, that all show the same time of the run, the address, and the full profile.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StepLane, StepLanes } from '../../ui/src/model/rankTimelines'
import type { StepAnswer } from '../../ui/src/model/run'
import { closePages, DATA, expectAccessible, KYMO, launch, openPage, ROOT, Server } from './fixtures'
import { getJson } from './tab-helpers'

const GENERATOR = process.env.GEN_RUN ?? join(ROOT, 'build/release/unit/gen-run')
const STEP = 551

let folder: string
let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

function run(program: string, ...options: string[]) {
  const made = spawnSync(program, options)
  if (made.status !== 0) throw new Error(`${program}: ${made.error ?? made.stderr}`)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-ranks-'))
  const runs = join(folder, 'runs')
  for (const [rank, file] of ['recommender_rank', 'recommender_rank1', 'recommender_rank', 'recommender_rank1'].entries())
    run(KYMO, 'fleet', 'add', runs, join(DATA, `kineto/${file}.json.gz`), '--run', 'night', '--rank', String(rank))
  run(GENERATOR, '--run', 'tables', '--ranks', '8', '--steps', '6', runs)
  server = await Server.over(join(folder, 'data'), [runs])
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const timeline = (rank: number) => page.getByTestId(`timeline-Rank ${rank}`)
const complete = (rank: number) => timeline(rank).and(page.locator('[data-complete=true]')).waitFor()
const shown = () => page.getByRole('group', { name: 'Ranks' }).locator('header strong:first-child, .absent strong').allInnerTexts()
const lanesOf = (...ranks: number[]) => getJson<StepLanes>(server, `/runs/runs/night/steps/${STEP}/lanes?lanes=${ranks}`)

/** What a timeline shows, as times of the run in ns. */
async function visible(lane: StepLane): Promise<[number, number]> {
  const own = async (side: string) => Number(await timeline(lane.rank).getAttribute(`data-${side}`)) / 1000
  return [lane.base_ns + lane.rate * (await own('from')), lane.base_ns + lane.rate * (await own('to'))]
}

/** Waits until the timeline shows this time of the run. */
async function expectVisible(lane: StepLane, from: number, to: number) {
  await expect.poll(async () => (await visible(lane)).map((time, i) => Math.abs(time - [from, to][i]!) < 1)).toEqual([true, true])
}

test('a click on a step shows the timelines of the chosen, the slowest and the median rank, at the same time of the run', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night`)
  await page.locator('canvas[data-complete=true]').first().waitFor()
  const box = (await page.locator('canvas').first().boundingBox())!
  await page.locator('canvas').first().click({ position: { x: 74 + (box.width - 74) / 4, y: (box.height - 22) * (2.5 / 4) } })
  await page.getByRole('heading', { name: 'Timelines' }).waitFor()
  await expect.poll(() => [parameter('lane'), parameter('step')]).toEqual(['2', String(STEP)])
  const { lanes, step } = await lanesOf(2)
  const roles = (role: string) => lanes.find((lane) => lane.role === role)!
  await expect.poll(shown).toEqual([...new Set([2, roles('slowest').rank, roles('median').rank])].map((rank) => `Rank ${rank}`))
  expect(await timeline(roles('slowest').rank).locator('header').innerText()).toContain('slowest')
  for (const lane of lanes) {
    await complete(lane.rank)
    await expectVisible(lane, step[0]!.start_ns, step[0]!.end_ns)
  }
  expect(await page.getByText(/Clocks of machines are aligned to about ±/).innerText()).toMatch(/±\d/)
  await expectAccessible(page)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('zooming, ranks and their order are in the address; back undoes what was chosen', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night&step=${STEP}&lane=0`)
  await complete(0)
  await timeline(0).getByRole('application').hover()
  await page.mouse.wheel(0, -600)
  await page.waitForURL(/span=/)
  const { lanes } = await lanesOf(0, 1, 2, 3)
  await complete(0)
  const zoomed = await visible(lanes[0]!)
  expect(zoomed[1] - zoomed[0]).toBeLessThan(500e6)
  await expectVisible(lanes[1]!, ...zoomed)
  await page.getByLabel('Rank to add').fill('3')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await complete(3)
  await expect.poll(shown).toEqual(['Rank 0', 'Rank 1', 'Rank 3'])
  await expect.poll(() => parameter('ranks')).toBe('0,1,3')
  await expectVisible(lanes[3]!, ...zoomed)
  await page.getByRole('button', { name: 'Rank 3 up' }).click()
  await page.getByRole('button', { name: 'Remove rank 0' }).click()
  await expect.poll(shown).toEqual(['Rank 3', 'Rank 1'])
  await page.waitForURL(/ranks=3%2C1/)
  const address = page.url()
  await page.getByLabel('Rank to add').fill('9')
  await page.getByLabel('Rank to add').press('Enter')
  expect(await page.getByRole('alert').innerText()).toBe('The run has no rank 9.')
  await page.getByRole('button', { name: 'Whole step' }).click()
  await expect.poll(() => parameter('span')).toBeNull()
  await page.goBack()
  await expect.poll(() => page.url()).toBe(address)
  await page.goto(address)
  await complete(3)
  await expect.poll(shown).toEqual(['Rank 3', 'Rank 1'])
  await expectVisible(lanes[3]!, ...zoomed)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a collective is marked where each rank took part in it', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night&step=${STEP}&lane=0&collective=1&timelines=only`)
  await complete(0)
  const { arrivals } = await getJson<StepAnswer>(server, `/runs/runs/night/steps/${STEP}?collective=1`)
  const { lanes } = await lanesOf(0, 1)
  for (const lane of lanes.slice(0, 2)) {
    await timeline(lane.rank).getByTestId('own-mark').waitFor()
    const [from, to] = await visible(lane)
    const area = (await timeline(lane.rank).getByRole('application').boundingBox())!
    const mark = (await timeline(lane.rank).getByTestId('own-mark').boundingBox())!
    const own = arrivals.find((one) => one.rank === lane.rank)!
    expect(mark.x - area.x).toBeCloseTo((area.width * (own.start_ns - from)) / (to - from), -0.5)
    expect(mark.width).toBeCloseTo((area.width * (own.end_ns - own.start_ns)) / (to - from), -0.5)
  }
  expect(await page.locator('canvas[data-complete]').count()).toBe(0) // no picture of the run
  await page.getByRole('button', { name: 'Show the picture' }).click()
  await page.getByRole('button', { name: 'Hide', exact: true }).click()
  await timeline(0).waitFor({ state: 'detached' })
  await page.waitForURL(/timelines=hidden/)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a rank opens as a profile at that time, and leads back to its run', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night&step=${STEP}&lane=1`)
  await complete(1)
  await page.getByRole('link', { name: 'Open rank 1' }).click()
  await page.getByRole('heading', { name: 'Rank 1 of night' }).waitFor()
  const { lanes, step } = await lanesOf(1)
  const lane = lanes.find((one) => one.rank === 1)!
  await page.waitForURL(/span=/)
  const [from, to] = parameter('span')!.split('-').map(Number) as [number, number]
  expect(lane.base_ns + (lane.rate * from) / 1000).toBeCloseTo(step[0]!.start_ns, -1)
  expect(lane.base_ns + (lane.rate * to) / 1000).toBeCloseTo(step[0]!.end_ns, -1)
  await page.getByRole('tab', { name: 'SQL' }).click()
  await page.getByRole('tab', { name: 'Tables' }).click()
  expect(await page.getByRole('button', { name: 'Favorite' }).count()).toBe(0)
  await page.getByRole('link', { name: 'All ranks' }).click()
  await page.getByRole('heading', { name: 'night', exact: true }).waitFor()
  await expect.poll(() => [parameter('run'), parameter('lane')]).toEqual(['runs/night', '1'])
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('ranks without timelines are said to have none', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/tables&step=2&lane=1`)
  await page.getByText('The ranks of this run have no timelines').waitFor()
  await page.locator('canvas[data-complete=true]').waitFor()
  expect(await page.getByLabel('Rank to add').count()).toBe(0)
  await expectAccessible(page)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
