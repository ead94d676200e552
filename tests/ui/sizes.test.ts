// Pages on a phone and on a large screen: nothing is cut off, and controls do not overlap.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

const SQL = `sql=${encodeURIComponent('SELECT number, duration_ns / 1e6 AS ms FROM Step')}&grids=${encodeURIComponent('{"Result":{"choices":{"chart":"bars"}}}')}`
const PAGES: Record<string, (page: Page) => Promise<void>> = {
  '/': (page) => page.getByRole('link', { name: 'gpt', exact: true }).first().waitFor(),
  '/profile/gpt?event=s36': (page) => page.getByRole('list', { name: 'Top kernels' }).waitFor(),
  [`/profile/gpt?panel=maximized&tab=sql&${SQL}`]: (page) => page.getByRole('img', { name: 'ms by number' }).waitFor(),
  '/profile/gpt?tool=overview_page': (page) => page.getByRole('list', { name: 'Where a step goes' }).waitFor(),
  '/profile/gpt?tool=memory_profile': (page) => page.getByRole('grid', { name: 'Alive at the peak' }).waitFor(),
}

/** Controls and texts beyond the edges of the window that nothing scrolls to, and controls that lie on each other. */
function faults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const nameOf = (one: Element) => `${one.tagName} ${(one.getAttribute('aria-label') ?? one.textContent ?? '').trim().slice(0, 40)}`
    const isScrolled = (one: Element | null): boolean => one !== null && (/auto|scroll|hidden/.test(getComputedStyle(one).overflowX) ? one !== document.body : isScrolled(one.parentElement))
    const isShown = (one: Element) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.hidden-text, [inert], select') && one.getBoundingClientRect().width > 1
    const shown = [...document.querySelectorAll('button, a, input, select, h1, h2, h3, p, label, dd')].filter(isShown)
    const found = shown
      .filter((one) => {
        const { left, right } = one.getBoundingClientRect()
        return (right > innerWidth + 1 || left < -1) && !isScrolled(one.parentElement)
      })
      .map((one) => `cut off: ${nameOf(one)}`)
    const controls = [...document.querySelectorAll('header :is(button, a, input, select)')].filter(isShown).map((one) => ({ one, box: one.getBoundingClientRect() }))
    controls.forEach(({ one, box }, at) => {
      for (const other of controls.slice(at + 1)) {
        const isInside = one.contains(other.one) || other.one.contains(one) || one.parentElement === other.one.parentElement?.parentElement
        const width = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left)
        const height = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top)
        if (!isInside && width > 2 && height > 2) found.push(`overlap: ${nameOf(one)}, ${nameOf(other.one)}`)
      }
    })
    return found
  })
}

test.each([[390, 844, 'dark'], [3840, 2160, 'light']] as const)('pages fit into %s × %s', async (width, height, theme) => {
  for (const [address, isReady] of Object.entries(PAGES)) {
    const page = await openPage(browser, server.url + address, { width, height, theme })
    await isReady(page)
    expect([address, ...(await faults(page))]).toEqual([address])
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    await expectAccessible(page, theme)
    if (process.env.KYMO_SCREENSHOTS) await page.screenshot({ path: `${process.env.KYMO_SCREENSHOTS}/${width}-${address.replaceAll(/\W+/g, '_').slice(0, 40)}.png` })
    expect(page.consoleErrors).toEqual([])
    await page.close()
  }
})

test('on a phone, the details of an event cover the page and can be closed', async () => {
  const page = await openPage(browser, `${server.url}/profile/gpt?event=s36`, { width: 390, height: 844 })
  await page.getByRole('button', { name: 'Details panel' }).click()
  const panel = page.getByRole('region', { name: 'Event details' })
  await panel.getByRole('heading', { name: 'fusion_410' }).waitFor()
  const box = (await panel.boundingBox())!
  expect([Math.round(box.x), Math.round(box.x + box.width)]).toEqual([0, 390])
  await page.getByRole('button', { name: 'Details panel' }).click()
  await page.getByRole('tab', { name: 'Summary' }).click()
  await page.close()
})
