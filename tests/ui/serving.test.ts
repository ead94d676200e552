// The UI is part of the program: its page, its files, its addresses.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { launch, openPage, Server } from './fixtures'

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.start(['matmul'])
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
})

test('the page and its scripts come packed, with a tag that saves the second time', async () => {
  const html = await fetch(server.url)
  expect(html.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(html.headers.get('content-security-policy')).toContain("default-src 'none'")
  const text = await html.text()
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(text)![1]!
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

test('the address of a profile is the page, a file that is not there is not', async () => {
  const page = await fetch(`${server.url}/profile/matmul`)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('<div id="app">')
  expect((await fetch(`${server.url}/assets/none.js`)).status).toBe(404)
})

test('the browser has nothing to complain about', async () => {
  const page = await openPage(browser, `${server.url}/profile/matmul`)
  await page.waitForSelector('header')
  await page.waitForTimeout(500)
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
