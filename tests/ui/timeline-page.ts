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

export const ROW = 18 // height of a row; the last pixel of it is left free
export const PADDING = 3 // above the first

/** A part of the page, and the color of what is drawn there. */
export interface Area {
  x: number
  y: number
  width: number
  height: number
  color: Rgb
}

/** For each area, how far its pixels are from the background (0) to its color (1): the mean, the most but for lines of the grid (a few columns, to
    which slices are added), and the share of pixels above 0.4. */
export async function shadesOf(page: Page, areas: Area[], back: Rgb): Promise<{ mean: number; most: number; filled: number }[]> {
  const bottom = Math.max(...areas.map((area) => area.y + area.height))
  const right = Math.max(...areas.map((area) => area.x + area.width))
  const png = (await page.screenshot({ clip: { x: 0, y: 0, width: Math.ceil(right), height: Math.ceil(bottom) } })).toString('base64')
  return page.evaluate(async ([base64, areas, back]) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true })!
    context.drawImage(image, 0, 0)
    return areas.map(({ x, y, width, height, color }) => {
      const { data } = context.getImageData(x, y, width, height)
      const reach = color.map((value, i) => value - back[i]!)
      const length = reach.reduce((sum, value) => sum + value * value, 0)
      const shades = Float64Array.from({ length: width * height }, (_, at) => reach.reduce((all, value, i) => all + ((data[4 * at + i]! - back[i]!) * value) / length, 0)).sort()
      const mean = shades.reduce((sum, shade) => sum + shade, 0) / shades.length
      return { mean, most: shades[Math.floor(0.96 * shades.length)]!, filled: shades.filter((shade) => shade > 0.4).length / shades.length }
    })
  }, [png, areas, back] as const)
}

/** Goes to an address of the page without loading it again. */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate((url) => {
    history.replaceState(null, '', url)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)
  const { from, to } = /span=(?<from>\d+)-(?<to>\d+)/.exec(path)!.groups!
  await page.waitForSelector(`[data-testid="timeline"][data-from="${from}"][data-to="${to}"][data-complete="true"]`)
}

/** The color behind the slices. */
export async function backOf(page: Page): Promise<Rgb> {
  return page.evaluate(() => {
    const context = new OffscreenCanvas(1, 1).getContext('2d')!
    context.fillStyle = getComputedStyle(document.querySelector('canvas')!).getPropertyValue('--track-back')
    context.fillRect(0, 0, 1, 1)
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3) as [number, number, number]
  })
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
