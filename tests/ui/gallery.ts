// Takes the screenshots of docs/gallery from the captures of the tests, or those named as arguments. Run by `make gallery`.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JAX_SOURCES, JAX_STEP, makeCollectives, makeDeviceProfile, makeDeviceProfiles } from './device-server'
import { DATA, GENERATOR, KYMO, launch, openPage, ROOT, Server } from './fixtures'

interface Screenshot {
  name: string
  title: string
  address: string
  theme?: 'dark' | 'light'
  press?: string // label of a button to click first
  hover?: string // text of a button to point at
}

const KERNEL = 'span=27100000000-28980000000&event=s36'
const GEMMS = "SELECT id, name, start_ts, duration_ns FROM GpuKernel WHERE name LIKE '%gemm%'"
const SCREENSHOTS: Screenshot[] = [
  { name: 'profiles', title: 'Profile manager', address: '/' },
  { name: 'upload', title: 'Upload', address: '/', theme: 'light', press: 'Upload' },
  { name: 'jax', title: 'JAX on an H200: summary', address: '/profile/gpt' },
  { name: 'kernel', title: 'A kernel: what it belongs to, its launch, and how long others of its name take', address: `/profile/gpt?${KERNEL}&tab=operators` },
  { name: 'layers', title: 'Colored by layer', address: '/profile/gpt?span=27100000000-28980000000&color=layer&tab=kernels', theme: 'light' },
  { name: 'search', title: 'Search results', address: '/profile/gpt?q=name:fusion*+duration>10us&tab=search&span=27100000000-31980000000' },
  { name: 'selection', title: 'Box selection', address: '/profile/gpt?box=40000000000-60000000000_8&tab=selection' },
  { name: 'steps', title: 'Steps', address: '/profile/gpt?tab=steps', theme: 'light' },
  { name: 'guessed', title: 'Steps that nothing marks are guessed, and said to be', address: '/profile/tpu?tab=steps' },
  { name: 'markers', title: 'Markers', address: '/profile/gpt?tab=markers&markers=27215751000!first~33000000000!second~41000000000!third' },
  { name: 'flame', title: 'Flame graph of a step', address: '/profile/torch?tab=flame&flame=step:0&lower=430' },
  { name: 'sql', title: 'A query as a track', address: `/profile/gpt?tab=sql&span=27100000000-28980000000&sql=${encodeURIComponent(GEMMS)}&sqltracks=${encodeURIComponent(JSON.stringify([{ name: 'Matrix products', sql: GEMMS }]))}`, theme: 'light' },
  { name: 'analysis', title: 'Analysis: what costs time, and where steps go', address: '/profile/gpt?tool=overview_page' },
  { name: 'analysis-operations', title: 'Analysis: operations, what bounds them, and one of them', address: `/profile/gpt?tool=hlo_stats&grids=${encodeURIComponent(JSON.stringify({ 'HLO statistics': { choices: { row: 'gemm_fusion_dot.131' } } }))}`, theme: 'light' },
  { name: 'analysis-roofline', title: 'Analysis: the roofline', address: '/profile/gpt?tool=roofline_model' },
  { name: 'analysis-graph', title: 'Analysis: an operation and those near it', address: `/profile/gpt?tool=graph_viewer&grids=${encodeURIComponent(JSON.stringify({ Graph: { choices: { op: 'gemm_fusion_dot.131', row: 'gemm_fusion_dot.131' } } }))}`, theme: 'light' },
  { name: 'torch', title: 'PyTorch with collectives', address: '/profile/torch', theme: 'light' },
  { name: 'tpu', title: 'JAX on a TPU', address: '/profile/tpu' },
  { name: 'neuron', title: 'Neuron system profile', address: '/profile/neuron' },
  { name: 'device', title: 'Device profile: summary', address: '/profile/device_profile?lower=560' },
  { name: 'device-instruction', title: 'An instruction: operands explained, dependencies', address: '/profile/device_profile?span=200000000-230000000&event=s500&color=layer&tab=layers', theme: 'light' },
  { name: 'device-full', title: 'The full view of a device: DMA queues, packets, memory', address: '/profile/device_profile?minimal=0&span=327000000-345000000&event=s3300&tab=queues&lower=180' },
  { name: 'device-path', title: 'The critical path, marked on the timeline', address: '/profile/device_profile?path=1&minimal=0&span=200000000-260000000&tab=summary', theme: 'light' },
  { name: 'device-layers', title: 'Layers of a device over time', address: `/profile/device_profile?tab=layers&lower=330&grids=${encodeURIComponent(JSON.stringify({ Layers: { choices: { show: 'time' } } }))}` },
  { name: 'device-memory', title: 'What is in SBUF: address over time', address: '/profile/device_profile?tab=map&lower=420&span=30000000-100000000', theme: 'light' },
  { name: 'device-ranks', title: 'Ranks, their collectives in boxes, and what compares them', address: '/profile/ranks?minimal=0&tab=ranks&rank=1' },
  { name: 'device-scratchpad', title: 'The memory tracker: what is in the scratchpad, and how much over time', address: `/profile/tracked?tab=map&lower=420&grids=${encodeURIComponent(JSON.stringify({ 'Memory map': { choices: { memory: 'scratchpad' } } }))}` },
  { name: 'device-jax', title: 'A training step of JAX: an instruction, its operands and its line', address: '/profile/step?span=180000000-220000000&event=s300&color=layer&tab=layers', theme: 'light' },
  { name: 'device-collectives', title: '32 ranks of nccom-test', address: '/profile/gather_ranks?minimal=0&tab=ranks' },
  { name: 'device-warning', title: 'A warning on the timeline', address: '/profile/warning?minimal=0&panel=collapsed', hover: 'Tensor loaded more than twice' },
  { name: 'run', title: 'A run of 128 ranks: how late each rank is in each step, what was found, and a step', address: '/?run=runs/tuesday&lane=19&step=119&timelines=hidden' },
  { name: 'run-ranks', title: 'Two ranks at a step, aligned by the clocks of their machines, and a collective', address: '/?run=runs/recommender&lane=0&step=552', theme: 'light' },
  { name: 'run-diff', title: 'Two runs compared', address: `/?view=diff&a=runs/monday&b=runs/tuesday&grids=${encodeURIComponent(JSON.stringify({ Changes: { choices: { kind: 'collectives' } } }))}` },
]

const folder = join(ROOT, 'docs/gallery')
const temporary = mkdtempSync(join(tmpdir(), 'kymo-gallery-'))
const runs = join(temporary, 'runs')

function make(program: string, ...options: string[]) {
  const made = spawnSync(program, options)
  if (made.status !== 0) throw new Error(`${program} ${options.join(' ')}: ${made.error ?? made.stderr}`)
}

/** What says that a page is drawn. */
function drawn(address: string): string | null {
  if (address.startsWith('/?run=')) return 'canvas[data-complete=true]'
  if (address.startsWith('/?view=diff')) return '[aria-label="Step time"]'
  return address === '/' || address.includes('tool=') ? null : '[data-testid="timeline"][data-complete="true"]'
}

make(KYMO, 'fleet', 'add', runs, join(DATA, 'kineto/recommender_rank.json.gz'), join(DATA, 'kineto/recommender_rank1.json.gz'), '--run', 'recommender')
make(GENERATOR, '--run', 'monday', '--ranks', '128', '--steps', '200', runs)
make(GENERATOR, '--run', 'tuesday', '--ranks', '128', '--steps', '200', '--seed', '7', '--straggler', 'compute:19:1.2:60', '--slow-operation', 'allgather:1.3', runs)
const server = await Server.start(['gpt', 'torch', 'tpu', 'neuron'], [runs])
makeDeviceProfiles(server.workspace, 'device')
makeDeviceProfile(server.workspace, 'ranks', join(ROOT, 'examples/collectives.json'))
makeDeviceProfile(server.workspace, 'step', JAX_STEP, ['--framework-source-root', JAX_SOURCES])
makeDeviceProfile(server.workspace, 'tracked', join(ROOT, 'examples/gpt12.json'), ['--enable-memory-tracker'])
makeCollectives(server.workspace, 'gather')
makeDeviceProfile(server.workspace, 'warning', join(DATA, 'device/warnings.json'))
const browser = await launch({ webgl: true })
mkdirSync(folder, { recursive: true })
const chosen = process.argv.slice(2)
for (const shot of SCREENSHOTS.filter((one) => chosen.length === 0 || chosen.includes(one.name))) {
  const page = await openPage(browser, server.url + shot.address, { width: 1440, height: 900, theme: shot.theme })
  const selector = drawn(shot.address)
  if (selector) await page.waitForSelector(selector)
  if (shot.press) await page.getByRole('button', { name: shot.press }).first().click()
  if (shot.hover) await page.getByRole('button', { name: shot.hover }).first().hover()
  await page.waitForLoadState('networkidle')
  await page.waitForTimeout(1000)
  await page.screenshot({ path: join(folder, `${shot.name}.png`) })
  await page.close()
}
await browser.close()
await server.stop()
rmSync(temporary, { recursive: true, force: true })

const lines = SCREENSHOTS.map((shot) => `## ${shot.title}\n\n![${shot.title}](gallery/${shot.name}.png)\n`)
writeFileSync(join(ROOT, 'docs/gallery.md'), `# Web UI gallery\n\nGenerated by \`make gallery\` from the captures in \`tests/data\`.\n\n${lines.join('\n')}`)
