// Fixtures of the UI tests: a real server with real captures, and a browser. KYMO is the binary (default: bin/kymo). Test files that
// run in the same process share browsers, and those that change no profile a server; other servers have workspaces of their own.
import { deepEqual } from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
export const DATA = join(ROOT, 'tests/data')
export const KYMO = process.env.KYMO ?? join(ROOT, 'bin/kymo')

export const CAPTURES = {
  gpt: 'xplane/jax_gpt_python_h200.xplane.pb',
  matmul: 'xplane/jax_matmul_h200.xplane.pb',
  tpu: 'xplane/tpu_inference.xplane.pb',
  torch: 'kineto/nccl_gpu_rank.json.gz',
  cpu: 'kineto/cpu_only.pt.trace.json.gz',
  neuron: 'neuron/system_profile.json',
} as const

export type CaptureName = keyof typeof CAPTURES

/** The program that makes datasets of synthetic runs. */
export const GENERATOR = process.env.GEN_RUN ?? join(ROOT, 'build/release/unit/gen-run')

// What is left to the end of this process. The runner ends it by a signal, or dies itself; process.exit throws here, as it is the
// runner's. Nothing is awaited then: without its runner this process never gets back to its event loop. Playwright kills its browsers
// on 'exit', as we do our servers.
const processes = new Set<ChildProcess>()
const folders = new Set<string>()

process.on('exit', () => {
  for (const one of processes) one.kill()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
for (const event of ['SIGTERM', 'disconnect']) {
  process.on(event, () => {
    process.emit('exit', 1)
    process.kill(process.pid, 'SIGKILL')
  })
}

function makeWorkspace(): string {
  const workspace = mkdtempSync(join(tmpdir(), 'kymo-ui-'))
  folders.add(workspace)
  return workspace
}

// A workspace with the captures that were processed so far, each once.
let processed: string | undefined

function profileFolder(workspace: string, name: CaptureName): string {
  return join(workspace, 'profiles/global', `${name}@latest`)
}

/** Puts the profile of a capture into a workspace. */
function addProfile(workspace: string, name: CaptureName): void {
  processed ??= makeWorkspace()
  if (!existsSync(profileFolder(processed, name))) {
    const path = join(DATA, CAPTURES[name])
    const made = spawnSync(KYMO, ['view', path, '--display-name', name, '--data-path', processed, '--ingest-only'])
    if (made.status !== 0) throw new Error(`kymo view ${path}: ${made.stderr}`)
  }
  cpSync(profileFolder(processed, name), profileFolder(workspace, name), { recursive: true, preserveTimestamps: true })
}

export class Server {
  static #shared: Promise<Server> | undefined

  private constructor(
    readonly url: string,
    readonly workspace: string,
    readonly process: ChildProcess,
  ) {}

  /** Serves the captures in a workspace of its own on a free port. */
  static async start(captures: readonly CaptureName[], options: string[] = []): Promise<Server> {
    const workspace = makeWorkspace()
    for (const name of captures) addProfile(workspace, name)
    return Server.over(workspace, options)
  }

  /** A server of all captures, for tests that change none of them. It is not to be stopped. */
  static shared(): Promise<Server> {
    return (Server.#shared ??= Server.start(Object.keys(CAPTURES) as CaptureName[]))
  }

  static async over(workspace: string, options: string[] = []): Promise<Server> {
    const program = spawn(KYMO, ['view', '--data-path', workspace, '--port', '0', '--api-server-port', '0', ...options])
    processes.add(program)
    const url = await new Promise<string>((done, fail) => {
      let text = ''
      const read = (bytes: Buffer) => {
        text += bytes.toString()
        const match = /http:\/\/localhost:(\d+)/.exec(text)
        if (match) done(match[0])
      }
      program.stdout.on('data', read)
      program.stderr.on('data', read)
      program.on('exit', (code) => fail(new Error(`kymo ended with ${code}: ${text}`)))
    })
    return new Server(url, workspace, program)
  }

  async stop(keepWorkspace = false): Promise<void> {
    const exited = new Promise((done) => this.process.on('exit', done))
    this.process.kill('SIGINT')
    await exited
    processes.delete(this.process)
    if (!keepWorkspace) rmSync(this.workspace, { recursive: true, force: true })
  }
}

// Chromium without a window of its own takes a fifth less CPU time; elsewhere than on Debian it may not be there.
const SHELL = '/usr/bin/chromium-headless-shell'
const CHROMIUM = process.env.CHROMIUM ?? (existsSync(SHELL) ? SHELL : '/usr/bin/chromium')

const browsers = new Map<boolean, Promise<Browser>>()

/** The browser of this process. Without `webgl` a page takes a quarter of the CPU time, as nothing compiles shaders and draws in
    software; all of the page works but the drawing of events. With it, only the canvas is drawn by the GPU in software, not the page
    around it: that takes twice as long. */
export function launch({ webgl }: { webgl: boolean }): Promise<Browser> {
  if (!browsers.has(webgl)) browsers.set(webgl, startBrowser(webgl))
  return browsers.get(webgl)!
}

function startBrowser(webgl: boolean): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    handleSIGTERM: false,
    args: [
      '--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync',
      ...(webgl ? ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-gpu-compositing'] : ['--disable-gpu', '--disable-3d-apis']),
    ],
  })
}

// A window for each browser, kept by a blank page: a context of its own for each page would be a new window of Chromium, which
// takes longer to start than the page does.
const windows = new WeakMap<Browser, Promise<BrowserContext>>()

async function openWindow(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext()
  await context.newPage()
  return context
}

// A page that a test has closed, for each browser: loading an address in it takes half of the CPU time that a new page does.
const idle = new WeakMap<Browser, Page>()

/** Closing the page leaves it for the next test, without what this one did to it. */
function reuse(browser: Browser, page: Page): void {
  const close = page.close.bind(page)
  page.close = async () => {
    if (idle.get(browser) === page) return
    if (idle.has(browser)) return close()
    for (const event of ['console', 'pageerror', 'request'] as const) page.removeAllListeners(event)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.mouse.move(-1, -1)
    await page.goto('about:blank')
    idle.set(browser, page)
  }
}

/** Closes what a test file has opened in the browser, which the next one uses. */
export async function closePages(browser: Browser | undefined): Promise<void> {
  if (!browser || !windows.has(browser)) return
  const [, ...pages] = (await windows.get(browser)!).pages() // all but the blank one
  for (const page of pages) await page.close()
}

async function takePage(browser: Browser, context: BrowserContext): Promise<Page> {
  const page = idle.get(browser)
  idle.delete(browser)
  if (page) return page
  const fresh = await context.newPage()
  reuse(browser, fresh)
  return fresh
}

/** A page without what earlier pages left behind: cookies, storage, permissions. */
async function blankPage(browser: Browser, url: string): Promise<Page> {
  if (!windows.has(browser)) windows.set(browser, openWindow(browser))
  const context = await windows.get(browser)!
  await context.clearCookies()
  await context.clearPermissions()
  const page = await takePage(browser, context)
  const session = await context.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin: new URL(url).origin, storageTypes: 'all' })
  await session.detach()
  return page
}

// Said of a canvas that is copied into a page which is drawn without a GPU.
const COPIED = /GL Driver Message .*GPU stall due to ReadPixels/

/** A page that collects console errors and warnings in `consoleErrors`, except allowed ones. */
export async function openPage(
  browser: Browser, url: string, options: { width?: number; height?: number; theme?: 'dark' | 'light'; allow?: RegExp } = {},
): Promise<Page & { consoleErrors: string[] }> {
  const page = (await blankPage(browser, url)) as Page & { consoleErrors: string[] }
  await page.setViewportSize({ width: options.width ?? 1280, height: options.height ?? 800 })
  await page.emulateMedia({ colorScheme: options.theme ?? 'dark' })
  page.consoleErrors = []
  const record = (text: string) => {
    if (!options.allow?.test(text) && !COPIED.test(text)) page.consoleErrors.push(text)
  }
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') record(message.text())
  })
  page.on('pageerror', (error) => record(String(error)))
  page.setDefaultTimeout(60_000)
  await page.goto(url)
  return page
}

/** Fails on serious accessibility findings of axe on the current page. Themes differ in colors alone: of the light one only these are
    looked at, where the same test also looks at the dark one. */
export async function expectAccessible(page: Page, theme: 'dark' | 'light' = 'dark'): Promise<void> {
  // By evaluate: the page's content security policy forbids foreign scripts.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8'))
  const findings = await page.evaluate(async (rules) => {
    const axe = (window as unknown as { axe: { run: (options: object) => Promise<{ violations: Finding[] }> } }).axe
    interface Finding {
      id: string
      impact: string
      nodes: { html: string; failureSummary: string }[]
    }
    return (await axe.run({ resultTypes: ['violations'], ...rules })).violations
      .filter((finding) => finding.impact === 'serious' || finding.impact === 'critical')
      .map((finding) => `${finding.id}: ${finding.nodes.map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`)
  }, theme === 'light' ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {})
  deepEqual(findings, [])
}
