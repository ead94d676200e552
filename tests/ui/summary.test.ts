// The Summary tab: its numbers match the server's, for every capture, and its charts link to the timeline.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { formatBytes } from '../../ui/src/model/numbers'
import { formatNs, withMicroSign } from '../../ui/src/model/time'
import { type CaptureName, CAPTURES, closePages, expectAccessible, launch, openPage, ROOT, Server } from './fixtures'

interface Ranked {
  name: string
  share: number
  self_ns: number
}

interface Answer {
  event_count: number
  span_ns: number
  steps: { count: number; step_ns: { mean: number; p50: number; p99: number } | null }
  devices: { name: string; busy_share: number; busy_ns: number; launch_delay_ns: { p50: number; p99: number } | null }[]
  operations: Ranked[]
  kernel_families: { family: string; count: number; total_ns: number; share: number }[]
  kernels: Ranked[]
  copies: Ranked[]
  host_events: Ranked[]
}

const ALL = Object.keys(CAPTURES) as CaptureName[]
const RECORDED = 'recorded'
const LOSSY = 'lossy' // its buffers were too small

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  server = await Server.start(ALL)
  const output = join(server.workspace, 'output')
  const lossy = join(server.workspace, 'lossy')
  const kymo = process.env.KYMO ?? join(ROOT, 'bin/kymo')
  for (const line of [
    ['inspect', '-o', output, join(ROOT, 'bin/examples/training'), '300'],
    ['view', '-d', output, '--display-name', RECORDED, '--data-path', server.workspace, '--ingest-only'],
    ['inspect', '-o', lossy, '-n', '100', join(ROOT, 'bin/examples/training'), '50'],
    ['view', '-d', lossy, '--display-name', LOSSY, '--data-path', server.workspace, '--ingest-only'],
  ]) {
    const done = spawnSync(kymo, line)
    if (done.status !== 0) throw new Error(`kymo ${line.join(' ')}: ${done.stderr}`)
  }
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

afterEach(async () => {
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

const region = () => page.getByRole('region', { name: 'Summary' })
const card = (title: string) => region().locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const percent = (share: number) => `${(100 * share).toFixed(1)} %`

async function open(name: string, options: Parameters<typeof openPage>[2] = {}): Promise<Answer> {
  page = await openPage(browser, `${server.url}/profile/${name}?tab=summary`, options)
  await region().getByText('Captured with').waitFor()
  return (await (await fetch(`${server.url}/api/v1/profiles/${name}/summary`)).json()) as Answer
}

async function ask(name: string, query: string): Promise<number[][]> {
  const answer = await fetch(`${server.url}/api/v1/profiles/${name}/sql`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query }),
  })
  return ((await answer.json()) as { rows: number[][] }).rows
}

test.each([...ALL, RECORDED])('%s: the numbers match the server’s', async (name) => {
  const answer = await open(name)
  const facts = (await region().locator('dl').textContent())!
  expect(facts).toContain(answer.event_count.toLocaleString('en-US'))
  expect(facts).toContain(formatNs(answer.span_ns))
  for (const [title, entries] of [
    ['Top operations', answer.operations], ['Top kernels', answer.kernels], ['Top copies and memsets', answer.copies],
    ['Top host events', answer.host_events],
    ['Device time by kernel family', answer.kernel_families.map((one) => ({ name: one.family, share: one.share, self_ns: one.total_ns }))],
  ] as const) {
    const rows = card(title).getByRole('listitem')
    expect(await rows.count()).toBe(title.endsWith('family') ? entries.length : Math.min(10, entries.length))
    if (entries.length === 0) continue
    const text = (await rows.first().textContent())!
    expect(text).toContain(entries[0]!.name)
    expect(text).toContain(percent(entries[0]!.share))
    expect(text).toContain(formatNs(entries[0]!.self_ns))
  }
  expect(await card('Devices busy').getByRole('listitem').count()).toBe(answer.devices.length)
  if (answer.steps.step_ns) {
    await card('Step times').getByText(`p99 ${formatNs(answer.steps.step_ns.p99)}`).waitFor()
    // One bar a step; of very many, one for each few.
    const each = Math.ceil(answer.steps.count / 240)
    expect(await card('Step times').locator('rect.step').count()).toBe(Math.ceil(answer.steps.count / each))
  } else {
    if (answer.steps.count > 0) await card('Step times').waitFor()
    else expect(await card('Step times').count()).toBe(0)
  }
  const everything = await region().evaluate((element) => element.outerHTML)
  expect(everything).not.toMatch(/NaN|undefined|Infinity|\[object/)
})

test('findings come first; their links lead to the evidence and to its query', async () => {
  const { findings } = (await open('gpt')) as Answer & {
    findings: { title: string; statement: string; cost_ns: number; evidence: { label: string; from_ps: number; to_ps: number }[] }[]
  }
  expect(findings.length).toBeGreaterThan(1)
  const list = region().getByRole('region', { name: 'Findings' })
  expect(await region().evaluate((element) => element.querySelector('h2, h3, dt')!.textContent)).toBe('Findings')
  expect(await list.getByRole('listitem').count()).toBe(findings.length)
  const first = list.getByRole('listitem').first()
  const text = (await first.textContent())!
  expect(text).toContain(findings[0]!.title)
  expect(text).toContain(formatNs(findings[0]!.cost_ns))
  expect(text).toContain(withMicroSign(findings[0]!.statement))
  const { label, from_ps, to_ps } = findings[0]!.evidence[0]!
  await first.getByRole('button', { name: label }).click()
  await expect.poll(() => parameter('span')?.split('-').map(Number).reduce((a, b) => b - a)).toBeCloseTo(2 * (to_ps - from_ps), -3)
  await expect.poll(() => Number(parameter('span')!.split('-')[0]) < from_ps && parameter('event') !== null).toBe(true)
  await first.getByRole('button', { name: 'SQL' }).click()
  await page.getByRole('grid', { name: 'Result' }).or(page.getByRole('table', { name: 'Result' })).first().waitFor()
  expect(parameter('tab')).toBe('sql')
})

test('devices show how long they are busy, and launch delays', async () => {
  const answer = await open('gpt')
  const device = answer.devices[0]!
  const text = (await card('Devices busy').getByRole('listitem').first().textContent())!
  expect(text).toContain('GPU 0')
  expect(text).toContain(percent(device.busy_share))
  expect(text).toContain(`p50 ${formatNs(device.launch_delay_ns!.p50)}, p99 ${formatNs(device.launch_delay_ns!.p99)}`)
})

test('a click on an operation searches for it', async () => {
  await open('gpt')
  await card('Top operations').getByRole('button', { name: /fusion\.410/ }).click()
  await expect.poll(() => parameter('q')).toBe('name:"fusion.410"')
  await page.locator('.hits').getByText('20', { exact: true }).waitFor()
})

test('a kernel name with spaces, stars and brackets is found', async () => {
  const answer = await open('torch')
  await card('Top kernels').getByRole('button').first().click()
  await expect.poll(() => parameter('q')).toContain(answer.kernels[0]!.name)
  await page.locator('.hits').getByText('15', { exact: true }).waitFor()
})

test('a click on a step shows it on the timeline; so does the keyboard', async () => {
  await open('gpt')
  const steps = card('Step times').getByRole('slider')
  const rows = await ask('gpt', 'SELECT start_ts, end_ts FROM Step ORDER BY id')
  const shown = () => parameter('span')?.split('-').map((time) => Number(time) / 1000)
  const expectShown = async (at: number) => {
    const [from, to] = rows[at] as [number, number]
    await expect.poll(() => Math.abs((shown()?.[0] ?? 0) - from) < to - from && Math.abs((shown()?.[1] ?? 0) - to) < to - from).toBe(true)
  }
  const box = (await steps.boundingBox())!
  await steps.click({ position: { x: (box.width * 10.5) / 20, y: box.height / 2 } })
  await expectShown(10)
  await steps.focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowRight')
  expect(await steps.getAttribute('aria-valuetext')).toMatch(/^Step 1: [\d.]+ ms, on devices [\d.]+ ms$/)
  await page.keyboard.press('Enter')
  await expectShown(1)
})

test('memory is drawn from allocator events', async () => {
  await open('gpt')
  const rows = await ask('gpt', "SELECT max(bytes_allocated) FROM MemoryAllocation WHERE allocator_name = 'GPU_0_bfc'")
  const chart = card('Memory').getByRole('img')
  expect(await chart.getAttribute('aria-label')).toContain(`GPU_0_bfc up to ${formatBytes(rows[0]![0]!)}`)
  await chart.hover()
  await card('Memory').getByText(/^at /).waitFor()
})

test('memory of hosts and devices is drawn from counters', async () => {
  await open('neuron')
  expect(await card('Memory').getByRole('img').getAttribute('aria-label')).toContain('device 0 hbm 0 total_bytes')
  await expect.poll(() => card('Host memory').locator('path').count()).toBe(2)
})

test.each(['dark', 'light'] as const)('dropped events are told above the timeline and in the summary, in the %s theme', async (theme) => {
  page = await openPage(browser, `${server.url}/profile/${LOSSY}`, { theme })
  const sentence = /^Warning: \d+ trace events were dropped during capture \(stored \d+ out of \d+ total events\)\./
  const banner = page.getByRole('status').filter({ hasText: sentence })
  await banner.waitFor()
  const answer = (await (await page.request.get(`${server.url}/api/v1/profiles/${LOSSY}/summary`)).json()) as { dropped_warning: string }
  expect(await banner.innerText()).toBe(answer.dropped_warning)
  await region().getByText(answer.dropped_warning, { exact: true }).waitFor()
  await expectAccessible(page, theme)
  await page.goto(`${server.url}/profile/${RECORDED}`)
  await card('Step times').waitFor()
  expect(await banner.count()).toBe(0)
})

test('a profile without a summary says so', async () => {
  rmSync(join(server.workspace, 'profiles/global/cpu@latest', 'summary.json'), { force: true })
  page = await openPage(browser, `${server.url}/profile/cpu`, { allow: /status of 404/ })
  await page.getByText('This profile has no summary').waitFor()
  await expectAccessible(page)
})

test.each(['dark', 'light'] as const)('it is accessible in the %s theme', async (theme) => {
  await open('gpt', { theme, height: 1400 })
  await card('Memory').getByRole('img').waitFor()
  await expectAccessible(page, theme)
})
