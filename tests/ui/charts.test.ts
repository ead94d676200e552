// Charts do not lie: what is drawn of a value is measured in the browser (lengths, heights, areas, angles, shades) and compared with the value
// itself, from a query or from what the made-up trace contains, at three widths and in both themes.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { byEngine } from '../../ui/src/model/coloring'
import type { Diff } from '../../ui/src/model/diff'
import { paletteBytes } from '../../ui/src/model/palette'
import { readHeatMap } from '../../ui/src/model/run'
import { closePages, GENERATOR, launch, openPage, Server } from './fixtures'
import { addMadeTrace, COUNTER, DEVICE_BUSY, LENGTH, MEMORY, PACKED, SPARSE, STEPS, STREAMS } from './made-trace'
import { getJson } from './tab-helpers'
import { Api, backOf, canvasBox, complete, PADDING, pixels, ROW, shadesOf, type Area, type Rgb } from './timeline-page'

const WIDTHS = [900, 1280, 1710]
const HEIGHT = 900
const TOLERANCE = 0.02 // of a lie factor: what is drawn by what there is, in proportion

let folder: string
let server: Server
let captures: Server
let plain: Browser
let drawing: Browser

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kymo-charts-'))
  const shape = ['--ranks', '16', '--steps', '20', '--machine-ranks', '4', '--tensor', '2', '--jobs', '2']
  for (const [name, ...options] of [['monday'], ['tuesday', '--straggler', 'compute:5:1.2', '--seed', '2']]) {
    const made = spawnSync(GENERATOR, ['--run', name!, ...shape, ...options, join(folder, 'runs')])
    if (made.status !== 0) throw new Error(`${GENERATOR}: ${made.error ?? made.stderr}`)
  }
  addMadeTrace(join(folder), 'made')
  server = await Server.over(folder, [join(folder, 'runs')])
  captures = await Server.shared()
  plain = await launch({ webgl: false })
  drawing = await launch({ webgl: true })
})

afterAll(async () => {
  await closePages(plain)
  await closePages(drawing)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Sizes are in proportion to values: the lie factor of each is 1. */
function expectTrue(drawn: readonly number[], values: readonly number[], what: string): void {
  expect(drawn.length, what).toBe(values.length)
  const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)
  const unit = sum(drawn) / sum(values)
  const factors = drawn.map((size, at) => size / (values[at]! * unit))
  const worst = Math.max(...factors.map((factor) => Math.abs(factor - 1)))
  expect.soft(worst, `${what}: lie factors ${factors.map((one) => one.toFixed(3)).join(' ')}`).toBeLessThan(TOLERANCE)
}

/** Does something at each width, once the page has its new size. */
async function atEachWidth(page: Page, check: (what: string) => Promise<void>): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT })
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    await check(`${width} px`)
  }
}

const attributes = (all: Locator, ...names: string[]) =>
  all.evaluateAll((elements, keys) => elements.map((one) => keys.map((key) => Number(one.getAttribute(key)))), names)
const boxes = (all: Locator) => all.evaluateAll((elements) => elements.map((one) => one.getBoundingClientRect().width))

describe.each(['dark', 'light'] as const)('in the %s theme', (theme) => {
  const openAt = (browser: Browser, address: string, width = WIDTHS[0]) => openPage(browser, address, { theme, width, height: HEIGHT, allow: /WebGL|willReadFrequently/ })

  test('rows of the timeline are covered as their events cover them; short names are drawn; the strip is as high as devices are busy', async () => {
    const api = new Api(server.url, 'made')
    const tracks = await Promise.all([PACKED, SPARSE].map(({ thread }) => api.track(new RegExp(`\\b${thread}$`))))
    const stream = await api.track(/7$/)
    const slotOf = byEngine(await api.tracks()).ofTrack!
    const pinned = `pinned=${[...tracks, stream].map(({ id }) => id).join('.')}`
    const page = await openAt(drawing, `${server.url}/profile/made?color=engine&${pinned}&span=0-${LENGTH * 1e6}`)
    await complete(page)
    const back = await backOf(page)
    await page.addStyleTag({ content: '.text, .notes, .tab-area { visibility: hidden }' })
    await atEachWidth(page, async (what) => {
      await complete(page)
      const box = await canvasBox(page)
      const areas = await Promise.all(tracks.map(async ({ id }): Promise<Area> => {
        const slot = slotOf(id)
        const y = (await page.locator(`.row[data-track="${id}"]`).boundingBox())!.y + PADDING
        return { x: Math.ceil(box.x), y, width: Math.floor(box.width) - 1, height: ROW - 1, color: [...paletteBytes(theme).subarray(4 * slot, 4 * slot + 3)] as Rgb }
      }))
      const shades = await shadesOf(page, areas, back)
      for (const [at, { period, busy }] of [PACKED, SPARSE].entries()) {
        const { mean, most, filled } = shades[at]!
        expect.soft(Math.abs(mean - busy / period), `${what}: covered ${mean}`).toBeLessThan(TOLERANCE)
        expect.soft(most, `${what}: slices that share a pixel do not overlap`).toBeLessThan(1.05)
        // What covers less than 0.8 of a pixel is drawn at that shade in the light theme, over as much less of the height.
        if (theme === 'light') expect.soft(Math.abs(filled - Math.min(1, busy / period / 0.8)), `${what}: height ${filled}`).toBeLessThan(0.03)
        else expect.soft(most / (busy / period), `${what}: shade ${most}`).toBeLessThan(at === 0 ? 1.02 : 2)
      }
      const strip = page.getByRole('slider', { name: 'Visible range' })
      const [share, full] = await strip.locator('canvas').evaluate((element) => {
        const canvas = element as HTMLCanvasElement
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
        const column = (x: number) => Array.from({ length: canvas.height }, (_, y) => data[4 * (y * canvas.width + x) + 3]! / 255).reduce((a, b) => a + b)
        const columns = Array.from({ length: canvas.width }, (_, x) => column(x) / canvas.height)
        return [columns.reduce((a, b) => a + b) / canvas.width, Math.max(...columns)] as const
      })
      expectTrue([share, 1], [DEVICE_BUSY, 1], `${what}: the strip`)
      expect.soft(full).toBeLessThanOrEqual(1)
      expect.soft(await strip.getAttribute('title')).toMatch(/^GPU 0: 10\.7 % busy\nin the whole profile; full height is 100 %$/)
    })
    // At 29 pixels for "mm", whose letters take about 24.
    const { width, x: left } = await canvasBox(page)
    await page.goto(`${server.url}/profile/made?${pinned}&span=0-${Math.round((STREAMS[0]!.busy * 1e6 * width) / 29)}`)
    await complete(page)
    const row = (await page.locator(`.row[data-track="${stream.id}"]`).boundingBox())!
    const letters = (await pixels(page, left + 1, row.y + PADDING + 3, 27, 11)).filter((one) => Math.max(...one) < 90)
    expect.soft(letters.length, 'pixels of the name').toBeGreaterThan(8)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('bars, lines, areas and rings are as large as their values', async () => {
    const page = await openAt(plain, `${server.url}/profile/made?tab=summary&panel=full`)
    const card = (title: string) => page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) }).last()
    await card('Memory').locator('svg[role=img] path').waitFor()
    await card('Step times').locator('rect.step').first().waitFor()
    await atEachWidth(page, async (what) => {
      const [[whole], [part]] = [await boxes(card('Devices busy').locator('.whole')), await boxes(card('Devices busy').locator('.part'))]
      expectTrue([part!, whole!], [DEVICE_BUSY, 1], `${what}: BarList`)
      expectTrue(await boxes(card('Top kernels').locator('.part')), STREAMS.map(({ busy }) => busy), `${what}: BarList of kernels`)
      const heights = (await attributes(card('Step times').locator('rect.step'), 'height')).flat()
      expectTrue(heights, STEPS, `${what}: StepChart`)
      const chart = card('Memory').locator('svg[role=img]')
      const floor = Math.max(...(await attributes(chart.locator('line.grid'), 'y1')).flat())
      const line = (await chart.locator('path').getAttribute('d'))!
      const levels = [...line.matchAll(/(?:M\S+ |V)([\d.]+)/g)].map((match) => floor - Number(match[1]))
      expectTrue(levels, MEMORY, `${what}: LineChart`)
    })

    await page.goto(`${server.url}/profile/made?tool=overview_page`)
    const steps = page.getByRole('img', { name: /^Step time/ })
    await steps.waitFor()
    await atEachWidth(page, async (what) => {
      const sums = new Map<number, number>()
      for (const [x, height] of await attributes(steps.locator('rect'), 'x', 'height')) sums.set(x!, (sums.get(x!) ?? 0) + height!)
      expectTrue([...sums.values()], STEPS, `${what}: StackedBars`)
    })

    await page.goto(`${server.url}/profile/made?tool=kernel_stats`)
    const ring = page.getByRole('img', { name: /^By kernel/ })
    await ring.waitFor()
    const arcs = await ring.locator('circle').evaluateAll((all) => all.map((one) => Number.parseFloat(getComputedStyle(one).strokeDasharray) / (2 * Math.PI * Number(one.getAttribute('r')))))
    expectTrue([...arcs, 1], [800 / 1370, 570 / 1370, 1], 'Doughnut')

    await page.goto(`${server.url}/profile/made?tool=perf_counters`)
    const area = page.getByRole('slider', { name: `${COUNTER.name} over time` })
    await area.waitFor()
    await atEachWidth(page, async (what) => {
      const { heights, left, right } = await area.locator('svg').evaluate((svg) => {
        const path = svg.querySelector<SVGPathElement>('path')!
        const grid = [...svg.querySelectorAll('line.grid')]
        const [left, right, bottom] = [Number(grid[0]!.getAttribute('x1')), Number(grid[0]!.getAttribute('x2')), Math.max(...grid.map((one) => Number(one.getAttribute('y1'))))]
        const isFilled = (x: number, y: number) => path.isPointInFill(new DOMPoint(x, y))
        /** To the nearest quarter of a pixel. */
        const height = (x: number) => {
          let [low, high] = [0, bottom]
          while (high - low > 0.25) {
            const middle = (low + high) / 2
            if (isFilled(x, bottom - middle)) low = middle
            else high = middle
          }
          return low
        }
        return { heights: Array.from({ length: Math.floor(right - left) }, (_, at) => height(left + at + 0.5)), left, right }
      })
      const pixel = (COUNTER.to - COUNTER.from) / (right - left) // the axis is that of the samples, in µs
      const at = (time: number) => heights[Math.floor((time - COUNTER.from) / pixel)]!
      expectTrue([at(150_000), at(350_000), at(750_000), at(850_000)], [40, 40, 80, 80], `${what}: AreaChart`)
      const empty = heights.filter((height) => height === 0).length
      expectTrue([empty, heights.length], [COUNTER.gap[1] - COUNTER.gap[0] - COUNTER.period, COUNTER.to - COUNTER.from], `${what}: gap of ${empty} pixels`)
      expect.soft(at(550_000), 'nothing in the gap').toBe(0)
    })

    const steered = await new Api(server.url, 'made').track(/\b100$/)
    await page.goto(`${server.url}/profile/made?tab=flame&flame=track:${steered.id}&panel=full`)
    const frames = page.getByRole('group', { name: 'Flame graph' }).getByRole('button', { name: /^ProfilerStep#/ })
    await frames.first().waitFor()
    await atEachWidth(page, async (what) => {
      expectTrue((await boxes(frames)).sort((a, b) => a - b), [...STEPS].sort((a, b) => a - b), `${what}: FlameGraph`)
    })
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })

  test('points of the roofline are where their figures are', async () => {
    const page = await openAt(plain, `${captures.url}/profile/gpt?tool=roofline_model`)
    const chart = page.getByRole('img', { name: /^Roofline/ })
    await chart.locator('circle').first().waitFor()
    const { roofline } = await getJson<{ roofline: Record<string, number | string | boolean>[] }>(captures, '/profiles/gpt/tools/roofline_model?format=json')
    const rows = roofline
      .filter((row) => row.step === 'Total' && row.include_infeed_outfeed === true && row.rank !== 0 && Number(row.operational_intensity) > 0 && Number(row.model_flop_rate) > 0)
      .sort((a, b) => Number(b.total_self_time_percent) - Number(a.total_self_time_percent))
    await atEachWidth(page, async (what) => {
      const circles = await attributes(chart.locator('circle'), 'cx', 'cy', 'r')
      expect(circles.length).toBeGreaterThan(3)
      const [first, other] = [circles[0]!, circles.slice(1, 6).reduce((far, one) => (Math.abs(one[0]! - circles[0]![0]!) > Math.abs(far[0]! - circles[0]![0]!) ? one : far))]
      const logs = (at: number) => [Math.log10(Number(rows[at]!.operational_intensity)), Math.log10(Number(rows[at]!.model_flop_rate))] as const
      const second = circles.indexOf(other)
      // The same number of pixels for each power of ten, in both directions as the grid has it.
      const lines = await attributes(chart.locator('line.grid'), 'x1', 'x2', 'y1', 'y2')
      const apart = (values: number[]) => { const sorted = [...new Set(values)].sort((a, b) => a - b); return sorted[1]! - sorted[0]! }
      const decade = { x: apart(lines.filter(([a, b]) => a === b).map(([a]) => a!)), y: apart(lines.filter(([, , a, b]) => a === b).map(([, , a]) => a!)) }
      expect(other[0]! - first[0]!, what).toBeCloseTo(decade.x * (logs(second)[0] - logs(0)[0]), 0)
      expect(first[1]! - other[1]!, what).toBeCloseTo(decade.y * (logs(second)[1] - logs(0)[1]), 0)
      const large = circles.map((circle, at) => ({ radius: circle[2]!, share: Number(rows[at]!.total_self_time_percent) })).slice(0, 20)
      expectTrue(large.map(({ radius }) => radius ** 2), large.map(({ share }) => share), `${what}: areas of points`)
    })
    await page.close()
  })

  test('bars of a comparison begin at zero; lines say where their axis begins', async () => {
    const page = await openAt(plain, `${server.url}/?view=diff&a=runs/monday&b=runs/tuesday`)
    const chart = page.getByRole('img', { name: /^Step times over steps/ })
    await chart.waitFor()
    const { a, step_time, contributions } = await getJson<Diff>(server, '/diff?a=runs/monday&b=runs/tuesday')
    const parts = contributions.filter(({ difference_ns }) => Math.abs(difference_ns) > 0.05 * step_time!.b_ns)
    expect(parts.length).toBeGreaterThan(0)
    const times = a.steps.map((step) => step.duration_ns)
    const [lowest, highest] = [times.indexOf(Math.min(...times)), times.indexOf(Math.max(...times))]
    await atEachWidth(page, async (what) => {
      const bars = await page.getByLabel('What explains the step time').locator('li').evaluateAll((all) =>
        all.map((one) => ({ name: one.querySelector('.name')!.textContent, width: one.querySelector('rect')!.getBoundingClientRect().width })))
      const names = ['Step time of A', 'Step time of B', ...parts.map(({ name }) => name)]
      const drawn = names.map((name) => bars.find((bar) => bar.name === name)!.width)
      expectTrue(drawn, [step_time!.a_ns, step_time!.b_ns, ...parts.map(({ difference_ns }) => Math.abs(difference_ns))], `${what}: Waterfall`)
      const line = (await chart.locator('path.a').getAttribute('d'))!
      const heights = [...line.matchAll(/ ([-\d.]+)/g)].map((match) => -Number(match[1]))
      const unit = (heights[highest]! - heights[lowest]!) / (times[highest]! - times[lowest]!)
      times.forEach((time, at) => expect(heights[at]! - heights[lowest]!, `${what}: StepLines`).toBeCloseTo((time - times[lowest]!) * unit, 0))
    })
    expect(await page.getByText(/^The axis begins at .*, not at zero\.$/).count()).toBe(1)
    await page.close()
  })

  test('colors of the heat map stand for the same values however it is zoomed; a click leaves its size', async () => {
    const page = await openAt(plain, `${server.url}/?run=runs/tuesday`)
    const canvas = page.locator('canvas[data-complete=true]')
    await canvas.waitFor()
    const map = readHeatMap(await (await fetch(`${server.url}/api/v1/runs/runs/tuesday/heatmap?width=20&height=16`)).arrayBuffer())
    // Lightness after Oklab, which the scale is even in.
    const lightness = (rgb: Rgb) => {
      const [r, g, b] = rgb.map((value) => (value <= 10.31475 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)) as Rgb
      const [l, m, s] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b, 0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b]
      return 0.2104542553 * Math.cbrt(l) + 0.793617785 * Math.cbrt(m) - 0.0040720468 * Math.cbrt(s)
    }
    const ends = (await page.locator('.ramp').evaluate((ramp) => getComputedStyle(ramp).backgroundImage)).match(/\d+, \d+, \d+/g)!.map((text) => text.split(', ').map(Number) as Rgb)
    const [low, zero, high] = [ends[0]!, ends[(ends.length - 1) >> 1]!, ends.at(-1)!]
    const shareOf = (rgb: Rgb) => ((lightness(rgb) - lightness(zero)) / (lightness(high) - lightness(zero))) * (Math.abs(rgb[2] - low[2]) < Math.abs(rgb[2] - high[2]) && rgb[2] > rgb[0] ? -1 : 1)
    const cellOf = async (row: number, column: number, rows: [number, number], columns: [number, number]) => {
      const box = (await canvas.boundingBox())!
      const x = box.x + 74 + ((box.width - 74) * (column - columns[0] + 0.5)) / (columns[1] - columns[0] + 1)
      const y = box.y + ((box.height - 22) * (row - rows[0] + 0.5)) / (rows[1] - rows[0] + 1)
      return (await pixels(page, x, y, 1))[0]!
    }
    const cells = [[5, 6], [5, 12], [0, 6], [9, 7], [7, 15]] as const
    await atEachWidth(page, async (what) => {
      await canvas.waitFor()
      for (const [row, column] of cells) {
        const value = map.max[row * map.columns + column]! / map.scale.high
        const share = shareOf(await cellOf(row, column, [0, 15], [0, 19]))
        expect(Math.abs(share - Math.max(-1, Math.min(1, value))), `${what}: rank ${row}, step ${column}: ${share} for ${value}`).toBeLessThan(0.03)
      }
    })
    const told = await page.getByRole('group', { name: 'Scale of the colors' }).innerText()
    const before = await Promise.all(cells.slice(2).map(([row, column]) => cellOf(row, column, [0, 15], [0, 19])))
    await page.goto(`${server.url}/?run=runs/tuesday&rows=6-9&steps=4-16`) // without the slow one
    await canvas.waitFor()
    expect(await page.getByRole('group', { name: 'Scale of the colors' }).innerText()).toBe(told)
    expect(await cellOf(9, 7, [6, 9], [4, 16])).toEqual(before[1])
    expect(await cellOf(7, 15, [6, 9], [4, 16])).toEqual(before[2])
    await page.goto(`${server.url}/?run=runs/tuesday&measure=duration`) // all long: colors begin at the shortest, not at zero
    await canvas.waitFor()
    const times = readHeatMap(await (await fetch(`${server.url}/api/v1/runs/runs/tuesday/heatmap?width=20&height=16&measure=duration`)).arrayBuffer())
    const rampOfTimes = (await page.locator('.ramp').evaluate((ramp) => getComputedStyle(ramp).backgroundImage)).match(/\d+, \d+, \d+/g)!.map((text) => text.split(', ').map(Number) as Rgb)
    const [dark, bright] = [rampOfTimes[0]!, rampOfTimes.at(-1)!].map(lightness) as [number, number]
    const { low: begin, high: end } = times.scale
    const shown: number[] = []
    for (const [row, column] of [...cells, [3, 2], [11, 10], [14, 18]] as const) {
      const value = Math.max(0, Math.min(1, (times.max[row * times.columns + column]! - begin) / (end - begin)))
      shown.push((lightness(await cellOf(row, column, [0, 15], [0, 19])) - dark) / (bright - dark))
      expect(Math.abs(shown.at(-1)! - value), `rank ${row}, step ${column}: ${shown.at(-1)} for ${value}`).toBeLessThan(0.03)
    }
    expect(Math.max(...shown) - Math.min(...shown)).toBeGreaterThan(0.25) // of the whole range of colors
    await page.goto(`${server.url}/?run=runs/tuesday&rows=6-9&steps=4-16`)
    await canvas.waitFor()
    await page.getByRole('button', { name: 'Half' }).click()
    await page.waitForURL(/scale=\d+/)
    expect(Number(new URL(page.url()).searchParams.get('scale'))).toBeCloseTo(map.scale.high / 2, -1)
    const { height } = (await canvas.boundingBox())!
    await canvas.click({ position: { x: 300, y: 40 } })
    await page.waitForURL(/step=/)
    await page.getByRole('heading', { name: /^Step \d+/ }).waitFor()
    await canvas.waitFor()
    expect((await canvas.boundingBox())!.height).toBe(height)
    expect(page.consoleErrors).toEqual([])
    await page.close()
  })
})
