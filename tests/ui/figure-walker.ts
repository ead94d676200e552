// Reads the figures of pages and compares them with what plain DuckDB finds by the catalog's queries.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { findFigure, type FigureGroup } from '../../ui/src/model/figures'
import { ROOT, type Server } from './fixtures'
import { getJson } from './tab-helpers'

interface Shown {
  id: string
  key: Record<string, unknown>
  text: string
}

/** The figures in an element, and what looks like one but has no id. Names, code, axes and what can be chosen are none. */
function readFigures(selector: string): { figures: Shown[]; strays: string[] } {
  const root = document.querySelector(selector)!
  const figures = [...root.querySelectorAll<HTMLElement>('[data-figure]')].map((element) => ({
    id: element.dataset.figure!, key: JSON.parse(element.dataset.key ?? '{}') as Record<string, unknown>, text: (element.dataset.text ?? element.textContent!).trim(),
  }))
  const unit = '(?:%|[pnµm]?s|[kMGT]?B(?:/s)?|[kMGTP]?FLOP(?:/s|/B)?|GHz)'
  const number = new RegExp(`^[<≈-]?\\s*[\\d,]*\\.?\\d+$|^[\\d,]+ (?:events|samples)|(?:^|[\\s(])-?\\d[\\d,.]* ${unit}(?![\\w/])`)
  const strays: string[] = []
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const parent = texts.currentNode.parentElement!
    if (parent.closest('[data-figure], [data-name], [data-view], .name, code, select, svg, .axis, h1, h2, h3, style') || !number.test(texts.currentNode.textContent!.trim())) continue
    strays.push(`${parent.className}: ${texts.currentNode.textContent!.trim()}`)
  }
  return { figures, strays }
}

/** What a page waits for, from now on. */
export class Requests {
  readonly #pending = new Set<Request>()

  constructor(readonly page: Page) {
    page.on('request', (request) => this.#pending.add(request))
    page.on('requestfinished', (request) => this.#pending.delete(request))
    page.on('requestfailed', (request) => this.#pending.delete(request))
  }

  /** Waits until the page has what it asked for, and has drawn it. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet = this.#pending.size === 0 ? quiet + 1 : 0) {
      await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    }
  }
}

/** Goes to an address of the page without loading it again. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate((url) => {
    history.replaceState(null, '', url)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)
}

/** Groups whose queries depend on what was chosen on the page, which alone knows them. */
const OF_PAGES = /^(chart|op_profile|page|run\.cell)(\.|$)/

/** Figures of one profile or run, page by page. `of` is what the server and the file system call it, if not as a profile. */
export class Collected {
  readonly queries: Record<string, string> = {}
  readonly figures: (Shown & { page: string; group: string; column: string; unit: string })[] = []
  readonly strays: string[] = []

  constructor(
    readonly server: Server,
    readonly groups: readonly FigureGroup[],
    readonly name: string,
    private readonly of?: { path: string; folder: string },
  ) {}

  async read(page: Page, where: string, selector: string): Promise<void> {
    const { figures, strays } = await page.evaluate(readFigures, selector)
    this.strays.push(...strays.map((stray) => `${this.name} ${where}: ${stray}`))
    for (const shown of figures) {
      const found = findFigure(this.groups, shown.id)
      if (!found) {
        this.strays.push(`${this.name} ${where}: ${shown.id} is not in the catalog`)
        continue
      }
      const { group, definition } = found
      if (/^computed(\.|$)/.test(group.id)) continue // of what no table holds
      const query = OF_PAGES.test(group.id) ? `${where}: ${group.id}` : group.id
      this.queries[query] ??= query === group.id ? await this.ask(group.id) : await queryOnPage(page, shown.id)
      this.figures.push({ ...shown, page: where, group: query, column: definition.column, unit: definition.unit })
    }
  }

  protected async ask(group: string): Promise<string> {
    return (await getJson<{ query: string }>(this.server, `${this.of?.path ?? `/profiles/${this.name}`}/figures/${group}`)).query
  }

  /** Of the Parquet files; of two profiles, by the schema that queries expect their tables in. */
  get folder(): string | Record<string, string> {
    return this.of?.folder ?? folderOf(this.server, this.name)
  }
}

const folderOf = (server: Server, name: string) => join(server.workspace, 'profiles/global', `${name}@latest`)

/** Figures of two profiles compared. */
export class CollectedDiff extends Collected {
  constructor(
    server: Server,
    groups: readonly FigureGroup[],
    readonly a: string,
    readonly b: string,
  ) {
    super(server, groups, `${a} → ${b}`)
  }

  protected override async ask(group: string): Promise<string> {
    return (await getJson<{ query: string }>(this.server, `/diff/figures/${group}?${new URLSearchParams({ a: this.a, b: this.b })}`)).query
  }

  override get folder(): Record<string, string> {
    return { a: folderOf(this.server, this.a), b: folderOf(this.server, this.b) }
  }
}

/** The query of a figure's group, as the page tells it. What a tooltip shows is pointed at already. */
async function queryOnPage(page: Page, id: string): Promise<string> {
  const shown = page.locator(`[data-figure="${id}"]`).first()
  if ((await shown.locator('xpath=ancestor::*[@role="tooltip"]').count()) === 0) await shown.hover()
  await page.keyboard.press('?')
  const query = (await page.getByRole('dialog').getByLabel('Query').getAttribute('data-query'))!
  await page.keyboard.press('Escape')
  return query
}

/** What differs, a line each. */
export function compareFigures(all: readonly Collected[]): string[] {
  const input = JSON.stringify(all.map(({ name, folder, queries, figures }) => ({ name, folder, queries, figures })))
  const done = spawnSync(join(ROOT, '.venv/bin/python'), [join(ROOT, 'tests/ui/check_figures.py')], { input, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (done.status !== 0) throw new Error(done.stderr)
  return done.stdout.split('\n').filter(Boolean)
}
