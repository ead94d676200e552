// Two profiles compared: chosen in the list, the server's figures, and both timelines at the same step and scale; two runs compared.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Diff } from '../../ui/src/model/diff'
import { formatNs } from '../../ui/src/model/time'
import { closePages, expectAccessible, GENERATOR, launch, openPage, Server } from './fixtures'
import { cells, getJson } from './tab-helpers'

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const timeline = (letter: string) => page.getByTestId(`timeline-${letter}`)
const edge = async (letter: string, side: 'from' | 'to') => Number(await timeline(letter).getAttribute(`data-${side}`))

/** What a timeline shows, from the start of its step in ps. */
async function visible(letter: 'A' | 'B', diff: Diff, step: number): Promise<[number, number]> {
  const start = diff[letter === 'A' ? 'a' : 'b'].steps[step]!.start_ns * 1000
  return [(await edge(letter, 'from')) - start, (await edge(letter, 'to')) - start]
}

test('two profiles of the list are compared, and the address brings the page back', async () => {
  page = await openPage(browser, server.url)
  const compare = page.getByRole('button', { name: 'Compare' })
  await page.getByLabel('Select gpt').check()
  expect(await compare.isDisabled()).toBe(true)
  await page.getByLabel('Select torch').check()
  await compare.click()
  await page.getByRole('grid', { name: 'Changes' }).waitFor()
  await expect.poll(() => [parameter('view'), parameter('a'), parameter('b')]).toEqual(['diff', 'gpt', 'torch'])
  const diff = await getJson<Diff>(server, '/diff?a=gpt&b=torch')
  // Different devices and programs: said first, before any figure.
  expect(diff.warnings).toHaveLength(2)
  const paragraphs = page.getByRole('region', { name: 'Step time' }).locator('p')
  await paragraphs.first().waitFor()
  expect((await paragraphs.allInnerTexts()).slice(0, 2)).toEqual(diff.warnings)
  const time = diff.step_time!
  expect(await page.getByRole('region', { name: 'Step time' }).innerText()).toContain(`Mean step time ${formatNs(time.a_ns)} → ${formatNs(time.b_ns)}`)
  expect(await page.getByLabel('What explains the step time').getByRole('listitem').first().innerText()).toContain(formatNs(time.a_ns))
  const shown = await cells(page, 'Changes')
  expect(shown[0]!.slice(0, 2)).toEqual(['new', diff.rows.find((row) => row.kind === 'kernels')!.name])

  await page.getByLabel('Kind of rows').selectOption('steps')
  await page.getByRole('gridcell', { name: 'step time', exact: true }).waitFor()
  await page.getByLabel('Step', { exact: true }).selectOption({ index: 1 })
  await timeline('A').and(page.locator('[data-complete=true]')).waitFor()
  await expect.poll(() => parameter('step')).toBe('1')
  const address = page.url()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Swap A and B' }).click()
  await page.waitForURL(/a=torch&b=gpt/)
  await page.goto(address)
  await page.getByRole('gridcell', { name: 'step time', exact: true }).waitFor()
  expect(await page.getByLabel('Step', { exact: true }).inputValue()).toBe('1')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('both timelines show the same time from the start of their steps, however they are zoomed', async () => {
  page = await openPage(browser, `${server.url}/?view=diff&a=gpt&b=torch&step=2`)
  const diff = await getJson<Diff>(server, '/diff?a=gpt&b=torch')
  for (const letter of ['A', 'B']) await timeline(letter).and(page.locator('[data-complete=true]')).waitFor()
  const whole = await visible('A', diff, 2)
  expect(whole[1] - whole[0]).toBeCloseTo(diff.b.steps[2]!.duration_ns * 1060, -3) // the longer one, with margins
  expect(await visible('B', diff, 2)).toEqual(whole)
  await page.getByLabel('Events of B over time').hover()
  await page.mouse.wheel(0, -400)
  await page.waitForFunction(() => new URL(location.href).searchParams.has('span'))
  const width = async () => { const [from, to] = await visible('A', diff, 2); return to - from }
  await expect.poll(width).toBeLessThan(0.8 * (whole[1] - whole[0]))
  const zoomed = await visible('A', diff, 2)
  await expect.poll(() => visible('B', diff, 2)).toEqual(zoomed)
  const link = await timeline('A').getByRole('link').getAttribute('href')
  expect(link).toBe(`profile/gpt?span=${Math.round(await edge('A', 'from'))}-${Math.round(await edge('A', 'to'))}`)
  await page.getByRole('button', { name: 'Whole step' }).click()
  await page.waitForFunction(() => !new URL(location.href).searchParams.has('span'))
  await expect.poll(() => visible('A', diff, 2)).toEqual(whole)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('what cannot be compared is said', async () => {
  page = await openPage(browser, `${server.url}/?view=diff&a=gpt&b=nothing`, { allow: /404/ })
  expect(await page.getByRole('alert').innerText()).toContain('nothing')
  await page.close()
})

test('two runs are compared from the page of one of them: step times as lines, rows, choice of others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kymo-diff-'))
  const shape = ['--ranks', '16', '--steps', '20', '--machine-ranks', '4', '--tensor', '2', '--jobs', '2']
  const runs = [['monday'], ['tuesday', '--straggler', 'compute:5:1.2', '--seed', '2'], ['a b', '--seed', '3']]
  for (const [name, ...options] of runs) {
    const made = spawnSync(GENERATOR, ['--run', name!, ...shape, ...options, join(folder, 'runs')])
    if (made.status !== 0) throw new Error(`${GENERATOR}: ${made.error ?? made.stderr}`)
  }
  const fleet = await Server.over(join(folder, 'data'), [join(folder, 'runs')])
  page = await openPage(browser, `${fleet.url}/?run=runs/tuesday`)
  await page.getByLabel('Compare with').selectOption('runs/monday')
  await page.getByRole('grid', { name: 'Changes' }).waitFor({ timeout: 60_000 })
  await expect.poll(() => [parameter('a'), parameter('b')]).toEqual(['runs/monday', 'runs/tuesday'])
  await expect.poll(async () => (await cells(page, 'Changes'))[0]?.slice(0, 2)).toEqual(['slower', 'rank 5'])
  const time = (await getJson<Diff>(fleet, '/diff?a=runs/monday&b=runs/tuesday')).step_time!
  expect(await page.getByRole('region', { name: 'Step time' }).innerText()).toContain(`Mean step time ${formatNs(time.a_ns)} → ${formatNs(time.b_ns)}`)
  const chart = page.getByRole('img', { name: /^Step times over steps/ })
  expect(await chart.locator('path').evaluateAll((all) => all.map((one) => one.getAttribute('d')!.split('L').length))).toEqual([20, 20])
  const box = (await chart.boundingBox())!
  await chart.hover({ position: { x: 62 + ((box.width - 76) * 10) / 19, y: box.height / 2 } })
  await expect.poll(() => page.getByText(/^step 10: .*s$/).count()).toBe(2)
  await expectAccessible(page)
  await page.getByLabel('Run A').selectOption('runs/a b')
  await page.waitForURL(/a=runs%2Fa\+b/)
  await page.getByRole('link', { name: 'runs/a b' }).click()
  await page.locator('canvas[data-complete=true]').waitFor()
  await expect.poll(() => parameter('run')).toBe('runs/a%20b')
  expect(page.consoleErrors).toEqual([])
  await page.close()
  await fleet.stop()
  rmSync(folder, { recursive: true, force: true })
})
