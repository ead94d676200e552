// The Source tab: files with their time, source text with the time of each line, and the stack of an event.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { ask, setTheme, sourceOf } from './tab-helpers'

let file: string // as the capture names it
let root: string
let server: Server
let browser: Browser

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kymo-source-'))
  mkdirSync(join(root, 'workloads'))
  const lines = Array.from({ length: 400 }, (_, at) => `    return layer_${at + 1}(x)  # line ${at + 1}`)
  writeFileSync(join(root, 'workloads/jax_gpt.py'), lines.join('\n') + '\n')
  server = await Server.start(['gpt', 'tpu'], ['--framework-source-root', root])
  file = await sourceOf(server, 'jax_gpt.py')
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
  rmSync(root, { recursive: true, force: true })
})

const open = async (address: string, options: Parameters<typeof openPage>[2] = {}) => {
  const page = await openPage(browser, server.url + address, options)
  await page.getByRole('tablist').waitFor()
  return page
}
const text = (page: Page) => page.getByRole('region', { name: `Source of ${file}` })
const line = (page: Page, number: number) => text(page).locator(`[data-line="${number}"]`)
const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)
const fileUrl = () => `/profile/gpt?tab=source&file=${encodeURIComponent(file)}`

describe('with a source folder', () => {
  test('lines show the time of their events, and link to them', async () => {
    const [[number, count, total, first]] = (await ask(server, 'gpt',
      `SELECT o.source_line, count(*), sum(r.duration_ns)::DOUBLE, arg_min(r.id, r.start_ts) FROM HloRun r JOIN HloOperation o ON o.id = r.operation_id
       WHERE o.source_file = '${file}' AND r.kind = 'operation' GROUP BY 1 ORDER BY 3 DESC LIMIT 1`)) as [[number, number, number, number]]
    const page = await open(`${fileUrl()}&line=${number}`)
    const time = line(page, number).getByRole('button')
    await time.waitFor()
    expect(await time.getAttribute('title')).toBe(`${count.toLocaleString('en-US')} events, ${total} ns: show on the timeline`)
    expect(await line(page, number).locator('code').innerText()).toBe(`    return layer_${number}(x)  # line ${number}`)
    expect(await line(page, number).locator('code .keyword').innerText()).toBe('return')
    expect(await line(page, number).locator('code .comment').innerText()).toBe(`# line ${number}`)
    await time.click()
    await page.waitForURL((url) => url.searchParams.get('event') === `h${first}`)
    expect(parameter(page, 'q')).toBe(`file:"${file}" line:${number}`)
    expect(parameter(page, 'tab')).toBe('source')
    await page.getByRole('tab', { name: /^Search [\d,]+/ }).waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('only the visible lines are in the DOM', async () => {
    const page = await open(`${fileUrl()}&line=390`)
    await line(page, 390).waitFor()
    expect(await text(page).locator('[data-line]').count()).toBeLessThan(120)
    expect(await line(page, 1).count()).toBe(0)
    await page.close()
  })

  test('selecting an event opens its line and shows its stack', async () => {
    const [[run]] = (await ask(server, 'gpt',
      `SELECT min(r.id) FROM HloRun r JOIN HloOperation o ON o.id = r.operation_id
       WHERE o.source_file = '${file}' AND o.source_line = 25 AND o.op_name NOT LIKE '%transpose%'`)) as [[number]]
    const page = await open(`/profile/gpt?tab=source&event=h${run}`)
    await line(page, 25).waitFor()
    await expect.poll(() => parameter(page, 'file')).toBe(file)
    expect(await line(page, 25).getAttribute('class')).toContain('current')
    const frames = page.getByRole('list', { name: 'Stack' }).getByRole('button')
    await frames.nth(3).waitFor()
    expect((await frames.allInnerTexts()).map((words) => words.replaceAll(/\s+/g, ' '))).toEqual([
      'fwd jax_gpt.py:25', 'loss jax_gpt.py:28', 'train_step jax_gpt.py:32', '<module> jax_gpt.py:36',
    ])
    await frames.nth(2).click()
    await expect.poll(() => parameter(page, 'line')).toBe('32')
    await expect.poll(() => line(page, 32).getAttribute('class')).toContain('current')
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('files are listed with their time; a missing one explains what to do', async () => {
    const [[file, total]] = (await ask(server, 'gpt',
      "SELECT o.source_file, sum(r.duration_ns)::DOUBLE / 1e6 FROM HloRun r JOIN HloOperation o ON o.id = r.operation_id WHERE r.kind = 'operation' AND o.source_file LIKE '%update.py' GROUP BY 1")) as [[string, number]]
    const page = await open('/profile/gpt?tab=source', { allow: /404/ })
    const files = page.getByRole('list', { name: 'Files' }).getByRole('button')
    await files.first().waitFor()
    expect((await files.first().innerText()).replaceAll(/\s+/g, ' ')).toMatch(/^jax_gpt\.py [\d.]+ ms$/)
    await files.filter({ hasText: 'update.py' }).click()
    expect(await files.filter({ hasText: 'update.py' }).innerText()).toContain(total.toPrecision(3))
    await page.waitForURL((url) => url.searchParams.get('file') === file)
    await page.getByText(/not found: looked for the longest ending of this path, at least \S+, below --framework-source-root/).waitFor()
    await page.getByText('kymo view --framework-source-root FOLDER').waitFor()
    await page.getByRole('button', { name: /^Show events of line/ }).first().click() // lines are known without the text
    await page.waitForURL((url) => url.searchParams.has('event'))
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test("a TPU's operations have their stacks as well", async () => {
    const page = await open('/profile/tpu?tab=source&event=s105', { allow: /404/ })
    const frames = page.getByRole('list', { name: 'Stack' }).getByRole('button')
    await frames.first().waitFor()
    expect(await frames.first().innerText()).toBe('host_offload_stress_test.py:37')
    expect(await frames.count()).toBe(6)
    await page.getByRole('button', { name: 'Show events of line 29' }).waitFor()
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test.each(['dark', 'light'] as const)('the text is accessible in the %s theme', async (theme) => {
    const page = await open(`${fileUrl()}&line=25&event=h100`, { theme })
    await setTheme(page, theme)
    await line(page, 25).getByRole('button').waitFor()
    await expectAccessible(page, theme)
    await page.close()
  })
})

test('without a source folder it explains how to set one', async () => {
  const other = await Server.over(server.workspace)
  const page = await openPage(browser, other.url + fileUrl(), { allow: /404/ })
  await page.getByText('the server was started without --framework-source-root').waitFor()
  await page.getByRole('button', { name: /^Show events of line/ }).first().waitFor()
  expect(page.consoleErrors).toEqual([])
  await page.close()
  await other.stop(true)
})
