// Page object of the timeline: coordinates, pixels, and the same events from the API.
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { EventDetails, SearchResponse, Track, TracksResponse } from '../../ui/src/model/api'
import { decodeTimeline } from '../../ui/src/model/timelineData'

export type Rgb = [number, number, number]

export interface Item {
  start: number
  end: number
  id: number
  count: number
  row: number
  name: string
}

export async function complete(page: Page): Promise<void> {
  await page.waitForSelector('[data-testid="timeline"][data-complete="true"]')
}

export async function spanOf(page: Page): Promise<{ from: number; to: number }> {
  return page.locator('[data-testid="timeline"]').evaluate((element) => ({
    from: Number((element as HTMLElement).dataset.from), to: Number((element as HTMLElement).dataset.to),
  }))
}

export async function canvasBox(page: Page): Promise<{ x: number; y: number; width: number; height: number }> {
  return (await page.locator('.canvas').boundingBox())!
}

/** The x coordinate of a time. */
export async function xOf(page: Page, time: number): Promise<number> {
  const [box, span] = [await canvasBox(page), await spanOf(page)]
  return box.x + ((time - span.from) / (span.to - span.from)) * box.width
}

/** The center of a track's row. */
export async function yOf(page: Page, track: number, row = 0, rowHeight = 18): Promise<number> {
  const box = (await page.locator(`.row[data-track="${track}"]`).boundingBox())!
  return box.y + 3 + (row + 0.5) * rowHeight
}

/** Pixels of a region, from a screenshot. */
export async function pixels(page: Page, x: number, y: number, width: number, height = 1): Promise<Rgb[]> {
  const png = await page.screenshot({ clip: { x: Math.floor(x), y: Math.floor(y), width, height } })
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!
    context.drawImage(image, 0, 0)
    const { data } = context.getImageData(0, 0, image.width, image.height)
    return Array.from({ length: data.length / 4 }, (_, i) => [data[4 * i]!, data[4 * i + 1]!, data[4 * i + 2]!] as Rgb)
  }, png.toString('base64'))
}

/** Slices are colored; the background is nearly gray. */
export function isColored([r, g, b]: Rgb): boolean {
  return Math.max(r, g, b) - Math.min(r, g, b) > 30
}

export class Api {
  constructor(
    readonly server: string,
    readonly profile: string,
  ) {}

  async #get<T>(path: string, body?: unknown): Promise<T> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(`${this.server}/api/v1/profiles/${this.profile}/${path}`, init)
    expect(answer.status).toBe(200)
    return (await answer.json()) as T
  }

  async tracks(): Promise<Track[]> {
    return (await this.#get<TracksResponse>('tracks')).tracks
  }

  /** The span of the whole profile. */
  async span(): Promise<{ from: number; to: number }> {
    const { from, to } = await this.#get<TracksResponse>('tracks')
    return { from: Number(from), to: Number(to) }
  }

  async track(name: RegExp): Promise<Track> {
    return (await this.tracks()).find((track) => track.level === 'lane' && name.test(track.name) && track.event_count > 0)!
  }

  search(query: string): Promise<SearchResponse> {
    return this.#get(`search?q=${encodeURIComponent(query)}&limit=10000`)
  }

  event(id: number): Promise<EventDetails> {
    return this.#get(`events/SystemProfileEvents/${id}`)
  }

  selection(box: { tracks: number[]; from: string; to: string }): Promise<{ count: number }> {
    return this.#get('selection', box)
  }

  /** The items of a track in a time range, fine enough that most are single events. */
  async items(track: number, from: number, to: number, width = 20_000): Promise<Item[]> {
    const answer = await fetch(`${this.server}/api/v1/profiles/${this.profile}/timeline`, {
      method: 'POST', body: JSON.stringify({ tracks: [track], from: String(from), to: String(to), width }),
    })
    const { sliceRows, slices, names } = decodeTimeline(await answer.arrayBuffer())
    return sliceRows.flatMap((row) =>
      Array.from({ length: row.count }, (_, at) => row.first + at).map((i) => ({
        start: from + slices.start[i]!, end: from + slices.end[i]!, id: slices.id[i]!, count: slices.count[i]!, row: row.row,
        name: names[slices.name[i]!]!,
      })))
  }
}
