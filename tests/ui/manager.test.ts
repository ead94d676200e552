// The profile list and its actions.
import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { formatNs } from '../../ui/src/model/time'
import { CAPTURES, closePages, DATA, expectAccessible, launch, openPage, ROOT, Server } from './fixtures'

const REFUSED = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED/
const CONFLICT = /status of 409/

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

beforeEach(async () => {
  server = await Server.start(['matmul', 'cpu', 'neuron'])
})

afterEach(async () => {
  if (page && !page.isClosed()) {
    expect(page.consoleErrors).toEqual([])
    await page.close()
  }
  await server.stop()
})

const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
const names = () => page.locator('tbody a.name').allTextContents()
const api = async (path: string) => (await fetch(`${server.url}/api/v1${path}`)).json()

async function openList(options: Parameters<typeof openPage>[2] = {}) {
  page = await openPage(browser, server.url, options)
  await page.waitForSelector('tbody a.name')
}

test('a row shows the profile as the server reports it', async () => {
  await openList()
  const entry = (await api('/profiles/matmul')) as { events: number }
  const summary = (await api('/profiles/matmul/summary')) as { span_ns: number; steps: { step_ns: { p50: number } }; devices: { model: string }[]; findings: { title: string }[] }
  const text = (await row('matmul').textContent())!
  expect(text).toContain('Ready')
  expect(text).toContain('JAX / XLA (XPlane)')
  expect(text).toContain(entry.events.toLocaleString('en-US'))
  expect(text).toContain(formatNs(summary.span_ns))
  expect(text).toMatch(/just now|ago/)
  expect(await row('matmul').locator('.device').innerText()).toBe(summary.devices[0]!.model)
  expect(await row('matmul').locator('.step').innerText()).toBe(formatNs(summary.steps.step_ns.p50))
  expect(await row('matmul').locator('.finding').innerText()).toBe(summary.findings[0]!.title)
  expect(await row('matmul').locator('.finding').getAttribute('title')).toMatch(/: 652\.5 ms, 96\.7 % of the capture$/)
  for (const unknown of ['.device', '.step span']) {
    expect(await row('neuron').locator(unknown).innerText()).toBe('')
    expect(await row('neuron').locator(unknown).getAttribute('title')).toBe('not recorded')
  }
  expect(await row('cpu').textContent()).toContain('PyTorch (Kineto)')
  expect(await row('neuron').textContent()).toContain('Neuron Explorer')
  expect(await row('neuron').locator('.created').getAttribute('title')).toMatch(/\d{4}.*\d\d:\d\d/)
})

test('a click on a column header sorts, a second click reverses the order', async () => {
  await openList()
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  expect(await names()).toEqual(['cpu', 'matmul', 'neuron'])
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  expect(await names()).toEqual(['neuron', 'matmul', 'cpu'])
  await page.getByRole('button', { name: 'Events' }).click()
  expect(await names()).toEqual(['matmul', 'neuron', 'cpu'])
  expect(await page.getByRole('columnheader', { name: 'Events' }).getAttribute('aria-sort')).toBe('descending')
})

test('the search filters on the server, and reports no matches', async () => {
  await openList()
  await page.keyboard.press('/')
  await page.keyboard.type('MAT')
  await expect.poll(names).toEqual(['matmul'])
  await page.keyboard.type('xyz')
  await page.getByText('No profile matches “MATxyz”').waitFor()
  await page.getByRole('searchbox').fill('')
  await expect.poll(async () => (await names()).length).toBe(3)
})

test('a favorite survives a reload and is listed under favorites', async () => {
  await openList()
  await page.getByRole('button', { name: 'Favorites' }).click()
  await page.getByText('No favorites yet').waitFor()
  await page.getByRole('button', { name: /All profiles/ }).click()
  await page.getByRole('button', { name: 'Favorite: cpu' }).click()
  await page.locator('button[aria-label="Favorite: cpu"][aria-pressed=true]').waitFor()
  expect(((await api('/profiles/cpu')) as { favorite: boolean }).favorite).toBe(true)
  await page.reload()
  await page.waitForSelector('tbody a.name')
  await page.getByRole('button', { name: 'Favorites' }).click()
  expect(await names()).toEqual(['cpu'])
  await page.getByRole('button', { name: 'Favorite: cpu' }).click()
  await expect.poll(names).toEqual([])
})

test('a profile is renamed, but not to an existing name', async () => {
  await openList({ allow: CONFLICT })
  await page.getByRole('button', { name: 'Actions for matmul' }).click()
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  const field = page.getByRole('textbox', { name: 'New name for matmul' })
  await field.fill('cpu')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: 'cpu' }).waitFor()
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  await field.fill('a matmul & more')
  await field.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expect.poll(names).toContain('a matmul & more')
  expect(await names()).not.toContain('matmul')
  await page.getByRole('link', { name: 'a matmul & more' }).first().click()
  await page.waitForURL('**/profile/a%20matmul%20%26%20more*')
})

test('deleting asks for confirmation, with the name of the profile', async () => {
  await openList()
  await page.getByRole('button', { name: 'Actions for cpu' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete this profile?' })
  expect(await dialog.textContent()).toContain('cpu')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(await names()).toContain('cpu')
  await page.getByRole('button', { name: 'Actions for cpu' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await expect.poll(names).not.toContain('cpu')
  expect((await fetch(`${server.url}/api/v1/profiles/cpu`)).status).toBe(404)
})

test('several profiles are deleted after typing a word', async () => {
  await openList()
  await page.getByRole('checkbox', { name: 'Select cpu' }).check()
  await page.getByRole('checkbox', { name: 'Select neuron' }).check()
  await page.getByText('2 selected').waitFor()
  await page.getByRole('button', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete 2 profiles?' })
  const button = dialog.getByRole('button', { name: 'Delete' })
  expect(await button.isDisabled()).toBe(true)
  await dialog.getByRole('textbox').fill('delete')
  await button.click()
  await expect.poll(names).toEqual(['matmul'])
})

test('keys navigate the list, open, rename and delete', async () => {
  await openList()
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await page.locator('a.name').first().focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('F2')
  await page.getByRole('dialog', { name: 'Rename' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('Delete')
  await page.getByRole('dialog', { name: 'Delete this profile?' }).getByText('matmul').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/profile/matmul*')
})

test('a row opens its profile, which is then recently viewed', async () => {
  await openList()
  await row('cpu').locator('td.device').click()
  await page.waitForURL('**/profile/cpu*')
  await page.getByRole('combobox', { name: 'Search events' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Recently viewed' }).waitFor()
  expect(await page.locator('nav ul').first().textContent()).toContain('cpu')
  await page.getByRole('heading', { name: 'Recently added' }).waitFor()
})

test('the tables of a profile can be downloaded', async () => {
  await openList()
  await page.getByRole('button', { name: 'Actions for cpu' }).click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: /Download/ }).click()])
  expect(download.url()).toContain('/profiles/cpu/export?format=parquet-tar')
  expect(download.suggestedFilename()).toMatch(/\.tar$/)
})

test('a lost server is reported, and the page reconnects', async () => {
  await openList({ allow: REFUSED })
  const port = new URL(server.url).port
  const workspace = server.workspace
  await server.stop(true)
  // Polling is slow while idle; becoming visible refreshes at once.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByRole('alert').filter({ hasText: 'not responding' }).waitFor()
  expect((await names()).length).toBe(3)
  server = await Server.over(workspace, ['--port', port])
  await page.getByRole('alert').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Favorite: cpu' }).click()
  await page.locator('button[aria-label="Favorite: cpu"][aria-pressed=true]').waitFor()
})

test('a profile opened while the server is down loads when it is back', async () => {
  await openList({ allow: REFUSED })
  const port = new URL(server.url).port
  const workspace = server.workspace
  await server.stop(true)
  await row('cpu').getByRole('link').click()
  await page.getByRole('heading', { name: 'The server is not responding' }).waitFor()
  await expectAccessible(page)
  server = await Server.over(workspace, ['--port', port])
  await page.getByRole('combobox', { name: 'Search events' }).waitFor()
})

test('panels whose requests met a stopped server continue when it is back', async () => {
  page = await openPage(browser, `${server.url}/profile/matmul?tab=kernels`, { allow: REFUSED })
  await page.getByRole('grid', { name: 'Kernels' }).waitFor()
  const port = new URL(server.url).port
  const workspace = server.workspace
  await server.stop(true)
  await page.getByRole('tab', { name: 'SQL' }).click()
  await page.getByRole('tab', { name: 'Steps' }).click()
  await page.getByRole('alert').filter({ hasText: 'not responding' }).waitFor()
  await page.getByRole('button', { name: 'Analysis', exact: true }).click()
  await expectAccessible(page)
  server = await Server.over(workspace, ['--port', port])
  await page.getByRole('region', { name: 'Overview of the profile' }).getByText('NVIDIA H200').waitFor()
  await page.getByRole('button', { name: 'Timeline', exact: true }).click()
  await page.getByRole('grid', { name: 'Steps' }).waitFor()
  await page.getByRole('tab', { name: 'SQL' }).click()
  await page.getByRole('textbox', { name: 'Query' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('a page asks for the tables of its profile once', async () => {
  page = await openPage(browser, 'about:blank')
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(`${server.url}/profile/matmul?tab=summary`)
  await page.getByRole('list', { name: 'Top kernels' }).waitFor()
  await page.getByRole('tab', { name: 'SQL' }).click()
  await page.getByRole('button', { name: 'Columns of Track', exact: true }).waitFor()
  expect(asked.filter((path) => path.endsWith('/tables'))).toEqual(['/api/v1/profiles/matmul/tables'])
})

test('processing shows progress; the list is polled until it is ready, but not while the page is hidden', async () => {
  let isAtWork = true
  page = await openPage(browser, 'about:blank')
  await page.route('**/api/v1/profiles', async (route) => {
    const answer = (await (await fetch(route.request().url())).json()) as { profiles: { name: string }[] }
    for (const profile of answer.profiles) {
      if (isAtWork && profile.name === 'cpu') Object.assign(profile, { status: 'processing', percent: 37 })
    }
    await route.fulfill({ json: answer })
  })
  await page.goto(server.url)
  await row('cpu').getByText('37 %').waitFor()
  expect(await row('cpu').getByRole('progressbar').getAttribute('value')).toBe('37')
  await expectAccessible(page)
  // Counted in the page: a request sent before it is hidden may be seen here only after that.
  await page.evaluate(() => {
    const state = Object.assign(window, { requests: 0 })
    const { fetch } = window
    window.fetch = (...request) => (state.requests++, fetch(...request))
  })
  const requests = () => page.evaluate(() => (window as unknown as { requests: number }).requests)
  await expect.poll(requests).toBeGreaterThan(2)
  const before = await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: true, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
    return (window as unknown as { requests: number }).requests
  })
  await page.waitForTimeout(2_000) // more than two of its intervals
  expect(await requests()).toBe(before)
  isAtWork = false
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: false, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await row('cpu').getByText('Ready').waitFor()
})

test('an empty workspace explains how to get a first profile', async () => {
  for (const name of ['matmul', 'cpu', 'neuron']) await fetch(`${server.url}/api/v1/profiles/${name}`, { method: 'DELETE' })
  page = await openPage(browser, server.url)
  await page.getByText('No profiles yet').waitFor()
  expect(await page.getByRole('main').textContent()).toContain('kymo inspect -o output python train.py')
  expect(await page.getByRole('main').textContent()).toContain('kymo view -d output')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Upload a profile' }).click()
  await page.getByRole('dialog', { name: 'Upload Profile' }).waitFor()
})

test('runs of a log directory are processed on demand, or by opening them', async () => {
  const logs = mkdtempSync(join(tmpdir(), 'kymo-logs-'))
  for (const run of ['one', 'two']) {
    mkdirSync(join(logs, 'plugins/profile', run), { recursive: true })
    cpSync(join(DATA, CAPTURES.matmul), join(logs, 'plugins/profile', run, 'vm.xplane.pb'))
  }
  const { url, program } = await serveLogs(logs)
  try {
    page = await openPage(browser, url)
    await page.waitForSelector('tbody a.name')
    expect(await row('one').textContent()).toContain('Uploaded')
    await row('one').getByRole('button', { name: 'Process' }).click()
    await row('one').getByText('Ready').waitFor()
    await row('two').getByRole('link').click()
    await page.getByRole('combobox', { name: 'Search events' }).waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('two')
  } finally {
    program.kill('SIGINT')
    rmSync(logs, { recursive: true, force: true })
  }
})

async function serveLogs(logs: string): Promise<{ url: string; program: ChildProcess }> {
  const workspace = join(logs, 'workspace')
  const program = spawn(process.env.KYMO ?? join(ROOT, 'bin/kymo'), [
    'serve', logs, '--data-path', workspace, '--port', '0', '--api-server-port', '0',
  ])
  const url = await new Promise<string>((done) => {
    let text = ''
    const read = (bytes: Buffer) => {
      text += bytes.toString()
      const match = /http:\/\/localhost:\d+/.exec(text)
      if (match) done(match[0])
    }
    program.stdout.on('data', read)
    program.stderr.on('data', read)
  })
  return { url, program }
}

test.each(['dark', 'light'] as const)('the list and its dialogs are accessible in the %s theme', async (theme) => {
  await openList({ theme })
  await expectAccessible(page, theme)
  await page.getByRole('button', { name: 'Actions for cpu' }).click()
  await expectAccessible(page, theme)
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  await expectAccessible(page, theme)
  await page.keyboard.press('Escape')
  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').waitFor()
  await expectAccessible(page, theme)
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Help' }).waitFor()
  await expectAccessible(page, theme)
})

test('the selected theme is kept', async () => {
  await openList()
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
  expect(await theme()).toBe('dark')
  await page.getByRole('button', { name: 'Light theme' }).click()
  expect(await theme()).toBe('light')
  await page.reload()
  await page.waitForSelector('tbody a.name')
  expect(await theme()).toBe('light')
})
