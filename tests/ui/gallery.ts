// Takes the pictures of docs/gallery: pages of the captures that the tests use, as they are. `make gallery` runs it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { launch, openPage, ROOT, Server } from './fixtures'

interface Picture {
  name: string
  title: string
  address: string
  theme?: 'dark' | 'light'
  press?: string // the label of a button to press first
}

const KERNEL = 'span=27100000000-28980000000&event=s36'
const PICTURES: Picture[] = [
  { name: 'profiles', title: 'The profile manager', address: '/' },
  { name: 'upload', title: 'Uploading', address: '/', theme: 'light', press: 'Upload' },
  { name: 'jax', title: 'JAX on an H200: the first look', address: '/profile/gpt' },
  { name: 'kernel', title: 'A kernel, what launched it, and all that is known of it', address: `/profile/gpt?${KERNEL}&tab=operators` },
  { name: 'layers', title: 'Coloured by layer', address: '/profile/gpt?span=27100000000-28980000000&colour=layer&tab=kernels', theme: 'light' },
  { name: 'search', title: 'A search and its hits', address: '/profile/gpt?q=name:fusion*+duration>10us&tab=search&span=27100000000-31980000000' },
  { name: 'selection', title: 'A box and what lies in it', address: '/profile/gpt?box=40000000000-60000000000_8&tab=selection' },
  { name: 'steps', title: 'Steps', address: '/profile/gpt?tab=steps', theme: 'light' },
  { name: 'markers', title: 'Markers', address: '/profile/gpt?tab=markers&markers=27215751000!first~33000000000!second~41000000000!third' },
  { name: 'sql', title: 'SQL', address: '/profile/gpt?tab=sql&sql=SELECT+name,+count(*)+AS+events,+sum(duration_ns)/1e6+AS+ms+FROM+GpuKernel+GROUP+BY+name+ORDER+BY+ms+DESC' },
  { name: 'tables', title: 'Tables', address: '/profile/gpt?tab=tables&table=GpuKernel', theme: 'light' },
  { name: 'torch', title: 'PyTorch with collectives', address: '/profile/torch', theme: 'light' },
  { name: 'tpu', title: 'JAX on a TPU', address: '/profile/tpu' },
  { name: 'neuron', title: 'A system profile of Neuron', address: '/profile/neuron' },
]

const folder = join(ROOT, 'docs/gallery')

const server = await Server.start(['gpt', 'torch', 'tpu', 'neuron'])
const browser = await launch()
mkdirSync(folder, { recursive: true })
for (const picture of PICTURES) {
  const page = await openPage(browser, server.url + picture.address, { width: 1440, height: 900, theme: picture.theme })
  if (picture.address !== '/') await page.waitForSelector('[data-testid="timeline"][data-complete="true"]')
  if (picture.press) await page.getByRole('button', { name: picture.press }).first().click()
  await page.waitForTimeout(1500)
  await page.screenshot({ path: join(folder, `${picture.name}.png`) })
  await page.close()
}
await browser.close()
await server.stop()

const lines = PICTURES.map((picture) => `## ${picture.title}\n\n![${picture.title}](gallery/${picture.name}.png)\n`)
writeFileSync(join(ROOT, 'docs/gallery.md'), `# Pages of the web UI\n\nMade by \`make gallery\` from captures in \`tests/data\`.\n\n${lines.join('\n')}`)
