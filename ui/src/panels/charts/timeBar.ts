// A BarList entry for a share of a total time.
import { formatCount, formatShare } from '../../model/numbers'
import { formatNs } from '../../model/time'
import type { Bar } from './BarList.svelte'

export function timeBar(part: { name: string; total_ns: number; count: number }, allNs: number, action?: () => void): Bar {
  const share = allNs > 0 ? part.total_ns / allNs : 0
  return {
    name: part.name,
    share,
    value: `${formatNs(part.total_ns)} · ${formatShare(share)}`,
    title: `${part.name}, ${formatCount(part.count)} events${action ? ': show on the timeline' : ''}`,
    action,
  }
}
