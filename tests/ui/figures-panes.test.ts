// Every figure around the timeline, in tooltips, the details of an event and the tabs Selection, Search and Flame graph, has an id in the
// server's catalog and is what plain DuckDB finds by the query that the page tells.
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FigureGroup } from '../../ui/src/model/figures'
import { makeDeviceProfile } from './device-server'
import { closePages, DATA, launch, openPage, Server } from './fixtures'
import { Collected, compareFigures } from './figure-walker'
import { ask, getJson } from './tab-helpers'
import { complete, xOf, yOf } from './timeline-page'

const PANEL = '#tab-panel'
const DETAILS = '[aria-label="Event details"]'
const TIP = '[role=tooltip]'

let server: Server
let browser: Browser
let groups: FigureGroup[]
const all: Collected[] = []

beforeAll(async () => {
  server = await Server.start(['gpt', 'tpu', 'torch', 'neuron'])
  makeDeviceProfile(server.workspace, 'device', join(DATA, 'device/step.hlo.pb'))
  browser = await launch({ webgl: false })
  groups = (await getJson<{ groups: FigureGroup[] }>(server, '/figures')).groups
})

afterAll(async () => {
  await closePages(browser)
  await server?.stop()
})

/** A page of one profile, whose figures are read place by place. */
class Walk {
  readonly collected: Collected

  constructor(
    readonly page: Page & { consoleErrors: string[] },
    readonly name: string,
  ) {
    this.collected = new Collected(server, groups, name)
    all.push(this.collected)
  }

  static async open(name: string): Promise<Walk> {
    return new Walk(await openPage(browser, `${server.url}/profile/${name}`, { width: 1600, height: 900 }), name)
  }

  async goto(address: string): Promise<void> {
    await this.page.goto(`${server.url}/profile/${this.name}?${address}`)
    await this.page.getByRole('tablist').waitFor()
  }

  read(where: string, selector: string): Promise<void> {
    return this.collected.read(this.page, where, selector)
  }

  /** The Selection tab of a range, by each kind of group. */
  async readSelection(range: string, kinds: readonly string[]): Promise<void> {
    await this.goto(`tab=selection&panel=maximized&details=0&${range}`)
    await this.page.getByTestId('selection-count').waitFor()
    for (const by of kinds) {
      await this.page.getByRole('combobox', { name: 'Break down by' }).selectOption(by)
      await this.page.getByText('Loading…').waitFor({ state: 'detached' })
      await this.page.locator('[role=grid][aria-label=Breakdown] [aria-rowindex="2"]').waitFor()
      await this.read(`selection ${range} by ${by}`, PANEL)
    }
  }

  async readSearch(query: string): Promise<void> {
    await this.goto(`tab=search&panel=maximized&q=${encodeURIComponent(query)}`)
    await this.page.locator('[role=grid][aria-label="Search results"] [aria-rowindex="2"]').waitFor()
    await this.page.getByRole('button', { name: 'Next ▸' }).click()
    await this.page.getByText('1 of ').waitFor()
    await this.read(`search ${query}`, PANEL)
  }

  /** The whole, and frames that are pointed at. */
  async readFlame(range: string, frames: number): Promise<void> {
    await this.goto(`tab=flame&panel=maximized&${range}`)
    await this.page.locator('[data-frame="1"]').waitFor()
    await this.read(`flame ${range}`, PANEL)
    const count = await this.page.locator('[data-frame]').count()
    for (let at = 1; at < count; at += Math.ceil(count / frames)) {
      await this.page.locator(`[data-frame="${at}"]`).focus()
      await this.page.locator(`[data-frame="${at}"].active`).waitFor()
      await this.read(`flame ${range}`, `${PANEL} .info`)
    }
  }

  async readEvent(event: string): Promise<void> {
    await this.goto(`panel=split&event=${event}`)
    const details = this.page.locator(DETAILS)
    await details.getByText('Duration', { exact: true }).first().waitFor()
    await details.getByRole('status', { name: 'Loading durations' }).waitFor({ state: 'detached' })
    await details.getByRole('button', { name: 'Show dependency chain' }).click()
    await details.getByRole('heading', { name: 'Downstream' }).waitFor()
    for (const summary of await details.locator('details:not([open]) > summary').all()) await summary.click()
    await this.read(`event ${event}`, DETAILS)
  }

  /** The tooltip at a time of a track. */
  async readTip(span: string, track: number, time: number): Promise<void> {
    await this.goto(`panel=split&span=${span}&pinned=${track}`)
    await complete(this.page)
    await this.page.mouse.move(await xOf(this.page, time), await yOf(this.page, track))
    await this.page.locator(TIP).waitFor()
    await this.read(`tooltip of ${track} at ${time}`, TIP)
  }

  async end(): Promise<void> {
    expect(this.page.consoleErrors).toEqual([])
    await this.page.close()
  }
}

const idOf = async (profile: string, query: string) => (await ask(server, profile, query))[0]![0] as number

test('a JAX profile of a GPU', async () => {
  const walk = await Walk.open('gpt')
  await walk.readSelection('box=30000000000-40000000001_8.10.13.17.18.19', ['name', 'opcode', 'layer', 'size', 'track']) // in the middle of calls
  await walk.readSearch('fusion_4 duration>10us')
  await walk.readFlame('span=30000000000-31000000000', 8)
  await walk.readEvent('s36') // a kernel
  await walk.readEvent('h100') // its kind of operation
  await walk.readEvent('s6895') // a launch of a graph
  await walk.readEvent(`s${await idOf('gpt', "SELECT e.id FROM SystemProfileEvents e JOIN Track k ON k.id = e.track_id WHERE k.name = 'python3' AND e.self_ns < e.duration_ns ORDER BY duration_ns DESC LIMIT 1 OFFSET 40")}`)
  await walk.readTip('27200000000-27250000000', 8, 27_225_000_000)
  await walk.page.keyboard.press('?') // of what is drawn under the pointer
  await walk.page.getByRole('dialog', { name: 'Duration' }).getByText('event.duration_ns', { exact: true }).waitFor()
  await walk.page.keyboard.press('Escape')
  await walk.read('tracks', '[data-testid=timeline]')
  await walk.end()
})

test('a PyTorch profile', async () => {
  const walk = await Walk.open('torch')
  await walk.readSelection('span=150000000000-152000000000', ['name', 'track'])
  await walk.readSearch('nccl')
  await walk.readFlame('span=150000000000-150500000000', 8)
  await walk.readEvent(`s${await idOf('torch', 'SELECT launch_event_id FROM GpuKernel WHERE launch_event_id IS NOT NULL ORDER BY id LIMIT 1')}`)
  await walk.readEvent(`s${await idOf('torch', 'SELECT id FROM Collective ORDER BY id LIMIT 1')}`)
  await walk.readTip('0-700000000000', 3, 400_000_000_000) // many events a pixel
  await walk.end()
})

test('a profile of TPUs, whose times have fractions of nanoseconds', async () => {
  const walk = await Walk.open('tpu')
  await walk.readSelection('box=19500400000500-25591197677503_9.10.11.13.148.149.150', ['name', 'opcode'])
  await walk.readFlame('span=19500000000500-19600000000503', 6)
  await walk.readEvent('s105')
  await walk.end()
})

test('a system profile, with counters', async () => {
  const walk = await Walk.open('neuron')
  const [[sample]] = (await ask(server, 'neuron', 'SELECT id FROM CounterSample WHERE track_id = 29 ORDER BY timestamp LIMIT 1 OFFSET 1')) as [[number]]
  await walk.readSelection('', ['name', 'size'])
  await walk.readSearch('nc_exec')
  await walk.readEvent('s12')
  await walk.readEvent(`s${sample}`)
  await walk.readTip('0-4000000001000', 28, 1_500_000_000_000)
  await walk.readTip('0-4000000001000', 29, 1_500_000_000_000)
  await walk.read('tracks', '[data-testid=timeline]')
  await walk.end()
})

test('a device profile', async () => {
  const walk = await Walk.open('device')
  await walk.readSelection('', ['name', 'opcode', 'layer'])
  await walk.readSearch('duration>100ns')
  await walk.readFlame('', 4)
  await walk.readEvent(`s${await idOf('device', 'SELECT id FROM Instruction ORDER BY duration_ns DESC LIMIT 1')}`)
  await walk.readEvent(`s${await idOf('device', 'SELECT id FROM DmaPacketAggregated ORDER BY duration_ns DESC LIMIT 1')}`)
  await walk.end()
})

test('they are what their queries give', () => {
  expect(compareFigures(all)).toEqual([])
  expect(all.flatMap(({ strays }) => strays)).toEqual([])
  expect(all.reduce((sum, { figures }) => sum + figures.length, 0)).toBeGreaterThan(1000)
})
