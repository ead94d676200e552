// Measures the page of a run of many ranks: node bench_heatmap.mjs URL. Prints `name value` lines: seconds from navigation to the
// first picture, in a browser that has finished starting, and again once all is warm; as a baseline, those of a page with a line of text
// and a canvas that is cleared.
import { chromium } from 'playwright-core'

const SETTLE_MS = 1500
const EMPTY = `<p>text</p><canvas width="1100" height="900"></canvas><script>document.querySelector('canvas').getContext('2d').clearRect(0, 0, 1100, 900)</script>`

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
})

async function measure(name, address, selector) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
  await page.route('**/empty', (route) => route.fulfill({ contentType: 'text/html', body: EMPTY }))
  await page.waitForTimeout(SETTLE_MS)
  await page.goto(address)
  await page.waitForSelector(selector, { timeout: 120_000 })
  console.log(`${name} ${((await page.evaluate(() => performance.now())) / 1000).toFixed(4)}`)
  await page.close()
}

await measure('empty_picture', 'http://localhost/empty', 'canvas')
for (const name of ['first_picture', 'next_picture']) await measure(name, process.argv[2], 'canvas[data-complete=true]')
await browser.close()
