// A profile in a frame of a page of another origin, as in a notebook: the token in its address is all it has.
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, launch, openPage, Server } from './fixtures'
import { isColored, pixels } from './timeline-page'

const TOKEN = 'a-token-of-this-test-0123456789'

let server: Server
let notebook: HttpServer
let browser: Browser

beforeAll(async () => {
  server = await Server.start(['matmul'], ['--allow-frames', '--token', TOKEN])
  notebook = createServer((_, answer) => {
    answer.setHeader('Content-Type', 'text/html')
    answer.end(`<!doctype html><link rel="icon" href="data:,"><iframe src="${server.url}/profile/matmul?token=${TOKEN}" width="800" height="480"></iframe>`)
  })
  await new Promise<void>((done) => notebook.listen(0, '127.0.0.1', done))
  browser = await launch({ webgl: true })
})

afterAll(async () => {
  await closePages(browser)
  notebook?.close()
  await server?.stop()
})

/** Another port of the same host is the same site for cookies; another name for this machine is not. */
test.each(['localhost', '127.0.0.1'])('the timeline draws in a frame of a page on %s', async (host) => {
  const page = await openPage(browser, `http://${host}:${(notebook.address() as AddressInfo).port}/`)
  const frame = page.frameLocator('iframe')
  await frame.locator('[data-testid="timeline"][data-complete="true"]').waitFor()
  const box = (await frame.locator('.canvas').boundingBox())!
  const drawn = await pixels(page, box.x, box.y, Math.floor(box.width), Math.floor(box.height))
  expect(drawn.filter(isColored).length).toBeGreaterThan(500)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
