// Measures the page of a module's graph in a browser: node bench_graph.mjs URL. Prints `name value` lines: seconds from navigation
// until instructions are drawn, and how much of that the server took to answer with the graph. The best of several, each in a page
// of its own.
import { chromium } from 'playwright-core'

const RUNS = 5
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-gpu', '--disable-3d-apis'],
})

async function measure() {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
  await page.addInitScript(() => {
    const look = () => {
      if (document.querySelector('svg .node text')) requestAnimationFrame(() => performance.mark('picture'))
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  await page.goto(process.argv[2])
  await page.waitForFunction(() => performance.getEntriesByName('picture').length > 0)
  const times = await page.evaluate(() => ({
    picture: performance.getEntriesByName('picture')[0].startTime,
    answer: performance.getEntriesByType('resource').find(({ name }) => name.includes('graph_viewer')).duration,
  }))
  await page.close()
  return times
}

const runs = []
for (let i = 0; i < RUNS; i++) runs.push(await measure())
console.log(`first_picture ${(Math.min(...runs.map(({ picture }) => picture)) / 1000).toFixed(4)}`)
console.log(`answer ${(Math.min(...runs.map(({ answer }) => answer)) / 1000).toFixed(4)}`)
await browser.close()
