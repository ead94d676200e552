// The SQL console and the table browser.
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { ask, cells, grid } from './tab-helpers'

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
const editor = (page: Page) => page.getByRole('textbox', { name: 'Query' })
const typed = async (page: Page) => (await editor(page).locator('.cm-line').allTextContents()).join('\n')

/** Puts the cursor between the characters of a query of one line. */
async function moveTo(page: Page, position: number) {
  await editor(page).focus()
  await page.keyboard.press('Control+Home')
  for (let i = 0; i < position; i++) await page.keyboard.press('ArrowRight')
}

describe('the console', () => {
  test('runs a query with Ctrl+Enter, keeps it in the URL, and runs it again on reload', async () => {
    const query = 'SELECT id, name, duration_ns FROM Step ORDER BY id'
    const page = await open('/profile/gpt?tab=sql')
    await editor(page).fill(query)
    await page.keyboard.press('Control+Enter')
    const rows = await cells(page, 'Result')
    expect(rows[0]!.slice(0, 2)).toEqual(['0', 'train'])
    expect(new URL(page.url()).searchParams.get('sql')).toBe(query)
    await page.getByText(/^in [\d.]+ m?s$/).waitFor()
    await page.reload()
    expect(await cells(page, 'Result')).toEqual(rows)
    await expect.poll(() => typed(page)).toBe(query)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('keeps a history, newest first', async () => {
    const page = await open('/profile/gpt?tab=sql')
    for (const query of ['SELECT 1 AS a', 'SELECT 2 AS b', 'SELECT 1 AS a']) {
      await editor(page).fill(query)
      await page.keyboard.press('Control+Enter')
      await grid(page, 'Result').getByRole('columnheader', { name: query.slice(-1) }).waitFor()
    }
    await page.reload()
    const history = page.getByRole('combobox', { name: 'History' })
    await history.waitFor()
    expect((await history.locator('option').allInnerTexts()).slice(1)).toEqual(['SELECT 1 AS a', 'SELECT 2 AS b'])
    await history.selectOption('SELECT 2 AS b')
    expect(await typed(page)).toBe('SELECT 2 AS b')
    await page.getByRole('button', { name: 'Clear history' }).click()
    expect(await history.isDisabled()).toBe(true)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test("shows DuckDB's error message", async () => {
    const page = await open('/profile/gpt?tab=sql&sql=SELECT+nam+FROM+Step', { allow: /400/ })
    const alert = page.getByRole('alert')
    await alert.waitFor()
    expect(await alert.innerText()).toContain('Binder Error')
    expect(await alert.innerText()).toContain('"nam" not found')
    await editor(page).fill('DROP TABLE Step')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await expect.poll(() => alert.innerText()).not.toContain('Binder Error')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test.each(['gpt', 'torch', 'neuron'])('every example runs on %s', async (profile) => {
    const page = await open(`/profile/${profile}?tab=sql`)
    const examples = page.getByRole('combobox', { name: 'Examples' })
    await examples.locator('option').nth(1).waitFor({ state: 'attached' })
    const queries = await examples.locator('option').evaluateAll((all) => all.slice(1).map((one) => (one as HTMLOptionElement).value))
    expect(queries.length).toBeGreaterThanOrEqual(3)
    for (const query of queries) expect((await ask(server, profile, query)).length, query).toBeGreaterThan(0)
    await examples.selectOption(queries[0]!)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await grid(page, 'Result').waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('inserts names from the list of tables, which has descriptions', async () => {
    const page = await open('/profile/gpt?tab=sql')
    const list = page.getByRole('complementary', { name: 'Tables and columns' })
    await editor(page).fill('SELECT  FROM ')
    await moveTo(page, 13)
    await list.getByRole('button', { name: 'Step', exact: true }).click()
    expect(await typed(page)).toBe('SELECT  FROM Step')
    await moveTo(page, 7)
    await list.getByRole('button', { name: 'Columns of Step', exact: true }).click()
    await list.getByText('Step number set by the program.').waitFor()
    await list.getByRole('list', { name: 'Columns of Step', exact: true }).getByRole('button', { name: /^number/ }).click()
    expect(await typed(page)).toBe('SELECT number FROM Step')
    await list.getByRole('searchbox').fill('occupancy_perc')
    await list.getByRole('button', { name: /^occupancy_percent/ }).waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test.each(['dark', 'light'] as const)('highlights, and completes columns, tables and functions by keys, in the %s theme', async (theme) => {
    const page = await open('/profile/gpt?tab=sql', { theme })
    const list = page.getByRole('listbox', { name: 'Completions' })
    const first = () => list.getByRole('option').first().innerText()
    await page.getByRole('button', { name: 'Columns of GpuKernel', exact: true }).waitFor() // what it completes is there
    await editor(page).fill("SELECT k.occupancy_perc FROM GpuKernel k WHERE name = 'a'")
    await moveTo(page, 23)
    await page.keyboard.press('Control+Space')
    await list.waitFor()
    expect(await first()).toMatch(/^occupancy_percent/)
    await expectAccessible(page, theme)
    await page.keyboard.press('Tab')
    expect(await typed(page)).toBe("SELECT k.occupancy_percent FROM GpuKernel k WHERE name = 'a'")
    expect(await list.count()).toBe(0)
    const colors = await editor(page).locator('.cm-line span').evaluateAll((all) => all.map((one) => [one.textContent, getComputedStyle(one).color]))
    const colorOf = (text: string) => colors.find(([word]) => word === text)?.[1]
    expect(colorOf('SELECT')).toBe(colorOf('WHERE'))
    expect(new Set([colorOf('SELECT'), colorOf("'a'"), await editor(page).evaluate((one) => getComputedStyle(one).color)]).size).toBe(3)
    await editor(page).fill('SELECT medi')
    await page.keyboard.press('Control+Space')
    await list.waitFor()
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.get('tab')).toBe('sql')
    await page.keyboard.press('Control+Space')
    await expect.poll(first).toMatch(/^median/)
    await page.waitForTimeout(120) // the editor takes a key for one of typing, not of choosing, right after the list opens
    await page.keyboard.press('Enter')
    expect(await typed(page)).toBe('SELECT median')
    await editor(page).fill('FROM ')
    await page.keyboard.press('End')
    await page.keyboard.type('Ste')
    await expect.poll(first).toMatch(/^Step/)
    await page.keyboard.press('Control+Enter')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('draws a chart of the result, which the address keeps', async () => {
    const sql = encodeURIComponent('SELECT number, duration_ns / 1e6 AS ms, id * 1.0 AS other FROM Step ORDER BY number')
    const page = await open(`/profile/gpt?tab=sql&sql=${sql}`)
    await page.getByRole('combobox', { name: 'Chart' }).selectOption('bars')
    await page.getByRole('combobox', { name: 'Along the axis' }).selectOption('number')
    await page.getByRole('checkbox', { name: 'other' }).uncheck().catch(() => {})
    await page.getByRole('checkbox', { name: 'ms' }).check()
    await page.getByRole('img', { name: /ms.* by number/ }).waitFor()
    await page.getByRole('combobox', { name: 'Chart' }).selectOption('lines')
    await expect.poll(() => new URL(page.url()).searchParams.get('grids')).toContain('lines')
    await page.reload()
    const [[number, ms]] = (await ask(server, 'gpt', 'SELECT number, duration_ns / 1e6 FROM Step ORDER BY number LIMIT 1')) as [[number, number]]
    const row = page.getByRole('slider', { name: 'Row', exact: true })
    await row.focus()
    await page.keyboard.press('Home')
    expect(await row.getAttribute('aria-valuetext')).toContain(`${number}: `)
    expect(await row.getAttribute('aria-valuetext')).toContain(`ms ${ms.toLocaleString('en-US', { maximumSignificantDigits: 4 })}`)
    await expectAccessible(page)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('reports truncation, shows NULL, and links to events', async () => {
    const page = await open('/profile/torch?tab=sql&sql=FROM+range(150000)')
    await page.getByText('Truncated: there are more rows.').waitFor()
    expect(await grid(page, 'Result').getAttribute('aria-rowcount')).toBe('100001')
    await editor(page).fill("SELECT NULL AS a, '' AS b")
    await page.keyboard.press('Control+Enter')
    await grid(page, 'Result').getByRole('gridcell').first().getByText('NULL').waitFor()
    expect(await grid(page, 'Result').getByRole('gridcell').nth(1).innerText()).toBe('')
    await editor(page).fill('SELECT id, name FROM GpuKernel ORDER BY duration_ns DESC LIMIT 3')
    await page.keyboard.press('Control+Enter')
    await grid(page, 'Result').getByRole('columnheader', { name: 'name' }).waitFor()
    const [[id]] = (await ask(server, 'torch', 'SELECT id FROM GpuKernel ORDER BY duration_ns DESC LIMIT 1')) as [[number]]
    await grid(page, 'Result').locator('[aria-rowindex="2"]').click()
    await page.waitForURL((url) => url.searchParams.get('event') === `s${id}`)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('downloads all rows as CSV', async () => {
    const page = await open('/profile/gpt?tab=sql&sql=SELECT+id,+name+FROM+Step+ORDER+BY+id')
    await grid(page, 'Result').waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'All rows as CSV' }).click()])
    const lines = readFileSync(await download.path(), 'utf8').trim().split(/\r?\n/)
    expect(lines[0]).toBe('id,name')
    expect(lines).toHaveLength(21)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('a long query can be canceled', async () => {
    const page = await open('/profile/gpt?tab=sql')
    await editor(page).fill('SELECT count(*) FROM range(10000000000) a, range(100) b')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Query the profile with SQL.').waitFor()
    await editor(page).fill('SELECT 7 AS seven')
    await page.keyboard.press('Control+Enter')
    await grid(page, 'Result').getByRole('columnheader', { name: 'seven' }).waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})

describe('the table browser', () => {
  test('pages through a table, sorted and filtered by the server', async () => {
    const page = await open('/profile/gpt?tab=tables&table=GpuKernel')
    await page.getByText('1–1,000 of 6,360').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('1,001–2,000 of 6,360').waitFor()
    await grid(page, 'GpuKernel').getByRole('columnheader', { name: 'duration_ns' }).getByRole('button').click()
    await page.getByText('1–1,000 of 6,360').waitFor()
    const [longest] = (await ask(server, 'gpt', 'SELECT max(duration_ns) FROM GpuKernel')) as [[number]]
    await expect.poll(async () => (await cells(page, 'GpuKernel'))[0]![4]).toBe(longest[0].toLocaleString('en-US'))
    await page.getByRole('searchbox', { name: 'Filter rows' }).fill('fusion_410')
    const [[count]] = (await ask(server, 'gpt', "SELECT count(*) FROM GpuKernel WHERE name LIKE '%fusion\\_410%' ESCAPE '\\'")) as [[number]]
    await page.getByText(`1–${count} of ${count}`).waitFor()
    await expect.poll(async () => new Set((await cells(page, 'GpuKernel')).map((row) => row[1]))).toEqual(new Set(['fusion_410']))
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('describes columns, links to events, and downloads the table', async () => {
    const page = await open('/profile/gpt?tab=tables')
    await page.getByRole('navigation', { name: 'Tables' }).getByRole('button', { name: /^Step / }).click()
    await page.getByText('Program steps: annotated on the host, recorded by devices, or guessed.').waitFor()
    expect(new URL(page.url()).searchParams.get('table')).toBe('Step')
    const heading = grid(page, 'Step').getByRole('columnheader', { name: 'number' }).getByRole('button')
    expect(await heading.getAttribute('title')).toBe('number: Step number set by the program.')
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Whole table as CSV' }).click()])
    expect(readFileSync(await download.path(), 'utf8').trim().split(/\r?\n/)).toHaveLength(21)
    const [[id]] = (await ask(server, 'gpt', 'SELECT event_id FROM Step LIMIT 1')) as [[number]]
    await grid(page, 'Step').locator('[aria-rowindex="2"]').click()
    await page.waitForURL((url) => url.searchParams.get('event') === `s${id}`)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('lists every table with its row count', async () => {
    const page = await open('/profile/neuron?tab=tables')
    const buttons = page.getByRole('navigation', { name: 'Tables' }).getByRole('button')
    await buttons.first().waitFor()
    const tables = (await (await fetch(`${server.url}/api/v1/profiles/neuron/tables`)).json()) as { tables: { name: string; rows: number }[] }
    expect((await buttons.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual(
      tables.tables.map((table) => `${table.name} ${table.rows.toLocaleString('en-US')}`),
    )
    await page.close()
  })
})
