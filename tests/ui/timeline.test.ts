// Rendering of the timeline and navigation in it, on real captures, to the pixel.
import { connect, createServer, type AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, expectAccessible, launch, openPage, Server } from './fixtures'
import { Api, complete, isColored, canvasBox, pixels, spanOf, xOf, yOf, type Item } from './timeline-page'

let server: Server
let browser: Browser
let gpt: Api
let tpu: Api

beforeAll(async () => {
  server = await Server.shared()
  browser = await launch({ webgl: true })
  gpt = new Api(server.url, 'gpt')
  tpu = new Api(server.url, 'tpu')
})

afterAll(async () => {
  await closePages(browser)
})

type Opened = Page & { consoleErrors: string[] }

async function open(path: string, options: Parameters<typeof openPage>[2] = {}): Promise<Opened> {
  const page = await openPage(browser, `${server.url}/profile/${path}`, options)
  await complete(page)
  return page
}

async function close(page: Opened): Promise<void> {
  expect(page.consoleErrors).toEqual([])
  await page.close()
}

test('an event is drawn exactly from its start to its end', async () => {
  const track = await gpt.track(/^Stream #14/)
  const [from, to] = [27_100_000_000, 27_300_000_000]
  const page = await open(`gpt?span=${from}-${to}`)
  const row = (await gpt.items(track.id, from, to)).filter((item) => item.row === 0)
  const perPixel = (to - from) / (await canvasBox(page)).width
  const alone = row.find((item, at) => {
    const [before, after] = [row[at - 1]?.end ?? Infinity, row[at + 1]?.start ?? -Infinity]
    const isWide = item.count === 1 && item.end - item.start > 8 * perPixel
    return isWide && item.start - before > 4 * perPixel && after - item.end > 4 * perPixel
  })!
  const [x0, x1] = [Math.round(await xOf(page, alone.start)), Math.round(await xOf(page, alone.end))]
  const line = await pixels(page, x0 - 2, (await yOf(page, track.id)) - 7, x1 - x0 + 4)
  const drawn = line.map(isColored)
  expect(drawn.slice(0, 2)).toEqual([false, false])
  expect(drawn.slice(2, x1 - x0 + 1).every(Boolean)).toBe(true)
  expect(drawn.slice(x1 - x0 + 2)).toEqual([false, false])
  await close(page)
})

test('through a tunnel to another port, as by ssh -L, the timeline is drawn', async () => {
  const track = await gpt.track(/^Stream #14/)
  const tunnel = createServer((near) => {
    const far = connect(Number(new URL(server.url).port), '127.0.0.1')
    near.on('error', () => far.destroy()).pipe(far)
    far.on('error', () => near.destroy()).pipe(near)
  })
  await new Promise<void>((done) => tunnel.listen(0, '127.0.0.1', done))
  const url = `http://localhost:${(tunnel.address() as AddressInfo).port}/profile/gpt?span=27100000000-27300000000`
  const page = await openPage(browser, url)
  await complete(page)
  const box = await canvasBox(page)
  expect((await pixels(page, box.x, await yOf(page, track.id), Math.floor(box.width))).some(isColored)).toBe(true)
  await close(page)
  tunnel.close()
})

test('90 seconds into a profile, a range of microseconds is exact to the pixel', async () => {
  const track = (await tpu.tracks()).find((candidate) => candidate.role === 'ops' && candidate.event_count > 0)!
  const items = await tpu.items(track.id, 90_000_000_000_000, 91_000_000_000_000)
  const late = items.find((item) => item.row === 0 && item.count === 1 && item.start > 9e13)!
  const [from, to] = [late.start - 1_000_000, late.start + 1_000_000]
  const page = await open(`tpu?span=${from}-${to}`)
  const x = Math.round(await xOf(page, late.start))
  const line = (await pixels(page, x - 3, (await yOf(page, track.id)) - 7, 6)).map(isColored)
  const isNear = (item: Item) => item.row === 0 && item.end > late.start - 4_000 && item.start < late.start
  const before = (await tpu.items(track.id, from, to)).some(isNear)
  if (!before) expect(line.slice(0, 3)).toEqual([false, false, false])
  expect(line.slice(3)).toEqual([true, true, true])
  await close(page)
})

test('no frame is blank while panning and zooming', async () => {
  const track = (await tpu.tracks()).find((candidate) => candidate.role === 'modules' && candidate.event_count > 0)!
  const page = await open('tpu?span=30000000000000-31000000000000')
  const box = await canvasBox(page)
  const y = (await yOf(page, track.id)) - 7
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 5)
  const keys = 'dddddwwwwdddsssssaaaadd'
  for (const key of keys) {
    await page.keyboard.press(key)
    const colored = (await pixels(page, box.x, y, Math.floor(box.width))).filter(isColored).length
    expect(colored / box.width).toBeGreaterThan(0.6)
  }
  await close(page)
})

test('every key and gesture moves the viewport', async () => {
  const page = await open('gpt?span=40000000000-60000000000')
  const box = await canvasBox(page)
  const middle = { x: box.x + box.width / 2, y: box.y + 60 }
  await page.mouse.move(middle.x, middle.y)
  const changes = async (act: () => Promise<unknown>) => {
    const before = await spanOf(page)
    await act()
    await expect.poll(() => spanOf(page)).not.toEqual(before)
    await complete(page)
    const after = await spanOf(page)
    // The URL follows with a delay.
    await expect.poll(() => page.url()).toContain(`span=${Math.round(after.from)}-${Math.round(after.to)}`)
    return { before, after, ratio: (after.to - after.from) / (before.to - before.from), by: after.from - before.from }
  }
  expect((await changes(() => page.keyboard.press('w'))).ratio).toBeCloseTo(0.6, 2)
  expect((await changes(() => page.keyboard.press('s'))).ratio).toBeCloseTo(1 / 0.6, 2)
  expect((await changes(() => page.keyboard.press('a'))).by).toBeLessThan(0)
  expect((await changes(() => page.keyboard.press('d'))).by).toBeGreaterThan(0)
  expect((await changes(() => page.keyboard.press('ArrowLeft'))).by).toBeLessThan(0)
  expect((await changes(() => page.keyboard.press('ArrowRight'))).by).toBeGreaterThan(0)
  expect((await changes(() => page.mouse.wheel(0, -100))).ratio).toBeLessThan(0.9)
  expect((await changes(() => page.mouse.wheel(0, 100))).ratio).toBeGreaterThan(1.1)
  expect((await changes(() => page.mouse.wheel(60, 0))).by).toBeGreaterThan(0)
  await page.keyboard.down('Shift')
  expect((await changes(() => page.mouse.wheel(0, -60))).by).toBeLessThan(0)
  await page.keyboard.up('Shift')
  const drag = async (from: number, to: number) => {
    await page.mouse.move(from, middle.y)
    await page.mouse.down()
    await page.mouse.move((from + to) / 2, middle.y)
    await page.mouse.move(to, middle.y)
    await page.mouse.up()
  }
  const zoomed = await changes(() => drag(box.x + 100, box.x + 100 + box.width / 4))
  expect(zoomed.ratio).toBeCloseTo(0.25, 2)
  await page.keyboard.down('Shift')
  const panned = await changes(() => drag(middle.x, middle.x - 100))
  await page.keyboard.up('Shift')
  expect(panned.ratio).toBeCloseTo(1, 6)
  expect(panned.by / (panned.after.to - panned.after.from)).toBeCloseTo(100 / box.width, 2)
  await page.keyboard.press('0')
  await expect.poll(() => spanOf(page)).toEqual(await gpt.span())
  await page.goBack()
  await expect.poll(() => spanOf(page)).toEqual(panned.after)
  await close(page)
})

test('the wheel over the names and the arrow keys scroll the tracks', async () => {
  const page = await open('gpt')
  const last = page.locator('.row[aria-label^="py_xla_callback"]')
  expect(await last.count()).toBe(0)
  await page.mouse.move(100, (await canvasBox(page)).y + 100)
  await page.mouse.wheel(0, 5000)
  await last.waitFor()
  for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowUp')
  await page.locator('.row[aria-label="GPU 0"]').waitFor()
  await close(page)
})

test('shortcuts are off while typing', async () => {
  const page = await open('gpt?markers=50000000000!here')
  await page.getByRole('button', { name: /^Marker here/ }).dblclick()
  const before = await spanOf(page)
  await page.keyboard.type('wasd0')
  expect(await spanOf(page)).toEqual(before)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^Marker wasd0/ }).waitFor()
  await close(page)
})

test('a reload restores the same frame', async () => {
  const page = await open('gpt?span=27100000000-29000000000&color=opcode&height=24&pinned=19&collapsed=17&markers=28000000000!x')
  // Not the icons beside the names: Chromium does not smooth their edges alike each time.
  const frame = async () => {
    await page.getByRole('complementary', { name: 'Legend' }).getByText('fusion').waitFor()
    await complete(page)
    return { text: await page.getByTestId('timeline').innerText(), picture: await page.screenshot({ clip: await canvasBox(page) }) }
  }
  const settled = async () => {
    let last = await frame()
    await expect.poll(async () => {
      const before = last
      last = await frame()
      return last.picture.equals(before.picture)
    }).toBe(true)
    return last
  }
  const first = await settled()
  await page.reload()
  const second = await settled()
  expect(second.text).toBe(first.text)
  expect(second.picture.equals(first.picture)).toBe(true)
  await close(page)
})

test('the overview shows the visible range and moves it', async () => {
  const page = await open('gpt?span=40000000000-60000000000')
  const strip = (await page.getByRole('slider', { name: 'Visible range' }).boundingBox())!
  const busy = await pixels(page, strip.x, strip.y + strip.height - 2, Math.floor(strip.width))
  expect(new Set(busy.map(String)).size).toBeGreaterThan(1)
  await page.mouse.click(strip.x + 0.8 * strip.width, strip.y + 10)
  const span = await spanOf(page)
  expect((span.from + span.to) / 2 / 141_733_159_000).toBeCloseTo(0.8, 2)
  expect(span.to - span.from).toBeCloseTo(20e9, -3)
  await close(page)
})

test('a failed request is reported and can be retried', async () => {
  const page = await openPage(browser, 'about:blank', { allow: /503|Failed to load/ })
  await page.route('**/timeline', (route) => route.fulfill({ status: 503, json: { error: 'Too much at once.' } }))
  await page.goto(`${server.url}/profile/gpt`)
  await page.getByRole('alert').getByText('Too much at once.').waitFor()
  await page.unroute('**/timeline')
  await page.getByRole('button', { name: 'Retry' }).click()
  await complete(page)
  expect(await page.getByRole('alert').count()).toBe(0)
  await close(page)
})

test('all captures open without console errors or accessibility findings, in both themes', async () => {
  for (const [profile, theme] of [['tpu', 'light'], ['neuron', 'dark'], ['torch', 'light']] as const) {
    const page = await open(profile, { theme })
    expect(Number(await page.locator('[data-testid="timeline"]').getAttribute('data-drawn-slices'))).toBeGreaterThan(5)
    expect(page.consoleErrors).toEqual([])
    await expectAccessible(page)
    await page.close()
  }
})

test('rendering recovers from a lost WebGL context', async () => {
  const page = await openPage(browser, `${server.url}/profile/gpt?span=27100000000-27300000000`, { allow: /context/i })
  await complete(page)
  const before = await page.locator('.canvas').screenshot()
  await page.locator('.canvas canvas').first().evaluate(async (canvas) => {
    const loss = (canvas as HTMLCanvasElement).getContext('webgl2')!.getExtension('WEBGL_lose_context')!
    const lost = new Promise((done) => canvas.addEventListener('webglcontextlost', done, { once: true }))
    loss.loseContext()
    await lost
    const restored = new Promise((done) => canvas.addEventListener('webglcontextrestored', done, { once: true }))
    setTimeout(() => loss.restoreContext(), 50)
    await restored
  })
  await complete(page)
  await expect.poll(async () => (await page.locator('.canvas').screenshot()).equals(before)).toBe(true)
  await close(page)
})

test('it is accessible with markers, a box, arrows, a legend and hidden tracks', async () => {
  for (const theme of ['dark', 'light'] as const) {
    const all = 'event=s36&markers=26000000000!a~27000000000!b&box=26000000000-26500000000_8.19&color=opcode&hidden=9&pinned=18'
    const page = await open(`gpt?span=25800000000-27400000000&${all}`, { theme })
    await page.getByTestId('arrow-cause').waitFor()
    await page.getByRole('button', { name: '1 hidden' }).click()
    await page.getByRole('menuitem', { name: 'Show all' }).waitFor()
    expect(page.consoleErrors).toEqual([])
    await expectAccessible(page, theme)
    await page.close()
  }
})
