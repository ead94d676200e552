// Interactions of the timeline: events, arrows, tracks, colors, markers, box selection, search; checked against the server.
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, launch, openPage, Server } from './fixtures'
import { Api, complete, isColored, canvasBox, pixels, spanOf, xOf, yOf } from './timeline-page'

let server: Server
let browser: Browser
let gpt: Api

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: true })
  gpt = new Api(server.url, 'gpt')
})

afterAll(async () => {
  await closePages(browser)
})

type Opened = Page & { consoleErrors: string[] }

async function open(path: string): Promise<Opened> {
  const page = await openPage(browser, `${server.url}/profile/${path}`)
  await complete(page)
  return page
}

async function close(page: Opened): Promise<void> {
  expect(page.consoleErrors).toEqual([])
  await page.close()
}

function parameter(page: Page, name: string): string | null {
  return new URL(page.url()).searchParams.get(name)
}

function names(page: Page): Promise<string[]> {
  return page.locator('.row[data-track]').evaluateAll((rows) =>
    rows.sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y).map((row) => row.getAttribute('aria-label')!))
}

const NEAR = 'span=27200000000-27250000000' // around the first fusion_410

test('the tooltip shows name, duration, start and track; a click selects the event', async () => {
  const hit = (await gpt.search('name:fusion_410')).hits.find((candidate) => candidate.table === 'SystemProfileEvents')!
  const page = await open(`gpt?${NEAR}`)
  const x = await xOf(page, Number(hit.start) + Number(hit.duration) / 2)
  const y = await yOf(page, hit.track)
  await page.mouse.move(x, y)
  const tip = page.getByRole('tooltip')
  await tip.getByText('fusion_410').waitFor()
  const text = await tip.innerText()
  expect(text).toContain('18.02 µs') // of 18015000 ps
  expect(hit.duration).toBe('18015000')
  expect(text).toContain('27.2157')
  expect(text).toContain('Stream 14')
  await page.mouse.click(x, y)
  await expect.poll(() => parameter(page, 'event')).toBe(`s${hit.id}`)
  // The details panel narrows the canvas: the event moves, and its outline with it.
  const off = async () => {
    const outline = await page.getByTestId('selected').boundingBox()
    if (!outline) return Infinity
    const [left, right] = [await xOf(page, Number(hit.start)), await xOf(page, Number(hit.start) + Number(hit.duration))]
    return Math.max(Math.abs(outline.x - left), Math.abs(outline.x + outline.width - right))
  }
  await page.getByTestId('selected').waitFor()
  await expect.poll(off).toBeLessThan(2.5)
  await page.keyboard.press('f')
  await expect.poll(async () => (await spanOf(page)).to - (await spanOf(page)).from).toBeLessThan(25_000_000)
  await page.keyboard.press('Escape')
  await expect.poll(() => parameter(page, 'event')).toBeNull()
  await close(page)
})

test('the tooltip of an aggregated item shows the number of events', async () => {
  const page = await open('gpt')
  const stream = await gpt.track(/^Stream #14/)
  const span = await spanOf(page)
  const many = (await gpt.items(stream.id, span.from, span.to, 1024)).find((item) => item.count > 5 && item.row === 0)!
  await page.mouse.move(Math.round(await xOf(page, (many.start + many.end) / 2)), await yOf(page, stream.id))
  await page.getByRole('tooltip').getByText(/\d+ events in .* busy/).waitFor()
  await close(page)
})

test('predecessors are drawn as arrows, and a click follows them', async () => {
  const event = await gpt.event(36)
  const cause = event.predecessors[0]!
  const page = await open('gpt?span=25800000000-27400000000&event=s36')
  const arrow = page.getByTestId('arrow-cause')
  await arrow.waitFor()
  expect(await arrow.getAttribute('aria-label')).toContain(cause.name)
  await arrow.locator('.head').click()
  await expect.poll(() => parameter(page, 'event')).toBe(`s${cause.id}`)
  const effects = page.getByTestId('arrow-effect')
  await effects.first().waitFor()
  expect(await effects.count()).toBeGreaterThan(10)
  await page.goBack()
  await expect.poll(() => parameter(page, 'event')).toBe('s36')
  await page.getByTestId('arrow-cause').focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => parameter(page, 'event')).toBe(`s${cause.id}`)
  await close(page)
})

test('tracks collapse, pin, hide, unhide and move, by button and by key', async () => {
  const page = await open('gpt')
  const python = page.locator('.row[aria-label="python3"]')
  const tall = (await python.boundingBox())!.height
  await page.getByRole('button', { name: 'Collapse python3' }).click()
  await expect.poll(async () => (await python.boundingBox())!.height).toBeLessThan(tall / 5)
  expect(parameter(page, 'collapsed')).toBe('17')
  await page.getByRole('button', { name: 'Collapse GPU 0' }).click()
  await expect.poll(() => names(page)).not.toContain('XLA Ops')
  await complete(page)
  const strip = (await page.locator('.row[aria-label="GPU 0"]').boundingBox())!
  const box = await canvasBox(page)
  expect((await pixels(page, box.x, strip.y + 12, Math.floor(box.width))).filter(isColored).length).toBeGreaterThan(50)
  await page.getByRole('button', { name: 'Expand GPU 0' }).click()

  const row = (name: string): Locator => page.locator(`.row[aria-label="${name}"]`)
  await row('Stream 15 · MemcpyH2D').focus()
  await page.keyboard.press('p')
  await expect.poll(async () => (await names(page))[0]).toBe('GPU 0 · Stream 15 · MemcpyH2D')
  expect(parameter(page, 'pinned')).toBe('9')
  await page.getByRole('button', { name: 'Pin GPU 0 · Stream 15 · MemcpyH2D' }).click()
  await expect.poll(async () => (await names(page))[0]).toBe('GPU 0')

  await row('XLA Modules').hover()
  await page.getByRole('button', { name: 'Hide XLA Modules' }).click()
  await expect.poll(() => names(page)).not.toContain('XLA Modules')
  await page.getByRole('button', { name: '1 hidden' }).click()
  await page.getByRole('menuitem', { name: 'Show XLA Modules' }).click()
  await expect.poll(() => names(page)).toContain('XLA Modules')

  expect((await names(page)).slice(0, 3)).toEqual(['GPU 0', 'XLA Modules', 'XLA Ops'])
  await row('XLA Modules').focus()
  await page.keyboard.press('Alt+ArrowDown')
  await expect.poll(async () => (await names(page)).slice(0, 3)).toEqual(['GPU 0', 'XLA Ops', 'XLA Modules'])
  const [first, second] = [(await row('XLA Ops').boundingBox())!, (await row('XLA Modules').boundingBox())!]
  await page.mouse.move(second.x + 60, second.y + 10)
  await page.mouse.down()
  await page.mouse.move(second.x + 60, first.y + 30, { steps: 4 })
  await page.mouse.move(second.x + 60, first.y + 4, { steps: 4 })
  await page.mouse.up()
  await expect.poll(async () => (await names(page)).slice(0, 3)).toEqual(['GPU 0', 'XLA Modules', 'XLA Ops'])
  await close(page)
})

test('row height, grouping and the minimal view are read from the URL', async () => {
  const page = await open('gpt?height=30')
  expect((await page.locator('.row[aria-label="XLA Modules"]').boundingBox())!.height).toBe(36)
  await page.goto(`${server.url}/profile/gpt?minimal=1`)
  await complete(page)
  expect(await names(page)).toEqual([
    'GPU 0', 'XLA Modules', 'XLA Ops', 'Stream 14 · Compute, Memset', 'Stream 15 · MemcpyH2D', 'Host · python3',
  ])
  const groups: Record<string, string[]> = {
    device: ['Devices', 'CPU'], core: ['i-0f3d5c7b91a2e4608 / NC:0', 'i-0f3d5c7b91a2e4608 / NC:3'],
    thread: ['i-0f3d5c7b91a2e4608 / PID 1640253', 'nrt-nc-000'], process: ['i-0a11c2d3e4f506172 / PID 701'],
    instance: ['i-0f3d5c7b91a2e4608', 'i-0a11c2d3e4f506172'], default: ['PID 1640253', 'System'],
  }
  for (const [mode, expected] of Object.entries(groups)) {
    await page.setViewportSize({ width: 1280, height: 2400 })
    await page.goto(`${server.url}/profile/neuron?group=${mode}`)
    await complete(page)
    const shown = await names(page)
    for (const name of expected) expect(shown, mode).toContain(name)
  }
  await close(page)
})

test('colors follow the color mode, and match the legend', async () => {
  const page = await open(`gpt?${NEAR}`)
  const stream = await gpt.track(/^Stream #14/)
  const box = await canvasBox(page)
  const y = (await yOf(page, stream.id)) - 7
  const row = async () => (await pixels(page, box.x, y, Math.floor(box.width))).filter(isColored).map(String)
  const byName = await row()
  expect(await page.getByRole('complementary', { name: 'Legend' }).count()).toBe(0)
  for (const [mode, entry, isAllListed] of [
    ['duration', '1 ms', false], ['engine', 'Stream', true], ['opcode', 'fusion', true], ['layer', 'jit(train_step)', false],
    ['module', 'jit_train_step', true], ['family', 'gemm', true],
  ] as const) {
    await page.goto(`${server.url}/profile/gpt?${NEAR}&color=${mode}`)
    await complete(page)
    const legend = page.getByRole('complementary', { name: 'Legend' })
    await legend.getByText(entry).first().waitFor()
    const shown = await row()
    expect(shown, mode).not.toEqual(byName)
    expect(new Set(shown).size, mode).toBeGreaterThan(0)
    const listed = await legend.locator('i').evaluateAll((swatches) =>
      swatches.map((swatch) => getComputedStyle(swatch).backgroundColor.match(/\d+/g)!.join(',')))
    // Slices of several events, and the gaps between them, are darker.
    if (isAllListed) expect(shown.filter((color) => listed.includes(color)).length, mode).toBeGreaterThan(0.8 * shown.length)
  }
  await page.getByRole('button', { name: 'Kernel family' }).click()
  expect(await page.getByRole('complementary', { name: 'Legend' }).locator('i').count()).toBe(0)
  await close(page)
})

test('markers are set, moved, snapped, renamed and deleted', async () => {
  const hit = (await gpt.search('name:fusion_410')).hits.find((candidate) => candidate.table === 'SystemProfileEvents')!
  const page = await open(`gpt?${NEAR}`)
  const box = await canvasBox(page)
  await page.mouse.move(box.x + 50, box.y + 200)
  await page.keyboard.press('m')
  await page.mouse.click(box.x + 0.8 * box.width, box.y + 200, { button: 'right' })
  await page.keyboard.press('Escape') // the menu; the marker stays
  const first = page.getByRole('button', { name: /^Marker M1/ })
  await first.waitFor()
  await expect.poll(() => (parameter(page, 'markers') ?? '').split('~').length).toBe(2)
  const times = () => (parameter(page, 'markers') ?? '').split('~').map((marker) => Number(marker.split('!')[0]))
  const [one, two] = times() as [number, number]
  await page.locator('.markers .gap').getByText(/µs/).waitFor()
  expect(parseFloat(await page.locator('.markers .gap').innerText())).toBeCloseTo((two - one) / 1e6, 1)

  const flag = (await first.boundingBox())!
  await page.mouse.move(flag.x + 4, flag.y + 5)
  await page.mouse.down()
  await page.mouse.move((await xOf(page, Number(hit.start))) + 4 + 3, flag.y + 5, { steps: 5 })
  await page.mouse.up()
  await expect.poll(() => times().includes(Number(hit.start))).toBe(true)

  await first.dblclick()
  await page.getByRole('textbox', { name: 'Marker name' }).fill('begin ~ 1')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^Marker begin ~ 1/ }).click({ button: 'right' })
  await page.getByRole('menuitem', { name: 'Delete marker' }).click()
  await expect.poll(() => parameter(page, 'markers')).toMatch(/^\d+!M2$/)
  await page.getByRole('button', { name: /^Marker M2/ }).focus()
  await page.keyboard.press('Delete')
  await expect.poll(() => parameter(page, 'markers')).toBeNull()
  await close(page)
})

test('a box selects tracks and time; its totals match the server', async () => {
  const page = await open('gpt?span=27100000000-29000000000')
  const box = await canvasBox(page)
  const pending = page.waitForResponse((response) => response.url().endsWith('/selection'))
  await page.keyboard.down('Alt')
  await page.mouse.move(box.x + 100, await yOf(page, 18))
  await page.mouse.down()
  await page.mouse.move(box.x + 300, await yOf(page, 8), { steps: 4 })
  await page.mouse.up()
  await page.keyboard.up('Alt')
  const answer = (await (await pending).json()) as { count: number }
  const [span, tracks] = parameter(page, 'box')!.split('_') as [string, string]
  expect(tracks.split('.').map(Number).sort((a, b) => a - b)).toEqual([8, 18, 19])
  const [from, to] = span.split('-') as [string, string]
  expect(await xOf(page, Number(from))).toBeCloseTo(box.x + 100, 0)
  expect(await xOf(page, Number(to))).toBeCloseTo(box.x + 300, 0)
  expect(answer.count).toBe((await gpt.selection({ tracks: [8, 18, 19], from, to })).count)
  expect(answer.count).toBeGreaterThan(10)
  await page.reload()
  await complete(page)
  const drawn = (await page.getByTestId('box').boundingBox())!
  expect(Math.abs(drawn.x - box.x - 100)).toBeLessThan(2)
  expect(Math.abs(drawn.width - 200)).toBeLessThan(2)
  await page.keyboard.press('Escape')
  await expect.poll(() => parameter(page, 'box')).toBeNull()
  await page.keyboard.press('b')
  expect(await page.getByRole('button', { name: 'Box selection' }).getAttribute('aria-pressed')).toBe('true')
  await close(page)
})

test('search results are highlighted, here and on the overview', async () => {
  const page = await open(`gpt?${NEAR}`)
  const stream = await gpt.track(/^Stream #14/)
  const hit = (await gpt.search('name:fusion_410')).hits.findIndex((candidate) => candidate.table === 'SystemProfileEvents')
  const box = await canvasBox(page)
  const y = (await yOf(page, stream.id)) - 7
  const plain = await pixels(page, box.x, y, Math.floor(box.width))
  await page.goto(`${server.url}/profile/gpt?${NEAR}&q=name:fusion_410&hit=${hit}`)
  await page.getByTestId('hit').waitFor()
  await complete(page)
  const marked = await pixels(page, box.x, y, Math.floor(box.width))
  const outline = (await page.getByTestId('hit').boundingBox())!
  const inside = Math.round(outline.x + outline.width / 2 - box.x)
  expect(marked[inside]).toEqual(plain[inside])
  const isOutside = (x: number) => x < outline.x - 5 || x > outline.x + outline.width + 5
  const dimmed = plain.findIndex((pixel, x) => isColored(pixel) && isOutside(x + box.x))
  expect(isColored(marked[dimmed]!)).toBe(false)
  const strip = (await page.getByRole('slider', { name: 'Visible range' }).boundingBox())!
  expect((await pixels(page, strip.x, strip.y + 2, Math.floor(strip.width))).filter(isColored).length).toBeGreaterThan(10)
  await close(page)
})

test('the context menu zooms to the event and hides its track', async () => {
  const hit = (await gpt.search('name:fusion_410')).hits.find((candidate) => candidate.table === 'SystemProfileEvents')!
  const page = await open(`gpt?${NEAR}`)
  const x = await xOf(page, Number(hit.start) + Number(hit.duration) / 2)
  const y = await yOf(page, hit.track)
  const choose = async (name: string) => {
    await page.mouse.click(x, y, { button: 'right' })
    await page.getByRole('menuitem', { name }).click()
  }
  await choose('Hide track')
  await expect.poll(() => parameter(page, 'hidden')).toBe(String(hit.track))
  await page.goBack()
  await expect.poll(() => parameter(page, 'hidden')).toBeNull()
  await complete(page)
  await choose('Zoom to event')
  await expect.poll(async () => Math.round((await spanOf(page)).from)).toBe(Number(hit.start) - Number(hit.duration) / 10)
  await page.mouse.click(x, y, { button: 'right' })
  await page.keyboard.press('Escape')
  expect(await page.getByRole('menu').count()).toBe(0)
  await close(page)
})

test('events are selected by keys: the first, then adjacent ones', async () => {
  const page = await open('gpt?span=27100000000-27300000000')
  const modules = await gpt.track(/^XLA Modules/)
  await page.keyboard.press('.')
  await expect.poll(() => parameter(page, 'event')).toBe('h0')
  expect((await gpt.items(modules.id, 27_100_000_000, 27_300_000_000))[0]!.id).toBe(0)
  const stream = await gpt.track(/^Stream #14/)
  const row = (await gpt.items(stream.id, 27_200_000_000, 27_250_000_000)).filter((item) => item.row === 0)
  const at = row.findIndex((item) => item.id === 36)
  await page.goto(`${server.url}/profile/gpt?${NEAR}&event=s36`)
  await page.getByTestId('selected').waitFor()
  await complete(page)
  await page.keyboard.press('.')
  await expect.poll(() => parameter(page, 'event')).toBe(`s${row[at + 1]!.id}`)
  await page.getByTestId('selected').waitFor()
  await page.keyboard.press(',')
  await expect.poll(() => parameter(page, 'event')).toBe('s36')
  await close(page)
})

test('the keys walk to neighbors outside the view, which follows at the same zoom', async () => {
  const stream = await gpt.track(/^Stream #14/)
  const row = (await gpt.items(stream.id, 27_200_000_000, 27_260_000_000)).filter((item) => item.row === 0)
  const at = row.findIndex((item) => item.id === 36)
  const { start, end } = row[at]!
  const page = await open(`gpt?span=${start - 1000}-${end + 1000}&event=s36`)
  await page.getByTestId('selected').waitFor()
  for (const step of [at + 1, at + 2]) {
    await page.keyboard.press('.')
    await expect.poll(() => parameter(page, 'event')).toBe(`s${row[step]!.id}`)
    await page.getByTestId('selected').waitFor()
    await expect.poll(async () => (await spanOf(page)).from).toBeLessThan(row[step]!.end)
    const span = await spanOf(page)
    expect(span.to).toBeGreaterThan(row[step]!.start)
    expect(Math.abs(span.to - span.from - (end - start + 2000))).toBeLessThan(2)
  }
  await page.goBack()
  await page.goBack()
  await expect.poll(() => parameter(page, 'event')).toBe('s36')
  await expect.poll(async () => Math.round((await spanOf(page)).from)).toBe(start - 1000)
  await close(page)
})

test('Back restores the selected event and the zoom, also while the view still moves', async () => {
  const page = await open(`gpt?${NEAR}&event=s36`)
  await page.getByTestId('selected').waitFor()
  const before = await spanOf(page)
  await page.keyboard.press('0')
  await expect.poll(async () => (await spanOf(page)).from).toBeLessThan(before.from)
  await page.keyboard.press('Escape')
  await expect.poll(() => parameter(page, 'event')).toBeNull()
  await page.goBack()
  await expect.poll(() => parameter(page, 'event')).toBe('s36')
  // The animation that a key begins does not go on in what Back restores.
  await page.evaluate(() => {
    for (let i = 0; i < 3; i++) window.dispatchEvent(new KeyboardEvent('keydown', { key: 'w' }))
    history.back()
  })
  await expect.poll(() => spanOf(page)).toEqual(before)
  await complete(page)
  expect(await spanOf(page)).toEqual(before)
  await page.getByTestId('selected').waitFor()
  // The same from another page of the program.
  await page.getByRole('link', { name: 'All profiles' }).click()
  await page.waitForSelector('tbody a.name')
  await page.goBack()
  await page.getByTestId('selected').waitFor()
  expect(await spanOf(page)).toEqual(before)
  expect(parameter(page, 'event')).toBe('s36')
  await close(page)
})

test('following an arrow expands a collapsed track', async () => {
  const page = await open('gpt?span=25800000000-27400000000&event=s36&collapsed=5')
  const arrow = page.getByTestId('arrow-cause')
  await arrow.waitFor()
  expect(await names(page)).not.toContain('python3')
  await arrow.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => names(page)).toContain('python3')
  await close(page)
})

test('a double click zooms to the event, although the details panel opens', async () => {
  const hit = (await gpt.search('name:fusion_410')).hits.find((candidate) => candidate.table === 'SystemProfileEvents')!
  const page = await open(`gpt?${NEAR}`)
  await page.mouse.dblclick(await xOf(page, Number(hit.start) + Number(hit.duration) * 0.8), await yOf(page, hit.track))
  await expect.poll(async () => Math.round((await spanOf(page)).from)).toBe(Number(hit.start) - Number(hit.duration) / 10)
  expect(parameter(page, 'event')).toBe(`s${hit.id}`)
  await close(page)
})
