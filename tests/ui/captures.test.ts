// Captures over the network, from the page of profiles.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { CAPTURES, closePages, DATA, expectAccessible, launch, openPage, Server } from './fixtures'

let server: Server
let profiler: Http2Server
let browser: Browser
let page: Page & { consoleErrors: string[] }
let asked: Buffer[] = []

/** A ProfileResponse with a profile in it, as a message of gRPC. */
function answer(profile: Buffer): Buffer {
  const head: number[] = [8 << 3 | 2]
  let size = profile.length
  for (; size > 127; size >>>= 7) head.push((size & 127) | 128)
  head.push(size)
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(head.length + profile.length, 1)
  return Buffer.concat([prefix, Buffer.from(head), profile])
}

beforeAll(async () => {
  browser = await launch({ webgl: false })
  profiler = createServer()
  profiler.on('stream', (stream) => {
    const parts: Buffer[] = []
    stream.on('data', (part: Buffer) => parts.push(part))
    stream.on('end', () => {
      asked.push(Buffer.concat(parts))
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(answer(readFileSync(join(DATA, CAPTURES.matmul))))
    })
  })
  await new Promise<void>((done) => profiler.listen(0, '127.0.0.1', done))
})

afterAll(async () => {
  profiler.close()
  await closePages(browser)
})

beforeEach(async () => {
  asked = []
  server = await Server.start(['cpu'])
  page = await openPage(browser, server.url)
  await page.waitForSelector('tbody a.name')
})

afterEach(async () => {
  expect(page.consoleErrors).toEqual([])
  await page.close()
  await server.stop()
})

const dialog = () => page.getByRole('dialog', { name: 'Capture from running programs' })
const address = () => `127.0.0.1:${(profiler.address() as AddressInfo).port}`

async function open() {
  await page.getByRole('button', { name: 'Capture', exact: true }).click()
  await dialog().waitFor()
}

test('a capture is asked for, and its profile opens when it is there', async () => {
  await open()
  await expectAccessible(page)
  await dialog().getByLabel('Addresses').fill(address())
  await dialog().getByLabel('Duration, ms').fill('20')
  await dialog().getByLabel('Host events').selectOption('3')
  await dialog().getByLabel('Python calls').check()
  await dialog().getByLabel('Profile name').fill('my capture')
  if (process.env.KYMO_SCREENSHOT) await page.screenshot({ path: process.env.KYMO_SCREENSHOT })
  await dialog().getByRole('button', { name: 'Capture', exact: true }).click()
  await page.waitForURL(/profile\/my(%20|\+)capture/)
  await page.waitForFunction(() => document.title.startsWith('my capture'))
  await page.waitForSelector('[data-testid="timeline"]')
  expect(asked.length).toBe(1)
  const options = asked[0]!.toString('latin1')
  expect(options).toContain('\x10\x03\x18\x01\x20\x01\x28\x01') // host 3, device 1, Python 1, version 1
})

test('a capture that fails is captured again, not uploaded, and leaves nothing behind', async () => {
  const free = createServer()
  await new Promise<void>((done) => free.listen(0, '127.0.0.1', done))
  const silent = (free.address() as AddressInfo).port
  await new Promise<void>((done) => free.close(() => done()))
  await open()
  await dialog().getByLabel('Addresses').fill(`127.0.0.1:${silent}`)
  await dialog().getByLabel('Profile name').fill('nothing')
  await dialog().getByRole('button', { name: 'Capture', exact: true }).click()
  await page.getByRole('heading', { name: 'The capture failed' }).waitFor()
  expect(await page.getByRole('main').innerText()).not.toMatch(/upload/i)
  expect(readdirSync(join(server.workspace, 'uploads'))).toEqual(['.lock'])
  await page.getByRole('link', { name: 'Back to profiles' }).click()
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'nothing', exact: true }) })
  await row.getByRole('button', { name: 'Capture failed' }).click()
  await expectAccessible(page)
  // The program is there now, so the same capture succeeds.
  const late = createServer()
  late.on('stream', (stream) => profiler.emit('stream', stream))
  await new Promise<void>((done) => late.listen(silent, '127.0.0.1', done))
  await page.getByRole('button', { name: 'Capture again' }).click()
  await row.getByText('Ready', { exact: true }).waitFor()
  await expect.poll(() => readdirSync(join(server.workspace, 'uploads'))).toEqual(['.lock'])
  late.close()
})

test('wrong addresses and options are said in the dialog, and what was entered is there again', async () => {
  await open()
  await dialog().getByLabel('Addresses').fill('nowhere')
  await dialog().getByRole('button', { name: 'Capture', exact: true }).click()
  await dialog().getByText("'nowhere' is not an address, such as host:9999 or [::1]:9999").waitFor()
  await dialog().getByLabel('Addresses').fill(address())
  await dialog().getByLabel('Further options').fill('dely_ms=5')
  await dialog().getByRole('button', { name: 'Capture', exact: true }).click()
  await dialog().getByText("unknown option 'dely_ms'; did you mean 'delay_ms'?").waitFor()
  await dialog().getByLabel('Further options').fill('delay_ms=5')
  await dialog().getByRole('button', { name: 'Capture', exact: true }).click()
  await page.waitForURL(/profile\/127\.0\.0\.1/)
  await page.goto(server.url)
  await open()
  expect(await dialog().getByLabel('Addresses').inputValue()).toBe(address())
  page.consoleErrors.length = 0 // the browser reports the two refusals
})

test('a server that may not connect to others has no such button', async () => {
  await server.stop(true)
  server = await Server.over(server.workspace, ['--host', '0.0.0.0', '--token', 'a'.repeat(16)])
  await page.goto(`${server.url}/?token=${'a'.repeat(16)}`)
  await page.waitForSelector('tbody a.name')
  await page.waitForLoadState('networkidle')
  expect(await page.getByRole('button', { name: 'Upload Profile', exact: true }).count()).toBe(1)
  expect(await page.getByRole('button', { name: 'Capture', exact: true }).count()).toBe(0)
})
