// The details panel of the selected event: fields, links, dependencies, and device profiles.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closePages, DATA, expectAccessible, launch, openPage, ROOT, Server } from './fixtures'
import { ask, getJson, setTheme, sourceOf } from './tab-helpers'

interface Details {
  name: string
  start: string
  groups: { title: string; fields: { name: string; value: unknown }[] }[]
  predecessors: { name: string; id: number }[]
  successors: { name: string; id: number }[]
}

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

const panel = (page: Page) => page.getByRole('region', { name: 'Event details' })
const open = async (address: string, options: Parameters<typeof openPage>[2] = {}) => {
  const page = await openPage(browser, server.url + address, options)
  await panel(page).waitFor()
  return page
}

describe('fields', () => {
  test('times have all digits, and every field with a value is shown', async () => {
    const api = await getJson<Details>(server, '/profiles/gpt/events/SystemProfileEvents/36')
    const page = await open('/profile/gpt?event=s36')
    await panel(page).getByText('27.215751 ms').first().waitFor()
    const times = panel(page).locator('.times')
    expect((await times.innerText()).split(/\n+/)).toEqual(['Start', '27.215751 ms', 'Duration', '18.015 µs', 'End', '27.233766 ms'])
    expect(await times.locator('dd').nth(1).getAttribute('title')).toBe('18,015,000 ps')
    expect(await panel(page).locator('.path').innerText()).toBe('vm / /device:GPU:0 / Stream #14(Compute,Memset)')
    const fields = api.groups.flatMap((group) => group.fields).filter((field) => !(field.name.endsWith('_fraction_ps') && field.value === 0))
    expect(await panel(page).locator('.field').count()).toBe(fields.length)
    const titles = await panel(page).locator('details.group > summary').allInnerTexts()
    expect(titles.slice(0, 3)).toEqual([expect.stringMatching(/^Durations of events with this name/), expect.stringMatching(/^Dependencies/), 'GPU kernel'])
    expect(titles.slice(-3)).toEqual(['General', 'Timing', 'IDs'])
    expect(titles).not.toContain('Data') // nothing in it
    const shared = panel(page).locator('.field', { hasText: 'Dynamic shared bytes' })
    expect(await shared.locator('.value').innerText()).toBe('8.19 kB')
    expect(await shared.locator('dd').getAttribute('title')).toBe('8,192 B')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('descriptions are shown on request, one by one or all', async () => {
    const page = await open('/profile/gpt?event=s36')
    const name = panel(page).getByRole('button', { name: 'Registers per thread', exact: true })
    expect(await name.getAttribute('title')).toBe('Registers per thread.')
    await name.click()
    await panel(page).locator('.meaning', { hasText: 'Registers per thread.' }).waitFor()
    await panel(page).getByRole('button', { name: 'Field help' }).click()
    expect(await panel(page).locator('.meaning').count()).toBeGreaterThan(20)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('the event can be copied as JSON, and a value alone', async () => {
    const page = await open('/profile/gpt?event=s36')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await panel(page).getByRole('button', { name: 'Copy as JSON' }).click()
    await panel(page).getByText('Copied').first().waitFor()
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as Details
    expect(copied).toEqual(await getJson(server, '/profiles/gpt/events/SystemProfileEvents/36'))
    const timing = panel(page).locator('details.group').filter({ has: page.locator('summary', { hasText: /^Timing$/ }) })
    await timing.getByRole('button', { name: 'Copy Duration' }).click()
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('18015')
    await page.close()
  })

  test('long names wrap', async () => {
    const page = await open('/profile/tpu?event=s105')
    await panel(page).getByRole('heading', { level: 2, name: /^%broadcast\.2/ }).waitFor()
    const width = await panel(page).evaluate((element) => [element.scrollWidth, element.clientWidth])
    expect(width[0]).toBe(width[1])
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('an unknown event shows an error', async () => {
    const page = await open('/profile/gpt?event=s99999999', { allow: /404/ })
    await panel(page).getByRole('alert').waitFor()
    expect(await panel(page).getByRole('alert').innerText()).toContain('event 99999999 not found')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('Esc and the button close it', async () => {
    const page = await open('/profile/gpt?event=s36')
    await page.keyboard.press('Escape')
    await expect.poll(() => panel(page).count()).toBe(0)
    await page.goBack()
    await panel(page).getByRole('button', { name: 'Close details' }).click()
    await expect.poll(() => panel(page).count()).toBe(0)
    expect(new URL(page.url()).searchParams.has('event')).toBe(false)
    await page.close()
  })

  test.each(['dark', 'light'] as const)('it is accessible in the %s theme', async (theme) => {
    const page = await open('/profile/gpt?event=s36', { theme })
    await setTheme(page, theme)
    await panel(page).getByRole('button', { name: 'Field help' }).click()
    await panel(page).getByRole('button', { name: 'Show dependency chain' }).click()
    await panel(page).getByRole('table', { name: 'Upstream' }).waitFor()
    await expectAccessible(page, theme)
    await page.close()
  })
})

describe('links', () => {
  test('to the call that launched it, and to its step', async () => {
    const page = await open('/profile/gpt?event=s36')
    await panel(page).locator('summary', { hasText: /^IDs$/ }).click()
    await panel(page).locator('.field', { hasText: 'Launch event' }).getByRole('button', { name: '6895' }).click()
    await panel(page).getByRole('heading', { level: 2, name: /^cuGraphLaunch/ }).waitFor()
    expect(new URL(page.url()).searchParams.get('event')).toBe('s6895')
    await page.goBack()
    await panel(page).getByRole('heading', { level: 2, name: 'fusion_410' }).waitFor()
    const [[step]] = await ask(server, 'gpt', 'SELECT event_id FROM Step WHERE id = 0') as [[number]]
    await panel(page).locator('summary', { hasText: /^IDs$/ }).click()
    await panel(page).locator('.field', { hasText: 'Step ID' }).first().locator('.link').click()
    await expect.poll(() => new URL(page.url()).searchParams.get('event')).toBe(`s${step}`)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('to its source line, and to all events of its operation', async () => {
    const page = await open('/profile/gpt?event=h100', { allow: /404/ })
    await panel(page).locator('.field', { hasText: 'Source line' }).locator('.link').click()
    await page.waitForURL((url) => url.searchParams.get('tab') === 'source')
    expect(new URL(page.url()).searchParams.get('file')).toBe(await sourceOf(server, 'jax_gpt.py'))
    const [[line]] = await ask(server, 'gpt', 'SELECT source_line FROM HloOperation WHERE id = (SELECT operation_id FROM HloRun WHERE id = 100)') as [[number]]
    expect(new URL(page.url()).searchParams.get('line')).toBe(String(line))
    await panel(page).locator('.field', { hasText: 'Opcode' }).locator('.link').click()
    await page.waitForURL((url) => url.searchParams.get('q') === 'opcode:"fusion"')
    await expect.poll(() => new URL(page.url()).searchParams.get('tab')).toBe('search')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('along its dependencies, and back by breadcrumbs', async () => {
    const api = await getJson<Details>(server, '/profiles/gpt/events/SystemProfileEvents/36')
    const page = await open('/profile/gpt?event=s36')
    const cause = api.predecessors[0]!
    await panel(page).getByRole('list', { name: 'Predecessors' }).getByRole('button').first().click()
    await page.waitForURL((url) => url.searchParams.get('event') === `s${cause.id}`)
    await panel(page).getByRole('heading', { level: 2, name: cause.name }).waitFor()
    const effects = await getJson<Details>(server, `/profiles/gpt/events/SystemProfileEvents/${cause.id}`)
    await panel(page).getByRole('button', { name: `Show all ${effects.successors.length}` }).click()
    expect(await panel(page).getByRole('list', { name: 'Successors' }).getByRole('button').count()).toBe(effects.successors.length)
    const way = panel(page).getByRole('navigation', { name: 'Dependency path' })
    expect(await way.getByRole('button').allInnerTexts()).toEqual(['fusion_410', cause.name])
    await way.getByRole('button', { name: 'fusion_410' }).click()
    await page.waitForURL((url) => url.searchParams.get('event') === 's36')
    await panel(page).getByRole('heading', { level: 2, name: 'fusion_410' }).waitFor()
    expect(await way.count()).toBe(0)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('from a kernel up to the framework call, and from there down to its kernels', async () => {
    const [[kernel, launch]] = (await ask(server, 'torch',
      'SELECT id, launch_event_id FROM GpuKernel WHERE launch_event_id IS NOT NULL ORDER BY id LIMIT 1')) as [[number, number]]
    const around = (await ask(server, 'torch',
      `SELECT e.name FROM SystemProfileEvents e, SystemProfileEvents o WHERE o.id = ${launch} AND e.track_id = o.track_id AND e.id <> o.id
       AND e.start_ts <= o.start_ts AND e.end_ts >= o.end_ts AND e.duration_ns > o.duration_ns ORDER BY e.duration_ns, e.id`)) as [string][]
    const page = await open(`/profile/torch?event=s${kernel}`)
    await panel(page).getByRole('button', { name: 'Show dependency chain' }).click()
    const upstream = panel(page).getByRole('table', { name: 'Upstream' })
    await upstream.waitFor()
    const rows = await upstream.locator('tbody tr').evaluateAll((all) =>
      all.map((row) => ({ name: row.querySelector('button')!.textContent, facts: row.querySelector('.facts')!.textContent! })),
    )
    expect(rows[0]).toEqual({ name: 'cudaLaunchKernel', facts: expect.stringMatching(/^launch · gap [\d.]+ .s · thread/) })
    expect(rows.filter((row) => row.facts.startsWith('encloses')).map((row) => row.name)).toEqual(around.map(([name]) => name))
    await upstream.getByRole('button').nth(1).click()
    await panel(page).getByRole('heading', { level: 2, name: around[0]![0] }).waitFor()
    await panel(page).getByRole('button', { name: 'Show dependency chain' }).click()
    const downstream = panel(page).getByRole('table', { name: 'Downstream' })
    await downstream.locator('tbody tr', { hasText: 'launch' }).last().waitFor()
    expect(await downstream.locator('tbody tr', { hasText: 'cudaLaunchKernel' }).count()).toBeGreaterThan(0)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})

describe('device profiles', () => {
  const running = '/profile/neuron?event=s12' // on core 0 of the listed instance

  test('one that is not in the workspace is reported', async () => {
    const page = await open(running)
    await panel(page).getByRole('button', { name: 'Open device profile' }).click()
    await panel(page).getByText('Device profile n_0123456789abcdef is not in the workspace').waitFor()
    await panel(page).getByRole('button', { name: 'All device profiles' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('not in the workspace').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => dialog.count()).toBe(0)
    expect(await panel(page).count()).toBe(1)
    expect(page.consoleErrors).toEqual([])
    await panel(page).getByRole('button', { name: 'All device profiles' }).click()
    await dialog.getByText('not in the workspace').waitFor()
    await expectAccessible(page)
    await page.close()
  })

  test('one in the workspace opens from the event and from the list', async () => {
    const made = spawnSync(process.env.KYMO ?? join(ROOT, 'bin/kymo'), [
      'view', join(DATA, 'neuron/device_profile.json'), '--display-name', 'n_0123456789abcdef', '--data-path', server.workspace, '--ingest-only',
    ])
    expect(made.status).toBe(0)
    const page = await open(running)
    const opened = async (click: () => Promise<void>) => {
      const [tab] = await Promise.all([page.waitForEvent('popup'), click()])
      await tab.waitForURL(/\/profile\/n_0123456789abcdef/)
      await tab.close()
    }
    await opened(() => panel(page).getByRole('button', { name: 'Open device profile' }).click())
    await panel(page).getByRole('button', { name: 'All device profiles' }).click()
    await opened(() => page.getByRole('dialog').getByRole('link', { name: 'n_0123456789abcdef' }).click())
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('an execution on another core has none', async () => {
    const [[id]] = (await ask(server, 'neuron',
      "SELECT id FROM SystemProfileEvents WHERE name = 'nc_exec_running' AND nc_idx = 3 LIMIT 1")) as [[number]]
    const page = await open(`/profile/neuron?event=s${id}`)
    await panel(page).getByRole('button', { name: 'Open device profile' }).click()
    await panel(page).getByText('No device profile is listed').waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})
