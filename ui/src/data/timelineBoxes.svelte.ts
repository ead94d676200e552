// Boxes of the visible part of the timeline.
import type { Span } from '../model/time'
import {
  collectiveBox, collectivesSql, errorBox, errorsSql, MAX_BOXES, warningBox, warningsSql, type CollectiveRow, type ErrorRow, type TimelineBox, type WarningRow,
} from '../model/timelineBoxes'
import { RangeQuery } from './rangeQuery.svelte'
import { schema } from './schema.svelte'
import { toObjects } from './sql.svelte'

class TimelineBoxes {
  #errors = new RangeQuery()
  #collectives = new RangeQuery()
  #warnings = new RangeQuery()

  /** Errors first: of too many boxes, the first are shown. */
  readonly all: TimelineBox[] = $derived([
    ...(this.#errors.query.response ? toObjects<ErrorRow>(this.#errors.query.response).map(errorBox) : []),
    ...(this.#collectives.query.response ? toObjects<CollectiveRow>(this.#collectives.query.response).map(collectiveBox) : []),
    ...(this.#warnings.query.response ? toObjects<WarningRow>(this.#warnings.query.response).map(warningBox) : []),
  ])

  load(profile: string, span: Span): void {
    if (schema.hasColumn('Error', 'id')) this.#errors.load(profile, profile, span, MAX_BOXES, errorsSql)
    if (schema.has('CcOp')) this.#collectives.load(profile, profile, span, MAX_BOXES, collectivesSql)
    if (schema.has('PerformanceWarning')) this.#warnings.load(profile, profile, span, MAX_BOXES, warningsSql)
  }

  clear(): void {
    this.#errors.clear()
    this.#collectives.clear()
    this.#warnings.clear()
  }
}

export const timelineBoxes = new TimelineBoxes()
