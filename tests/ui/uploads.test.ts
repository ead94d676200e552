// Uploads: every kind of capture, by file dialog and by drag and drop, and failures.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Profile } from '../../ui/src/model/api'
import { CAPTURES, closePages, DATA, expectAccessible, launch, openPage, ROOT, Server } from './fixtures'

const SLOW = 30_000
const CONFLICT = /status of 409/
const GONE = /ERR_|Failed to load resource/

let server: Server
let browser: Browser
let folder: string
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-files-'))
  server = await Server.over(join(folder, 'workspace'))
})

afterEach(async () => {
  if (page && !page.isClosed()) {
    expect(page.consoleErrors).toEqual([])
    await page.close()
  }
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
const dialog = () => page.getByRole('dialog', { name: 'Upload Profile' })
const nameField = () => dialog().getByRole('textbox', { name: 'Profile name' })
const send = () => dialog().getByRole('button', { name: 'Upload', exact: true })
const entry = async (name: string) => (await (await fetch(`${server.url}/api/v1/profiles/${name}`)).json()) as Profile
const uploads = async () => ((await (await fetch(`${server.url}/api/v1/uploads`)).json()) as { uploads: unknown[] }).uploads

async function openDialog(allow?: RegExp) {
  page = await openPage(browser, server.url, { allow, width: 1440 })
  await page.getByRole('button', { name: 'Upload Profile', exact: true }).click()
  await dialog().waitFor()
}

async function choose(button: string, paths: string | string[]) {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), dialog().getByRole('button', { name: button }).click()])
  await chooser.setFiles(paths)
}

async function expectReady(name: string) {
  await dialog().waitFor({ state: 'detached' })
  await row(name).getByText('Ready', { exact: true }).waitFor({ timeout: SLOW })
}

/** Simulates drag and drop from a file manager. */
async function drop(paths: string[]) {
  const session = await page.context().newCDPSession(page)
  const data = { items: [], files: paths, dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await session.send('Input.dispatchDragEvent', { type, x: 600, y: 400, data })
  }
  await session.detach()
}

function makeSession(): string {
  const run = join(folder, 'session', 'plugins/profile/run')
  mkdirSync(run, { recursive: true })
  cpSync(join(DATA, CAPTURES.matmul), join(run, 'vm.xplane.pb'))
  writeFileSync(join(run, '.DS_Store'), 'x')
  return join(folder, 'session')
}

test.each([
  [CAPTURES.matmul, 'jax_matmul_h200', 'XPlane (JAX, TensorFlow, PyTorch/XLA)', 'xplane'],
  [CAPTURES.cpu, 'cpu_only', 'Kineto trace (PyTorch), gzip', 'kineto'],
  [CAPTURES.neuron, 'system_profile', 'Neuron JSON', 'neuron-explorer'],
])('%s: picked, its kind told, named after the file, uploaded, processed', async (path, name, kind, format) => {
  await openDialog()
  expect(await send().isDisabled()).toBe(true)
  await choose('Individual Files', join(DATA, path))
  await dialog().getByText(`Recognized: ${kind}`, { exact: true }).waitFor()
  expect(await nameField().inputValue()).toBe(name)
  await send().click()
  await expectReady(name)
  expect((await entry(name)).format).toBe(format)
})

/** Zstandard with blocks that are not compressed: a header with the size, then blocks of up to 128 KiB. */
function zstdFrame(content: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32LE(0xfd2fb528, 0)
  header[4] = 0xe0
  header.writeBigUInt64LE(BigInt(content.length), 5)
  const parts: Uint8Array[] = [header]
  for (let at = 0; at < content.length; at += 1 << 17) {
    const block = content.subarray(at, at + (1 << 17))
    const head = Buffer.alloc(3)
    head.writeUIntLE((block.length << 3) | (at + block.length === content.length ? 1 : 0), 0, 3)
    parts.push(head, block)
  }
  return Buffer.concat(parts)
}

test('a name is required; an edited one is kept; Zstandard is taken', async () => {
  const compressed = join(folder, 'vm.xplane.pb.zst')
  writeFileSync(compressed, zstdFrame(readFileSync(join(DATA, CAPTURES.matmul))))
  await openDialog()
  await nameField().fill('mine')
  await choose('Individual Files', compressed)
  await dialog().getByText(/^Recognized: XPlane .*, zstd$/).waitFor()
  expect(await nameField().inputValue()).toBe('mine')
  await nameField().fill(' ')
  expect(await send().isDisabled()).toBe(true)
  await nameField().fill('mine')
  await send().click()
  await expectReady('mine')
})

test('a directory: hidden files are skipped and listed', async () => {
  await openDialog()
  await choose('Directory Upload', makeSession())
  await dialog().getByText('1 file skipped').click()
  expect(await dialog().textContent()).toContain('hidden files are not uploaded')
  expect(await nameField().inputValue()).toBe('session')
  await send().click()
  await expectReady('session')
  expect((await entry('session')).events).toBe(10_584)
})

test('a recording directory', async () => {
  const recorded = join(folder, 'recorded')
  const made = spawnSync(process.env.KYMO ?? join(ROOT, 'bin/kymo'), ['inspect', '-o', recorded, join(ROOT, 'bin/examples/training'), '20'])
  expect(made.status).toBe(0)
  await openDialog()
  await choose('Directory Upload', recorded)
  await send().click()
  await expectReady('recorded')
  expect((await entry('recorded')).format).toBe('kymo-session')
})

test('a dropped file', async () => {
  page = await openPage(browser, server.url)
  await page.getByText('No profiles yet').waitFor()
  await drop([join(DATA, CAPTURES.cpu)])
  await dialog().waitFor()
  await dialog().getByText('Recognized: Kineto trace (PyTorch), gzip', { exact: true }).waitFor()
  expect(await nameField().inputValue()).toBe('cpu_only')
  await send().click()
  await expectReady('cpu_only')
})

test('a dropped folder', async () => {
  page = await openPage(browser, server.url)
  await page.getByText('No profiles yet').waitFor()
  await drop([makeSession()])
  await dialog().waitFor()
  await dialog().getByText('Recognized: XPlane', { exact: false }).waitFor()
  expect(await dialog().getByRole('list', { name: 'Files' }).textContent()).toContain('session/plugins/profile/run/vm.xplane.pb')
  await send().click()
  await expectReady('session')
})

test('an existing name is rejected, and replaced when forced', async () => {
  await openDialog(CONFLICT)
  await choose('Individual Files', join(DATA, CAPTURES.matmul))
  await nameField().fill('same')
  await send().click()
  await expectReady('same')
  await page.getByRole('button', { name: 'Upload Profile', exact: true }).click()
  await choose('Individual Files', join(DATA, CAPTURES.cpu))
  await nameField().fill('same')
  await send().click()
  await dialog().getByRole('alert').filter({ hasText: "profile 'same' already exists" }).waitFor()
  expect(await nameField().getAttribute('aria-invalid')).toBe('true')
  await expectAccessible(page)
  await dialog().getByRole('checkbox', { name: /Force Upload/ }).check()
  await dialog().getByRole('button', { name: 'Retry' }).click()
  await dialog().waitFor({ state: 'detached' })
  await row('same').getByText('PyTorch (Kineto)').waitFor({ timeout: SLOW })
})

test('an unreadable file fails with the reason, in the list and on its page; it can be processed again', async () => {
  await openDialog(CONFLICT)
  await choose('Individual Files', join(DATA, 'xplane/corrupted.xplane.pb'))
  await send().click()
  await dialog().waitFor({ state: 'detached' })
  await row('corrupted').getByRole('button', { name: 'Failed' }).click({ timeout: SLOW })
  const reason = (await entry('corrupted')).reason!
  expect(reason.length).toBeGreaterThan(10)
  await page.locator('tr.reason').getByText(reason).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Process again' }).click()
  await row('corrupted').getByRole('button', { name: 'Failed' }).waitFor({ timeout: SLOW })
  await row('corrupted').getByRole('link').click()
  await page.getByRole('heading', { name: 'Processing failed' }).waitFor()
  expect(await page.getByRole('main').textContent()).toContain(reason)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Process again' }).click()
  await page.getByRole('heading', { name: 'Processing failed' }).waitFor({ timeout: SLOW })
  await page.getByRole('link', { name: 'Back to profiles' }).click()
  await row('corrupted').waitFor()
})

test('NEFF and NTFF files are uploaded with sources; the result is shown', async () => {
  writeFileSync(join(folder, 'model.neff'), 'neff')
  writeFileSync(join(folder, 'profile.ntff'), 'ntff')
  writeFileSync(join(folder, 'train.py'), 'print()')
  await openDialog()
  await choose('Individual Files', [join(folder, 'model.neff'), join(folder, 'profile.ntff')])
  await choose('Add source files…', join(folder, 'train.py'))
  const files = dialog().getByRole('list', { name: 'Files' })
  expect(await files.getByRole('listitem').count()).toBe(3)
  expect(await files.textContent()).toContain('source/train.py')
  await dialog().getByRole('button', { name: 'Remove source/train.py' }).click()
  expect(await files.getByRole('listitem').count()).toBe(2)
  await send().click()
  await dialog().waitFor({ state: 'detached' })
  await row('model').getByRole('button', { name: 'Failed' }).click({ timeout: SLOW })
  await page.locator('tr.reason').waitFor()
})

test('a file over the upload limit is rejected, and nothing is kept', async () => {
  await server.stop(true)
  server = await Server.over(join(folder, 'workspace'), ['--upload-limit', '1'])
  const large = join(folder, 'large.xplane.pb')
  writeFileSync(large, '')
  truncateSync(large, 2 ** 30 + 1)
  await openDialog(GONE)
  await choose('Individual Files', large)
  await send().click()
  const problem = dialog().getByRole('alert').filter({ hasText: /bytes at most|--upload-limit/ })
  await problem.waitFor({ timeout: SLOW })
  expect(await dialog().getByRole('list', { name: 'Files' }).textContent()).toMatch(/bytes at most|--upload-limit/)
  await expect.poll(uploads).toEqual([])
})

test('a long upload shows progress and can be canceled', async () => {
  const large = join(folder, 'large.xplane.pb')
  writeFileSync(large, '')
  truncateSync(large, 2 ** 29)
  page = await openPage(browser, server.url)
  const session = await page.context().newCDPSession(page)
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 2e6 })
  await page.getByRole('button', { name: 'Upload Profile', exact: true }).click()
  await choose('Individual Files', large)
  await send().click()
  await dialog().getByText(/ of 537 MB · .*\/s/).waitFor()
  await dialog().getByRole('progressbar', { name: 'Upload progress' }).waitFor()
  await expectAccessible(page)
  await dialog().getByRole('button', { name: 'Cancel upload' }).click()
  await dialog().getByText('Upload canceled. No files were kept on the server.').waitFor()
  await expect.poll(uploads).toEqual([])
  await session.detach()
})

/** Large enough for processing to be observed. */
function writeLargeTrace(): string {
  const path = join(folder, 'large.json')
  const events = Array.from(
    { length: 400_000 },
    (_, at) => `{"ph":"X","cat":"cpu_op","name":"op${at % 50}","pid":1,"tid":${at % 8},"ts":${at},"dur":7}`,
  )
  writeFileSync(path, `{"schemaVersion":1,"deviceProperties":[],"traceEvents":[${events.join(',\n')}]}`)
  return path
}

test('processing resumes after a restart of the server, and the page reconnects', async () => {
  await openDialog(GONE)
  await choose('Individual Files', writeLargeTrace())
  await send().click()
  await dialog().waitFor({ state: 'detached', timeout: SLOW })
  await row('large').waitFor()
  const port = new URL(server.url).port
  await server.stop(true)
  await page.getByRole('alert').filter({ hasText: 'not responding' }).waitFor({ timeout: SLOW })
  server = await Server.over(join(folder, 'workspace'), ['--port', port])
  await row('large').getByText('Ready', { exact: true }).waitFor({ timeout: SLOW })
  await page.getByRole('alert').waitFor({ state: 'detached' })
  expect((await entry('large')).events).toBe(400_000)
})

test('the page of an unfinished profile shows progress, and opens it when it is ready', async () => {
  await openDialog()
  await choose('Individual Files', join(DATA, CAPTURES.matmul))
  await nameField().fill('slow')
  await send().click()
  await expectReady('slow')
  // Responses as during processing, for as long as the test needs.
  let status: 'uploaded' | 'processing' | null = 'uploaded'
  await page.route('**/api/v1/profiles/slow', async (route) => {
    if (status === null) return route.continue()
    const answer = (await (await fetch(route.request().url())).json()) as object
    await route.fulfill({ json: { ...answer, status, percent: 42 } })
  })
  await page.route('**/api/v1/profiles/slow/process', (route) => route.fulfill({ status: 202, json: { name: 'slow', status: 'uploaded' } }))
  await row('slow').getByRole('link').click()
  await page.getByText('slow is queued for processing').waitFor()
  status = 'processing'
  await page.getByText('42 %').waitFor()
  expect(await page.getByRole('progressbar').getAttribute('value')).toBe('42')
  await expectAccessible(page)
  status = null
  await page.getByRole('combobox', { name: 'Search events' }).waitFor()
})

test('a profile stays when its replacement cannot be read, and shows the reason', async () => {
  await openDialog()
  await choose('Individual Files', join(DATA, CAPTURES.matmul))
  await nameField().fill('kept')
  await send().click()
  await expectReady('kept')
  await page.getByRole('button', { name: 'Upload Profile', exact: true }).click()
  await choose('Individual Files', join(DATA, 'xplane/corrupted.xplane.pb'))
  await nameField().fill('kept')
  await dialog().getByRole('checkbox', { name: /Force Upload/ }).check()
  await send().click()
  await dialog().waitFor({ state: 'detached' })
  await row('kept').getByRole('button', { name: 'Ready, update failed' }).click({ timeout: SLOW })
  await page.locator('tr.reason').getByText('damaged or truncated').waitFor()
  await row('kept').getByText('10,584').waitFor()
})
