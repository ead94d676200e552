// Helpers of the tab tests: table contents, and expected values from the API.
import type { Page } from 'playwright-core'
import type { Server } from './fixtures'

export async function ask(server: Server, profile: string, query: string): Promise<unknown[][]> {
  const answer = await fetch(`${server.url}/api/v1/profiles/${profile}/sql`, {
    method: 'POST', body: JSON.stringify({ query, limit: 100_000 }),
  })
  const json = (await answer.json()) as { rows?: unknown[][]; error?: string }
  if (!json.rows) throw new Error(`${query}: ${json.error}`)
  return json.rows
}

/** The recorded path of a source file in the gpt profile. */
export async function sourceOf(server: Server, name: string): Promise<string> {
  const query = `SELECT DISTINCT source_file FROM HloOperation WHERE source_file LIKE '%/${name}'`
  return (await ask(server, 'gpt', query))[0]![0] as string
}

export async function getJson<T>(server: Server, path: string): Promise<T> {
  return (await (await fetch(`${server.url}/api/v1${path}`)).json()) as T
}

export function grid(page: Page, label: string) {
  return page.locator(`[role=grid][aria-label="${label}"], [role=treegrid][aria-label="${label}"]`)
}

/** The exact values of the rows in the DOM, from the tooltips of the cells. */
export async function cells(page: Page, label: string): Promise<string[][]> {
  await grid(page, label).locator('[role=row]').nth(1).waitFor()
  return grid(page, label)
    .locator('.body [role=row]')
    .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.getAttribute('title') ?? '')))
}

/** "18,015.5 ns" → 18015.5 */
export function amount(text: string | undefined): number {
  return Number((text ?? '').replaceAll(',', '').replace(/ .*$/, ''))
}

export async function setTheme(page: Page, theme: 'dark' | 'light'): Promise<void> {
  await page.evaluate((name) => {
    document.documentElement.dataset.theme = name
  }, theme)
}
