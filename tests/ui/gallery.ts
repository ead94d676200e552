// Takes the screenshots of docs/gallery from the captures of the tests. Run by `make gallery`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JAX_SOURCES, JAX_STEP, makeCollectives, makeDeviceProfile, makeDeviceProfiles } from './device-server'
import { DATA, launch, openPage, ROOT, Server } from './fixtures'

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
  { name: 'layers', title: 'Coloured by layer', address: '/profile/gpt?span=27100000000-28980000000&colour=layer&tab=kernels', theme: 'light' },
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
  { name: 'device-instruction', title: 'An instruction: operands explained, dependencies', address: '/profile/device_profile?span=200000000-230000000&event=s500&colour=layer&tab=layers', theme: 'light' },
  { name: 'device-full', title: 'The full view of a device: DMA queues, packets, memory', address: '/profile/device_profile?minimal=0&span=327000000-345000000&event=s3300&tab=queues&lower=180' },
  { name: 'device-path', title: 'The critical path, marked on the timeline', address: '/profile/device_profile?path=1&minimal=0&span=200000000-260000000&tab=summary', theme: 'light' },
  { name: 'device-layers', title: 'Layers of a device over time', address: `/profile/device_profile?tab=layers&lower=330&grids=${encodeURIComponent(JSON.stringify({ Layers: { choices: { show: 'time' } } }))}` },
  { name: 'device-memory', title: 'What is in SBUF: address over time', address: '/profile/device_profile?tab=map&lower=420&span=30000000-100000000', theme: 'light' },
  { name: 'device-ranks', title: 'Ranks, their collectives in boxes, and what compares them', address: '/profile/ranks?minimal=0&tab=ranks&rank=1' },
  { name: 'device-scratchpad', title: 'The memory tracker: what is in the scratchpad, and how much over time', address: `/profile/tracked?tab=map&lower=420&grids=${encodeURIComponent(JSON.stringify({ 'Memory map': { choices: { memory: 'scratchpad' } } }))}` },
  { name: 'device-jax', title: 'A training step of JAX: an instruction, its operands and its line', address: '/profile/step?span=180000000-220000000&event=s300&colour=layer&tab=layers', theme: 'light' },
  { name: 'device-collectives', title: '32 ranks of nccom-test', address: '/profile/gather_ranks?minimal=0&tab=ranks' },
  { name: 'device-warning', title: 'A warning on the timeline', address: '/profile/warning?minimal=0&panel=collapsed', hover: 'Tensor loaded more than twice' },
]

const folder = join(ROOT, 'docs/gallery')

const server = await Server.start(['gpt', 'torch', 'tpu', 'neuron'])
makeDeviceProfiles(server.workspace, 'device')
makeDeviceProfile(server.workspace, 'ranks', join(ROOT, 'examples/collectives.json'))
makeDeviceProfile(server.workspace, 'step', JAX_STEP, ['--framework-source-root', JAX_SOURCES])
makeDeviceProfile(server.workspace, 'tracked', join(ROOT, 'examples/gpt12.json'), ['--enable-memory-tracker'])
makeCollectives(server.workspace, 'gather')
makeDeviceProfile(server.workspace, 'warning', join(DATA, 'device/warnings.json'))
const browser = await launch({ webgl: true })
mkdirSync(folder, { recursive: true })
for (const shot of SCREENSHOTS) {
  const page = await openPage(browser, server.url + shot.address, { width: 1440, height: 900, theme: shot.theme })
  if (shot.address !== '/' && !shot.address.includes('tool=')) await page.waitForSelector('[data-testid="timeline"][data-complete="true"]')
  if (shot.press) await page.getByRole('button', { name: shot.press }).first().click()
  if (shot.hover) await page.getByRole('button', { name: shot.hover }).first().hover()
  await page.waitForLoadState('networkidle')
  await page.waitForTimeout(1000)
  await page.screenshot({ path: join(folder, `${shot.name}.png`) })
  await page.close()
}
await browser.close()
await server.stop()

const lines = SCREENSHOTS.map((shot) => `## ${shot.title}\n\n![${shot.title}](gallery/${shot.name}.png)\n`)
writeFileSync(join(ROOT, 'docs/gallery.md'), `# Web UI gallery\n\nGenerated by \`make gallery\` from the captures in \`tests/data\`.\n\n${lines.join('\n')}`)
