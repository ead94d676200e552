// The run of many ranks that is shown: its shape, report, picture and chosen step. The server makes its analysis on the first
// request; until that is done it is asked again.
import {
  readHeatMap, writeRange, type HeatMap, type Range, type RunProgress, type RunReport, type RunRoute, type RunShape, type StepAnswer,
} from '../model/run'
import * as api from './api'
import { LatestRequest } from './latestRequest'

const POLL_MS = 700

/** The picture, and what of the run it shows. */
export interface Picture {
  map: HeatMap
  rows: Range
  steps: Range
  measure: string
  order: string
}

class OpenRun {
  error: string | null = $state(null)
  progress: RunProgress | null = $state.raw(null) // of the analysis at work
  shape: RunShape | null = $state.raw(null)
  report: RunReport | null = $state.raw(null)
  picture: Picture | null = $state.raw(null)
  step: StepAnswer | null = $state.raw(null)
  stepError: string | null = $state(null)
  #opening = new LatestRequest()
  #drawing = new LatestRequest()
  #stepping = new LatestRequest()
  #choosing = new LatestRequest()
  #reporting: AbortController | null = null

  async #readShape(dataset: string, run: string, order: string, signal: AbortSignal): Promise<RunShape> {
    for (;;) {
      const answer = await api.getRunShape(dataset, run, order, signal)
      if ('lanes' in answer) return answer
      this.progress = answer
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      signal.throwIfAborted()
    }
  }

  async open({ dataset, run, order }: Pick<RunRoute, 'dataset' | 'run' | 'order'>): Promise<void> {
    const signal = this.#opening.begin()
    this.error = null
    try {
      const shape = await this.#readShape(dataset, run, order, signal)
      if (signal.aborted) return
      this.progress = null
      this.shape = shape
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
  }

  /** Where the largest value of a cell is; null if it has none. */
  async worst(route: Pick<RunRoute, 'dataset' | 'run' | 'measure' | 'order'>, rows: Range, steps: Range): Promise<{ row: number; step: number } | null> {
    const { measure, order } = route
    try {
      return await api.getRunWorst(route.dataset, route.run, { measure, order, rows: writeRange(rows), steps: writeRange(steps) }, this.#choosing.begin())
    } catch {
      return null
    }
  }

  /** After the first picture, which it would make later. */
  async #readReport(dataset: string, run: string): Promise<void> {
    if (this.report || this.#reporting) return
    this.#reporting = new AbortController()
    const { signal } = this.#reporting
    try {
      const report = await api.getRunReport(dataset, run, signal)
      if (!signal.aborted) this.report = report
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
  }

  async draw(route: Pick<RunRoute, 'dataset' | 'run' | 'measure' | 'order'>, rows: Range, steps: Range, width: number, height: number): Promise<void> {
    const signal = this.#drawing.begin()
    const { measure, order } = route
    try {
      const bytes = await api.getRunPicture(
        route.dataset, route.run, { measure, order, rows: writeRange(rows), steps: writeRange(steps), width: String(width), height: String(height) }, signal,
      )
      if (!signal.aborted) this.picture = { map: readHeatMap(bytes), rows, steps, measure, order }
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
    if (!signal.aborted) void this.#readReport(route.dataset, route.run)
  }

  async openStep(dataset: string, run: string, step: number | null, collective: number): Promise<void> {
    const signal = this.#stepping.begin()
    this.stepError = null
    if (step === null) {
      this.step = null
      return
    }
    try {
      const answer = await api.getRunStep(dataset, run, step, collective, signal)
      if (!signal.aborted) this.step = answer
    } catch (failure) {
      if (!signal.aborted) this.stepError = (failure as Error).message
    }
  }

  close(): void {
    for (const request of [this.#opening, this.#drawing, this.#stepping, this.#choosing]) request.cancel()
    this.#reporting?.abort()
    this.#reporting = null
    this.shape = this.report = this.picture = this.step = this.error = this.stepError = this.progress = null
  }
}

export const openRun = new OpenRun()
