// The Markers tab: names, times, differences, and sets stored with the profile.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, launch, openPage, Server } from './fixtures'

let server: Server
let browser: Browser

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
})

const open = async (address: string, options: Parameters<typeof openPage>[2] = {}) => {
  const page = await openPage(browser, server.url + address, options)
  await page.getByRole('tablist').waitFor()
  return page
}
const rows = (page: Page) => page.getByRole('region', { name: 'Markers' }).locator('tbody tr')
const MARKS = 'markers=1000000000!begin~3500000000!middle~9000000000!end'

test('differences are relative to the reference marker, and intervals can be zoomed to', async () => {
  const page = await open(`/profile/matmul?tab=markers&${MARKS}`)
  await rows(page).first().waitFor()
  const differences = () => rows(page).locator('td:nth-child(3)').allInnerTexts()
  expect(await differences()).toEqual(['—', '+2.50000 ms', '+8.00000 ms'])
  await page.getByLabel('Reference').selectOption({ label: 'middle' })
  expect(await differences()).toEqual(['−2.50000 ms', '—', '+5.50000 ms'])
  expect(await rows(page).nth(0).locator('td:nth-child(3)').getAttribute('title')).toBe('-2500000000 ps')
  await rows(page).nth(2).getByRole('button', { name: 'Zoom to interval' }).click()
  await page.waitForURL((url) => url.searchParams.has('span'))
  expect(new URL(page.url()).searchParams.get('span')).toBe('2950000000-9550000000')
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a marker is renamed in place, deleted, added and all are cleared', async () => {
  const page = await open(`/profile/matmul?tab=markers&${MARKS}`)
  await page.getByRole('textbox', { name: 'Marker 2 name' }).fill('half ~ way')
  await page.keyboard.press('Tab')
  await expect.poll(() => new URL(page.url()).searchParams.get('markers')).toBe('1000000000!begin~3500000000!half %7E way~9000000000!end')
  await page.getByRole('button', { name: 'Delete begin' }).click()
  expect(await rows(page).count()).toBe(2)
  await page.getByRole('button', { name: 'Add marker' }).click()
  expect(await rows(page).count()).toBe(3)
  await page.getByRole('tab', { name: 'Markers 3' }).waitFor()
  await page.getByRole('button', { name: 'Clear all' }).click()
  await page.getByText('No markers.').waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

test('a set is saved under a name, loaded in another session, and deleted', async () => {
  const page = await open(`/profile/matmul?tab=markers&${MARKS}`, { allow: /40\d/ })
  await page.getByRole('textbox', { name: 'Set name' }).fill('../mine')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').waitFor() // rejected by the server
  await page.getByRole('textbox', { name: 'Set name' }).fill('mine & yours')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Load mine & yours' }).waitFor()
  await page.goto(`${server.url}/profile/matmul?tab=markers`)
  await page.getByRole('button', { name: 'Load mine & yours' }).click()
  await rows(page).nth(2).waitFor()
  const names = await rows(page).getByRole('textbox').evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value))
  expect(names).toEqual(['begin', 'middle', 'end'])
  await page.getByRole('button', { name: 'Delete set mine & yours' }).click()
  await page.getByText('No saved sets.').waitFor()
  const kept = (await (await fetch(`${server.url}/api/v1/profiles/matmul/markers`)).json()) as { sets: string[] }
  expect(kept.sets).toEqual([])
  expect(page.consoleErrors).toEqual([])
  await page.close()
})
