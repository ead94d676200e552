// A BarList entry for a share of a total time.
import { figure, type FigureKey } from '../../model/figures'
import { formatCount, formatShare } from '../../model/numbers'
import { formatNs } from '../../model/time'
import type { Bar } from './BarList.svelte'

/** Its figures: the group, its column of the time, and the row. */
export interface BarFigures {
  group: string
  time: string
  key: FigureKey
}

export function timeBar(part: { name: string; total_ns: number; count: number }, allNs: number, of: BarFigures, action?: () => void): Bar {
  const share = allNs > 0 ? part.total_ns / allNs : null
  const shown = share === null ? '' : formatShare(share)
  return {
    name: part.name,
    share: share ?? 0,
    value: [figure(`${of.group}.${of.time}`, formatNs(part.total_ns), of.key), ' · ', figure(`${of.group}.share`, shown, of.key)],
    title: `${part.name}, ${formatCount(part.count)} events${action ? ': show on the timeline' : ''}`,
    action,
  }
}
