// Boxes of the visible part of the timeline.
import type { Span } from '../model/time'
import { collectiveBox, collectivesSql, MAX_BOXES, warningBox, warningsSql, type CollectiveRow, type TimelineBox, type WarningRow } from '../model/timelineBoxes'
import { RangeQuery } from './rangeQuery.svelte'
import { schema } from './schema.svelte'
import { toObjects } from './sql.svelte'

class TimelineBoxes {
  #collectives = new RangeQuery()
  #warnings = new RangeQuery()

  readonly all: TimelineBox[] = $derived([
    ...(this.#collectives.query.response ? toObjects<CollectiveRow>(this.#collectives.query.response).map(collectiveBox) : []),
    ...(this.#warnings.query.response ? toObjects<WarningRow>(this.#warnings.query.response).map(warningBox) : []),
  ])

  load(profile: string, span: Span): void {
    if (schema.has('CcOp')) this.#collectives.load(profile, profile, span, MAX_BOXES, collectivesSql)
    if (schema.has('PerformanceWarning')) this.#warnings.load(profile, profile, span, MAX_BOXES, warningsSql)
  }

  clear(): void {
    this.#collectives.clear()
    this.#warnings.clear()
  }
}

export const timelineBoxes = new TimelineBoxes()
