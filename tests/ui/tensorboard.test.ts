// Kymo's tab in a real TensorBoard, below a path of its own and beside XProf's plug-in.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { CAPTURES, closePages, DATA, launch, openPage, ROOT } from './fixtures'

const PREFIX = '/boards/one'
let folder: string
let board: ChildProcess
let url: string
let browser: Browser

/** The Python of the environment that has the wheel. */
const installedPython = () => execFileSync(join(ROOT, '.venv/bin/python'), [join(ROOT, 'tests/e2e/installed.py')], { encoding: 'utf8' }).trim()

/** Starts TensorBoard on a free port; its address. */
function startBoard(logs: string): Promise<string> {
  board = spawn(
    installedPython(), ['-m', 'tensorboard.main', '--logdir', logs, '--port', '0', '--path_prefix', PREFIX, '--load_fast', 'false'],
    { env: { ...process.env, KYMO: undefined, XDG_DATA_HOME: join(folder, 'data') } },
  )
  return new Promise((done, fail) => {
    let text = ''
    const read = (bytes: Buffer) => {
      text += bytes.toString()
      const match = /at (http:\/\/localhost:\d+)/.exec(text)
      if (match) done(match[1]! + PREFIX)
    }
    board.stdout!.on('data', read)
    board.stderr!.on('data', read)
    board.on('exit', (code) => fail(new Error(`TensorBoard ended with ${code}: ${text}`)))
  })
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-board-'))
  const run = join(folder, 'logs/train/plugins/profile/first')
  mkdirSync(run, { recursive: true })
  cpSync(join(DATA, CAPTURES.matmul), join(run, 'host0.xplane.pb'))
  url = await startBoard(join(folder, 'logs'))
  browser = await launch({ webgl: true })
})

afterAll(async () => {
  await closePages(browser)
  const exited = new Promise((done) => board.on('exit', done))
  board?.kill('SIGTERM')
  await exited
  rmSync(folder, { recursive: true, force: true })
})

const plugin = (path: string) => `${url}/data/plugin/kymo/${path}`

test('the tab is listed beside that of XProf', async () => {
  const listing = (await (await fetch(`${url}/data/plugins_listing`)).json()) as Record<string, { enabled: boolean; tab_name: string }>
  expect(listing.kymo).toMatchObject({ enabled: true, tab_name: 'Kymo', loading_mechanism: { type: 'IFRAME' } })
  if (process.arch === 'x64') expect(listing).toHaveProperty('profile')
})

test('a profile of the log directory is processed, opened and drawn, and its address can be loaded again', async () => {
  const page = await openPage(browser, `${url}/#kymo`)
  const tab = page.frameLocator('iframe')
  await tab.getByRole('link', { name: 'first', exact: false }).first().click()
  await tab.getByText('10,584 events').waitFor()
  await tab.getByText('GPU 0').first().waitFor()
  const frame = page.frames().find((each) => each.url().includes('/data/plugin/kymo/profile/'))!
  await frame.waitForFunction(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.timeline canvas')
    return canvas && canvas.width > 0
  })
  const address = frame.url()
  expect(address).toContain(`${PREFIX}/data/plugin/kymo/profile/`)
  await page.goto(address)
  await page.getByText('10,584 events').waitFor()
  await page.getByRole('link', { name: 'All profiles' }).click()
  await page.waitForURL(plugin(''))
  await page.close()
})

test('what changes profiles, and requests of other sites, are refused', async () => {
  const profiles = await (await fetch(plugin('api/v1/profiles'))).json() as { profiles: { name: string }[] }
  const one = plugin(`api/v1/profiles/${encodeURIComponent(profiles.profiles[0]!.name)}`)
  expect((await fetch(one, { method: 'DELETE' })).status).toBe(403)
  expect((await fetch(plugin('api/v1/uploads'), { method: 'POST', body: '{}' })).status).toBe(403)
  expect((await fetch(plugin('data/plugin/profile/capture_profile?service_addr=localhost:1'))).status).toBe(403)
  const query = { method: 'POST', body: JSON.stringify({ query: 'SELECT 1 AS one' }) }
  expect((await fetch(`${one}/sql`, { ...query, headers: { Origin: 'http://elsewhere.example' } })).status).toBe(403)
  expect((await fetch(`${one}/sql`, query)).status).toBe(200)
})
