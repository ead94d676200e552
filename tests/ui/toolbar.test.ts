// The profile toolbar: all its controls change the view, and the URL keeps it.
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { PLACES, placesOf } from '../../ui/src/model/places'
import { tabsOf } from '../../ui/src/model/tabs'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'

const REFUSED_QUERY = /status of 400/

let server: Server
let browser: Browser
let page: Page & { consoleErrors: string[] }

beforeAll(async () => {
  server = await Server.start(['gpt', 'cpu', 'matmul'])
  browser = await launch({ webgl: false })
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

afterEach(async () => {
  expect(page.consoleErrors).toEqual([])
  await page.close()
})

const searchBox = () => page.getByRole('combobox', { name: 'Search events' })
const parameter = (name: string) => new URL(page.url()).searchParams.get(name)

async function open(path = '/profile/gpt', options: Parameters<typeof openPage>[2] = {}) {
  page = await openPage(browser, server.url + path, options)
  await searchBox().waitFor()
}

test('it shows name and size of the profile, and links to the profile list', async () => {
  await open()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('gpt')
  expect(await page.getByRole('banner').textContent()).toContain('15,335 events · 88.89 ms · XPlane')
  await page.getByRole('link', { name: 'All profiles' }).click()
  await page.waitForURL(`${server.url}/`)
  await page.goBack()
  await searchBox().waitFor()
})

test.each([1280, 1920, 3840])('it fits in one line at %i pixels, without clipping', async (width) => {
  await open('/profile/gpt?q=fusion&hit=2', { width, height: 800 })
  await page.getByRole('status').getByText('3 /').waitFor()
  const bar = page.locator('header').first()
  expect((await bar.boundingBox())!.height).toBeLessThanOrEqual(46)
  const cut = await bar.evaluate((element) => {
    const inner = element.getBoundingClientRect()
    return [...element.querySelectorAll<HTMLElement>('h1, p, button, select, input, a, span')]
      .filter((one) => one.offsetParent !== null && !one.classList.contains('hidden-text'))
      .filter((one) => {
        const box = one.getBoundingClientRect()
        const isOutside = box.right > inner.right + 1 || box.top < inner.top - 1 || box.bottom > inner.bottom + 1
        return isOutside || (one.scrollWidth > one.clientWidth + 1 && one.tagName !== 'SPAN')
      })
      .map((one) => one.outerHTML.slice(0, 120))
  })
  expect(cut).toEqual([])
})

test('in a narrow window the view settings move into a popover', async () => {
  await open('/profile/gpt', { width: 800 })
  expect(await page.getByRole('combobox', { name: 'Color by' }).isVisible()).toBe(false)
  await page.getByRole('button', { name: 'View settings' }).click()
  await page.getByRole('combobox', { name: 'Color by' }).selectOption('duration')
  await expect.poll(() => parameter('color')).toBe('duration')
  await page.keyboard.press('Escape')
  await page.getByRole('combobox', { name: 'Color by' }).waitFor({ state: 'hidden' })
})

test('colors, grouping, minimal view and row height are in the URL, survive a reload, and the back button undoes them', async () => {
  await open()
  await page.getByRole('combobox', { name: 'Color by' }).selectOption('module')
  await page.getByRole('combobox', { name: 'Group tracks by' }).selectOption('thread')
  await page.getByRole('button', { name: 'Minimal' }).click()
  await page.getByRole('slider', { name: 'Row height' }).fill('30')
  await expect.poll(() => parameter('height')).toBe('30')
  expect([parameter('color'), parameter('group'), parameter('minimal')]).toEqual(['module', 'thread', '1'])
  await page.reload()
  await searchBox().waitFor()
  expect(await page.getByRole('combobox', { name: 'Color by' }).inputValue()).toBe('module')
  expect(await page.getByRole('combobox', { name: 'Group tracks by' }).inputValue()).toBe('thread')
  expect(await page.getByRole('button', { name: 'Minimal' }).getAttribute('aria-pressed')).toBe('true')
  expect(await page.getByRole('slider', { name: 'Row height' }).inputValue()).toBe('30')
  await page.goBack()
  await expect.poll(() => parameter('minimal')).toBeNull()
  expect(await page.getByRole('button', { name: 'Minimal' }).getAttribute('aria-pressed')).toBe('false')
})

test('the key / focuses the search; results are counted, and next and previous select them', async () => {
  await open()
  await page.keyboard.press('/')
  await page.keyboard.type('name:fusion_410')
  await page.keyboard.press('Enter')
  const answer = (await (await fetch(`${server.url}/api/v1/profiles/gpt/search?q=name:fusion_410&limit=2`)).json()) as {
    count: number; hits: { id: number; table: string }[]
  }
  const hits = page.locator('.hits')
  await hits.getByText(String(answer.count), { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Next result' }).click()
  await hits.getByText(`1 / ${answer.count}`).waitFor()
  const address = (hit: { id: number; table: string }) => (hit.table === 'HloRun' ? 'h' : 's') + hit.id
  await expect.poll(() => parameter('event')).toBe(address(answer.hits[0]!))
  await page.getByRole('button', { name: 'Next result' }).click()
  await expect.poll(() => parameter('event')).toBe(address(answer.hits[1]!))
  await page.getByRole('button', { name: 'Previous result' }).click()
  await page.getByRole('button', { name: 'Previous result' }).click()
  await hits.getByText(`${answer.count} / ${answer.count}`).waitFor()
  await expect.poll(() => parameter('hit')).toBe(String(answer.count - 1))
  await page.reload()
  await hits.getByText(`${answer.count} / ${answer.count}`).waitFor()
  expect(await searchBox().inputValue()).toBe('name:fusion_410')
  await searchBox().fill('')
  await expect.poll(() => parameter('q')).toBeNull()
  expect(await hits.count()).toBe(0)
})

test('an unknown field shows an error with the available fields', async () => {
  await open('/profile/gpt', { allow: REFUSED_QUERY })
  await searchBox().fill('color:red')
  await searchBox().press('Enter')
  const problem = page.getByRole('banner').getByRole('alert')
  await problem.getByText("unknown field 'color'").waitFor()
  expect(await problem.textContent()).toContain('duration')
  expect(await searchBox().getAttribute('aria-invalid')).toBe('true')
  await expectAccessible(page)
  await problem.getByRole('button', { name: 'Dismiss' }).click()
  await problem.waitFor({ state: 'detached' })
})

test('examples and fields are suggested, and accepted with keyboard or mouse', async () => {
  await open()
  await searchBox().focus()
  await page.getByRole('option', { name: /opcode:MATMUL duration>10us layer~attn/ }).waitFor()
  await expectAccessible(page)
  await page.keyboard.type('dur')
  await page.getByRole('option', { name: 'duration', exact: true }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  expect(await searchBox().inputValue()).toBe('duration')
  await page.keyboard.type('>1ms regis')
  await page.getByRole('option', { name: 'registers_per_thread' }).click()
  expect(await searchBox().inputValue()).toBe('duration>1ms registers_per_thread')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  expect(await searchBox().evaluate((element) => element === document.activeElement)).toBe(false)
})

test('the key ? opens the help: shortcuts, search, arrows', async () => {
  await open()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Help' })
  for (const title of ['Shortcuts', 'Search', 'Dependency arrows']) await help.getByRole('heading', { name: title }).waitFor()
  expect(await help.textContent()).toContain('layer~attn')
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await searchBox().focus()
  await page.keyboard.type('a?b/c')
  expect(await searchBox().inputValue()).toBe('a?b/c')
  expect(await help.count()).toBe(0)
})

test('a favorite stays one after a reload', async () => {
  await open('/profile/cpu')
  await page.getByRole('button', { name: 'Favorite' }).click()
  await page.locator('header button[aria-pressed=true][aria-label=Favorite]').waitFor()
  await page.reload()
  await page.locator('header button[aria-pressed=true][aria-label=Favorite]').waitFor()
})

test('renaming keeps the view; deleting returns to the profile list', async () => {
  // Requests in flight under the old name fail with 404.
  await open('/profile/matmul?color=layer', { allow: /status of 404/ })
  await page.getByRole('button', { name: 'Actions for this profile' }).click()
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  await page.getByRole('textbox', { name: /New name/ }).fill('renamed')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toMatch(/\/profile\/renamed\?color=layer&id=[0-9a-f]{16}$/)
  await page.getByRole('heading', { level: 1, name: 'renamed' }).waitFor()
  await searchBox().waitFor()
  await page.getByRole('button', { name: 'Actions for this profile' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL(`${server.url}/`)
  await page.waitForSelector('tbody a.name')
  expect(await page.locator('tbody a.name').allTextContents()).not.toContain('renamed')
})

async function profileId(name: string): Promise<string> {
  return ((await (await fetch(`${server.url}/api/v1/profiles/${name}`)).json()) as { id: string }).id
}

test('the link to the view is copied', async () => {
  await open()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('combobox', { name: 'Color by' }).selectOption('engine')
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('Link copied').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${server.url}/profile/gpt?color=engine&id=${await profileId('gpt')}`)
})

test('without clipboard access the link is shown', async () => {
  await open()
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await page.getByRole('button', { name: 'Copy link' }).click()
  expect(await page.getByRole('textbox', { name: 'Link' }).inputValue()).toBe(`${server.url}/profile/gpt?id=${await profileId('gpt')}`)
})

test('tables are exported as an archive and one by one', async () => {
  await open()
  await page.getByRole('button', { name: 'Export' }).click()
  await expectAccessible(page)
  const [archive] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: /All tables/ }).click()])
  expect(archive.suggestedFilename()).toMatch(/\.tar$/)
  await page.getByRole('button', { name: 'Export' }).click()
  const [table] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'Step.csv (20 rows)', exact: true }).click()])
  expect(table.url()).toContain('format=csv&table=Step')
  expect(table.suggestedFilename()).toMatch(/\.csv$/)
})

test('the device profiles open in a dialog', async () => {
  await open()
  await page.getByRole('button', { name: 'Device profiles' }).click()
  await page.getByRole('dialog', { name: /Device profiles/ }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('an unknown profile shows an error and a link to the profile list', async () => {
  page = await openPage(browser, `${server.url}/profile/none`, { allow: /status of 404/ })
  await page.getByRole('heading', { name: 'Profile “none” not found' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('link', { name: 'Back to profiles' }).click()
  await page.waitForSelector('tbody a.name')
})

test('the command palette finds every place by the names of other guides', async () => {
  await open()
  const palette = page.getByRole('dialog', { name: 'Go to' })
  const isPressed = (name: string) => page.getByRole('button', { name, exact: true }).getAttribute('aria-pressed')
  const arrived: Record<string, () => Promise<unknown>> = {
    Timeline: () => expect.poll(() => parameter('tool')).toBe(null),
    Analysis: () => expect.poll(() => parameter('tool')).not.toBe(null),
    'Box selection': () => expect.poll(() => isPressed('Box selection')).not.toBe(null),
    'Color by': () => expect.poll(() => page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Color by'),
    Export: () => page.getByRole('menuitem', { name: /Perfetto/ }).waitFor(),
    'Actions for this profile': () => page.getByRole('menuitem', { name: 'Rename…' }).waitFor(),
    'Device profiles': () => page.getByRole('dialog', { name: 'Device profiles' }).waitFor(),
    'All profiles': () => page.waitForURL(`${server.url}/`),
    Capture: () => page.getByRole('dialog', { name: 'Capture from running programs' }).waitFor(),
    'Upload Profile': () => page.getByRole('dialog', { name: /Upload/ }).waitFor(),
  }
  const here = placesOf(true, tabsOf(false, 1, 'summary'), () => true).filter((place) => place.others.length > 0)
  expect(here.length).toBeGreaterThan(25)
  for (const { title, others, target } of here) {
    await page.keyboard.press('Control+k')
    await palette.getByRole('combobox').fill(others.at(-1)!)
    expect(await palette.getByRole('option').first().textContent()).toContain(title)
    if (title === 'Timeline') await expectAccessible(page)
    await palette.getByRole('combobox').press('Enter')
    await palette.waitFor({ state: 'detached' })
    if ('tool' in target) await expect.poll(() => parameter('tool')).toBe(target.tool)
    else if ('tab' in target) await page.locator(`#tab-${target.tab}[aria-selected="true"]`).waitFor()
    else await arrived[title]?.()
    await page.keyboard.press('Escape') // a menu or a dialog that is open
    if ('isOfList' in target || title === 'All profiles') {
      await page.goto(`${server.url}/profile/gpt`)
      await searchBox().waitFor()
      await page.locator('body').press('Escape')
    }
  }
  // The help lists the same names.
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Help' })
  for (const { title, others } of PLACES.filter((place) => place.others.length > 0))
    expect((await help.locator('.names div').allTextContents()).map((text) => text.trim())).toContain(others.join(', ') + title)
})
