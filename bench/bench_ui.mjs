// Measures the UI in a browser on one profile: node bench_ui.mjs URL. Prints `name value` lines: seconds from navigation to the
// first complete view, frame times while zooming, panning and scrolling continuously, and as a baseline the frame times of a
// page that only clears two canvases of the same size, which alone is slow with software rendering. The baseline of the first
// view is a page with a line of text and a canvas, in a fresh browser.
import { chromium } from 'playwright-core'

const FLAGS = [
  '--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
]
const SETTLE_MS = 1500
const STEP_MS = 16
const STEPS = 90 // of each movement

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
}

async function wheel(page, count, x, y) {
  for (let i = 0; i < count; i++) {
    await page.mouse.wheel(x, y)
    await page.waitForTimeout(STEP_MS)
  }
}

/** Typical navigation: zoom in, pan, scroll down the tracks, zoom out. */
async function move(page) {
  await wheel(page, STEPS, 0, -60)
  await wheel(page, STEPS, 80, 0)
  await page.keyboard.down('a')
  await page.waitForTimeout(STEPS * STEP_MS)
  await page.keyboard.up('a')
  for (const key of ['ArrowDown', 'ArrowUp']) {
    await page.keyboard.down(key)
    await page.waitForTimeout((STEPS * STEP_MS) / 2)
    await page.keyboard.up(key)
  }
  await wheel(page, STEPS, 0, 60)
}

async function frames(page) {
  await page.evaluate(() => {
    window.kymoFrames = []
    let last = performance.now()
    const note = (now) => {
      window.kymoFrames.push(now - last)
      last = now
      window.kymoWatch = requestAnimationFrame(note)
    }
    window.kymoWatch = requestAnimationFrame(note)
  })
  await move(page)
  const times = await page.evaluate(() => {
    cancelAnimationFrame(window.kymoWatch)
    return window.kymoFrames.slice(2)
  })
  return times.sort((a, b) => a - b)
}

async function emptyFrames(browser, box) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
  await page.setContent('<style>canvas { left: 0; position: absolute; top: 0 }</style><canvas></canvas><canvas></canvas>')
  const times = await page.evaluate(async ({ width, height, count }) => {
    const [shapes, text] = document.querySelectorAll('canvas')
    for (const canvas of [shapes, text]) Object.assign(canvas, { width, height })
    const gl = shapes.getContext('webgl2', { alpha: false, antialias: false, depth: false })
    const plane = text.getContext('2d')
    const times = []
    for (let i = 0, last = performance.now(); i < count; i++) {
      const now = await new Promise((done) => requestAnimationFrame(done))
      times.push(now - last)
      last = now
      gl.clearColor(i % 2, 0, 0, 1)
      gl.clear(gl.COLOR_BUFFER_BIT)
      plane.clearRect(0, 0, width, height)
      plane.fillText(`${i}`, 100, 100)
    }
    return times.slice(2)
  }, { width: Math.round(box.width), height: Math.round(box.height), count: 4 * STEPS })
  await page.close()
  return times.sort((a, b) => a - b)
}

/** A browser that has finished starting. */
async function launch() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS })
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
  await page.waitForTimeout(SETTLE_MS)
  return { browser, page }
}

/** Time until an empty page has shown a line of text and cleared a canvas. */
async function emptyPicture() {
  const { browser, page } = await launch()
  const body = `<p>text</p><canvas width="1360" height="560"></canvas><script>
    const gl = document.querySelector('canvas').getContext('webgl2', { alpha: false, antialias: false, depth: false })
    requestAnimationFrame(() => {
      gl.clearColor(1, 0, 0, 1)
      gl.clear(gl.COLOR_BUFFER_BIT)
      requestAnimationFrame(() => performance.mark('picture'))
    })</script>`
  await page.route('**/empty', (route) => route.fulfill({ contentType: 'text/html', body }))
  await page.goto('http://localhost/empty')
  await page.waitForFunction(() => performance.getEntriesByName('picture').length > 0)
  const time = await page.evaluate(() => performance.getEntriesByName('picture')[0].startTime)
  await browser.close()
  return time
}

const nothing = await emptyPicture()
const { browser, page } = await launch()
await page.goto(process.argv[2])
const timeline = page.locator('[data-testid="timeline"]')
await page.waitForSelector('[data-testid="timeline"][data-complete="true"]', { timeout: 120_000 })
const first = await page.evaluate(() => performance.getEntriesByName('kymo-first-frame')[0].startTime)
const box = await timeline.boundingBox()
await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.6)
const times = await frames(page)
await page.close()
const empty = await emptyFrames(browser, box)
console.log(`empty_picture ${(nothing / 1000).toFixed(4)}`)
console.log(`first_picture ${(first / 1000).toFixed(4)}`)
console.log(`frames ${times.length}`)
console.log(`frame_p50 ${(quantile(times, 0.5) / 1000).toFixed(5)}`)
console.log(`frame_p99 ${(quantile(times, 0.99) / 1000).toFixed(5)}`)
console.log(`empty_p50 ${(quantile(empty, 0.5) / 1000).toFixed(5)}`)
console.log(`empty_p99 ${(quantile(empty, 0.99) / 1000).toFixed(5)}`)
await browser.close()
