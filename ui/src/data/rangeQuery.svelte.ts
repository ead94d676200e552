// A query about the visible time: asked again, a moment later, when the view moves out of what was asked, or shows much less of it.
import type { Span } from '../model/time'
import { Query } from './sql.svelte'

const MARGIN = 0.5 // of the visible span, on either side
const DELAY_MS = 150
const ZOOM = 4 // the same answer does for up to this much less

export class RangeQuery {
  readonly query = new Query()
  #key = ''
  #asked: Span | null = null
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `make` writes the query for a span; `key` tells queries apart that do not differ in the span. */
  load(profile: string, key: string, span: Span, limit: number, make: (span: Span) => string): void {
    const isSame = key === this.#key && profile !== ''
    const width = span.to - span.from
    const asked = this.#asked
    if (isSame && asked && span.from >= asked.from && span.to <= asked.to && asked.to - asked.from <= width * ZOOM * (1 + 2 * MARGIN)) return
    clearTimeout(this.#timer)
    const ask = () => {
      this.#key = key
      this.#asked = { from: span.from - MARGIN * width, to: span.to + MARGIN * width }
      void this.query.run(profile, make(this.#asked), limit)
    }
    if (isSame) this.#timer = setTimeout(ask, DELAY_MS)
    else ask()
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#key = ''
    this.#asked = null
    this.query.clear()
  }
}
