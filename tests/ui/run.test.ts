// A run of many ranks: the picture, findings that lead to ranks and steps, a step's collectives, and the address.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunShape, StepAnswer } from '../../ui/src/model/run'
import { closePages, expectAccessible, GENERATOR, launch, openPage, Server } from './fixtures'
import { getJson } from './tab-helpers'

let folder: string
let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-run-'))
  const options = ['--ranks', '128', '--steps', '40', '--machine-ranks', '8', '--jobs', '2', '--straggler', 'compute:19:1.3:10']
  const made = spawnSync(GENERATOR, ['--run', 'night', ...options, join(folder, 'runs')])
  if (made.status !== 0) throw new Error(`${GENERATOR}: ${made.error ?? made.stderr}`)
  server = await Server.over(join(folder, 'data'), [join(folder, 'runs')])
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const drawn = () => page.locator('canvas[data-complete=true]').waitFor()

test('a run is analyzed and drawn; a finding leads to its rank and step, and the address brings that back', async () => {
  page = await openPage(browser, `${server.url}/?run=`)
  await drawn()
  await expect.poll(() => parameter('run')).toBe('runs/night')
  await page.getByRole('button', { name: /Rank 19 .* is slow since step 10/ }).click()
  await page.getByRole('heading', { name: 'Step 10' }).waitFor()
  await drawn()
  await expect.poll(() => [parameter('lane'), parameter('step'), parameter('rows')]).toEqual(['19', '10', '3-34'])
  const answer = await getJson<StepAnswer>(server, '/runs/runs/night/steps/10')
  const rows = page.getByLabel('Collectives of the step').locator('tbody tr')
  await rows.first().waitFor()
  await expect.poll(() => rows.count()).toBe(answer.collectives.length)
  await rows.nth(1).getByRole('button').click()
  await page.waitForURL(/collective=1/)
  await expect.poll(() => page.getByText(/came last,/).innerText()).toContain(`rank ${answer.collectives[1]!.last_rank} came last`)
  await expectAccessible(page)
  const address = page.url()
  await page.goto(address)
  await drawn()
  await expect.poll(() => page.url()).toBe(address)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a cell is told and chosen, the wheel zooms, the order puts the slowest first', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night&order=slowest`)
  await drawn()
  const box = (await page.locator('canvas').boundingBox())!
  const at = { x: 74 + (box.width - 74) * (20.5 / 40), y: 3 }
  await page.locator('canvas').hover({ position: at })
  await expect.poll(() => page.getByRole('tooltip').innerText()).toMatch(/ms\s+rank 19 \(node2\); step 20$/)
  await page.locator('canvas').click({ position: at })
  await page.getByRole('heading', { name: 'Step 20' }).waitFor()
  await expect.poll(() => parameter('lane')).toBe('19')
  await page.mouse.wheel(0, -400)
  await page.waitForFunction(() => new URL(location.href).searchParams.has('steps'))
  await drawn()
  await page.getByRole('button', { name: 'Whole run' }).click()
  await page.getByLabel('Measure').selectOption('duration')
  await page.waitForURL(/measure=duration/)
  await drawn()
  await expect.poll(() => [parameter('rows'), parameter('steps')]).toEqual([null, null])
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('ranks that behave alike are grouped beside the picture', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night`)
  await drawn()
  await page.getByLabel('Order of ranks').selectOption('cluster')
  await page.waitForURL(/order=cluster/)
  await page.getByText('groups, with their mean excess').waitFor()
  await drawn()
  await page.locator('canvas').hover({ position: { x: 200, y: 2 } })
  await expect.poll(() => page.getByRole('tooltip').innerText()).toContain('rank 19 (node2)')
  const shape = await getJson<RunShape>(server, '/runs/runs/night/lanes?order=cluster')
  expect(shape.clusters.map((one) => one.lanes)).toEqual([1, 127])
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a click on a cell of many ranks and steps chooses the worst of them', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/night`)
  await page.setViewportSize({ width: 1280, height: 200 }) // fewer lines than ranks
  await expect.poll(async () => (await page.locator('canvas').boundingBox())!.height - 22).toBeLessThan(128)
  await drawn()
  const box = (await page.locator('canvas').boundingBox())!
  const lines = Math.floor(box.height - 22)
  const line = Math.floor((19.5 / 128) * lines)
  await page.locator('canvas').click({ position: { x: 74 + (box.width - 74) * (25.5 / 40), y: line + 0.5 } })
  await page.waitForURL(/lane=19/)
  await expect.poll(() => parameter('step')).toBe('25')
  await page.close()
})

test('the list of profiles leads to the runs, and a run back to it', async () => {
  page = await openPage(browser, `${server.url}/`, { width: 1440 }) // narrower windows leave out the sources
  await page.getByRole('navigation', { name: 'Profiles' }).getByRole('link', { name: 'night' }).click()
  await drawn()
  await expect.poll(() => parameter('run')).toBe('runs/night')
  await page.getByRole('link', { name: 'All profiles' }).click()
  await page.getByRole('heading', { name: 'Runs of many ranks' }).waitFor()
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'night', exact: true }) })
  expect(await row.innerText()).toMatch(/Run\s+Run of many ranks/)
  await row.getByText('Run of many ranks').last().click()
  await expect.poll(() => parameter('run')).toBe('runs/night')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a run that is not there is said', async () => {
  page = await openPage(browser, `${server.url}/?run=runs/none`, { allow: /404/ })
  expect(await page.getByRole('alert').innerText()).toContain("has no run 'none'")
  await page.close()
})
