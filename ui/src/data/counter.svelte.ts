// The chosen hardware counter over the whole profile.
import { counterTrackQuery, readCounter, type CounterValue } from '../model/counters'
import type { Cell } from '../model/tables'
import type { Span } from '../model/time'
import { decodeTimeline } from '../model/timelineData'
import * as api from './api'
import { LatestRequest } from './latestRequest'

const PARTS = 300

export class CounterOverTime {
  values: CounterValue[] = $state.raw([])
  #request = new LatestRequest()

  /** Failures leave it empty; the table above has the figures. */
  async load(profile: string, row: Record<string, Cell>, span: Span): Promise<void> {
    const signal = this.#request.begin()
    try {
      const { rows } = await api.runSql(profile, counterTrackQuery(row), 1, signal)
      const track = Number(rows[0]?.[0] ?? -1)
      const buffer = track < 0 ? null : await api.getTimeline(profile, [track], span, PARTS, signal)
      if (!signal.aborted) this.values = buffer ? readCounter(decodeTimeline(buffer), track) : []
    } catch {
      if (!signal.aborted) this.values = []
    }
  }
}
