// The UI served from the binary: page, assets, routes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { closePages, launch, openPage, Server } from './fixtures'
import { complete } from './timeline-page'

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

test('page and scripts are compressed, with an ETag for revalidation', async () => {
  const html = await fetch(server.url)
  expect(html.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(html.headers.get('content-security-policy')).toContain("default-src 'none'")
  const text = await html.text()
  const script = /src="\.(\/assets\/[^"]+\.js)"/.exec(text)![1]!
  const first = await fetch(server.url + script)
  expect(first.headers.get('content-encoding')).toBe('gzip')
  expect(first.headers.get('content-type')).toMatch(/javascript/)
  const tag = first.headers.get('etag')!
  const second = await fetch(server.url + script, { headers: { 'If-None-Match': tag } })
  expect(second.status).toBe(304)
  const plain = await fetch(server.url + script, { headers: { 'Accept-Encoding': 'identity' } })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(await plain.text()).toBe(await first.text())
})

test('the route of a profile serves the page, a missing file is 404', async () => {
  const page = await fetch(`${server.url}/profile/matmul`)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('<div id="app">')
  expect((await fetch(`${server.url}/assets/none.js`)).status).toBe(404)
})

test('the browser console stays empty', async () => {
  const page = await openPage(browser, `${server.url}/profile/matmul`)
  await complete(page)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
