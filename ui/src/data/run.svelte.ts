// The run of many ranks that is shown: its shape, report, picture and chosen step. The server makes its analysis on the first
// request; until that is done it is asked again.
import { readHeatMap, writeRange, type HeatMap, type Range, type RunReport, type RunRoute, type RunShape, type StepAnswer } from '../model/run'
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
  seconds: number | null = $state(null) // of the analysis at work
  shape: RunShape | null = $state.raw(null)
  report: RunReport | null = $state.raw(null)
  picture: Picture | null = $state.raw(null)
  step: StepAnswer | null = $state.raw(null)
  stepError: string | null = $state(null)
  #opening = new LatestRequest()
  #drawing = new LatestRequest()
  #stepping = new LatestRequest()

  async #ready(dataset: string, run: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const state = await api.getRun(dataset, run, signal)
      if (state.status === 'ready') return
      this.seconds = state.seconds ?? 0
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      signal.throwIfAborted()
    }
  }

  async open({ dataset, run, order }: Pick<RunRoute, 'dataset' | 'run' | 'order'>): Promise<void> {
    const signal = this.#opening.begin()
    this.error = null
    try {
      await this.#ready(dataset, run, signal)
      this.seconds = null
      const shape = await api.getRunShape(dataset, run, order, signal)
      if (!signal.aborted) this.shape = shape
      if (!this.report) {
        const report = await api.getRunReport(dataset, run, signal)
        if (!signal.aborted) this.report = report
      }
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
    for (const request of [this.#opening, this.#drawing, this.#stepping]) request.cancel()
    this.shape = this.report = this.picture = this.step = this.error = this.stepError = this.seconds = null
  }
}

export const openRun = new OpenRun()
