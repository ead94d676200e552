// Measures the page of a run of many ranks: node bench_heatmap.mjs URL. Prints `name value` lines: seconds from navigation to the
// first picture, in a browser that has finished starting, and again once all is warm.
import { chromium } from 'playwright-core'

const SETTLE_MS = 1500

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
})
for (const name of ['first_picture', 'next_picture']) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
  await page.waitForTimeout(SETTLE_MS)
  await page.goto(process.argv[2])
  await page.waitForSelector('canvas[data-complete=true]', { timeout: 120_000 })
  console.log(`${name} ${((await page.evaluate(() => performance.now())) / 1000).toFixed(4)}`)
  await page.close()
}
await browser.close()
