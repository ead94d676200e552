// What the pages of a run say, with the figures in it.
import { figure, type FigureKey, type Words } from './figures'
import { countOf, formatBytes, formatShare } from './numbers'
import type { StepLane } from './rankTimelines'
import { laneName, signedNs, type Collective, type PathPart, type RunFinding, type RunReport, type RunShape, type StepAnswer } from './run'
import { formatNs } from './time'

type Parts = (string | ReturnType<typeof figure>)[]

/** "24 ranks": the number is the figure. */
function counted(id: string, count: number, noun: string, key?: FigureKey): Parts {
  const [digits, ...words] = countOf(count, noun).split(' ')
  return [figure(id, digits!, key), ` ${words.join(' ')}`]
}

/** "24 of 32 ranks on 6 machines, NVIDIA H200; 30 steps of 65.7 ms" */
export function runSummary(report: RunReport): Words {
  const isPartial = report.world_size !== null && report.world_size > report.ranks
  return [
    ...(isPartial ? [figure('run.ranks', String(report.ranks)), ' of ', ...counted('run.world_size', report.world_size!, 'ranks')] : counted('run.ranks', report.ranks, 'ranks')),
    ' on ', ...counted('run.machines', report.machines, 'machines'), report.device_name ? `, ${report.device_name}; ` : '; ', ...counted('run.steps', report.steps, 'steps'),
    ...(report.step_ns === null ? [] : [' of ', figure('run.step_ns', formatNs(report.step_ns))]),
  ]
}

/** "costs 8.16 ms per step (12.4 % of the step time)"; nothing where the cost is unknown. */
export function findingCost({ id, cost_ns, cost_share }: RunFinding): Words {
  if (cost_ns === null || cost_share === null) return ''
  return ['costs ', figure('run.findings.cost_ns', formatNs(cost_ns), { id }), ' per step (', figure('run.findings.cost_share', formatShare(cost_share), { id }), ' of the step time)']
}

export function whatIf({ change, before_ns, after_ns, saved_share }: RunReport['what_if'][number]): { times: Words; saved: Words } {
  return {
    times: [`${change}: `, figure('run.what_if.before_ns', formatNs(before_ns), { change }), ' → ', figure('run.what_if.after_ns', formatNs(after_ns), { change })],
    saved: saved_share === null ? '' : ['(saves ', figure('run.what_if.saved_share', formatShare(saved_share), { change }), ' of the step)'],
  }
}

export function stepSummary(facts: StepAnswer['step'][number]): Words {
  const key = { step: facts.step }
  const time = (column: 'median_ns' | 'min_ns' | 'max_ns' | 'slowest_excess_ns') => figure(`run.steps.${column}`, formatNs(facts[column]), key)
  const late: Parts =
    facts.late_lanes > 0
      ? [...counted('run.steps.late_lanes', facts.late_lanes, 'ranks', key), facts.late_lanes === 1 ? ' is late; rank ' : ' are late; rank ',
         figure('run.steps.slowest_rank', String(facts.slowest_rank), key), ' by ', time('slowest_excess_ns'), '.']
      : ['No rank is late.']
  return [
    time('median_ns'), ' on the median rank (', time('min_ns'), ' to ', time('max_ns'), ')', facts.is_outlier ? ', far longer than the steps around it' : '', '. ', ...late,
  ]
}

export const partName = (part: PathPart) =>
  part.kind === 'transfer' ? `${part.operation} in ${part.communicator}` : `${part.kind} of rank ${laneName(part)}`

/** "12.3 ms (34.0 % of the path) own work of rank 5" */
export function pathPart(part: PathPart, step: number): Words {
  const key = { step, position: part.position }
  const share: Parts = part.share === null ? [] : [' (', figure('run.path.share', formatShare(part.share), key), ' of the path)']
  return [figure('run.path.length_ns', formatNs(part.end_ns - part.start_ns), key), ...share, ` ${partName(part)}`]
}

export const nameOf = (one: Collective) => (one.sender >= 0 ? `${one.operation} ${one.sender} → ${one.receiver}` : one.operation)

/** What tells a collective from others. */
export const keyOf = ({ step, communicator, operation, sender, receiver, sequence, occurrence }: Collective): FigureKey =>
  ({ step, communicator, operation, sender, receiver, sequence, occurrence })

export function collectiveSummary(one: Collective): Words {
  const key = keyOf(one)
  const time = (column: 'skew_ns' | 'waited_ns' | 'transfer_ns' | 'end_spread_ns') => figure(`run.collectives.${column}`, formatNs(one[column]), key)
  if (!one.ends_together) {
    return [
      `${nameOf(one)} in ${one.communicator}: its ranks end it `, time('end_spread_ns'),
      ' apart, more than its transfer takes and the clocks’ error explains. These may be different collectives, so there is no skew, and no figure of the run includes it.',
    ]
  }
  return [
    `${nameOf(one)} in ${one.communicator}`, ...(one.bytes === null ? [] : [', ', figure('run.collectives.bytes', formatBytes(one.bytes), key)]), ': rank ',
    figure('run.collectives.last_rank', String(one.last_rank), key), ' came last, ', time('skew_ns'), ' after the first; together the others waited ', time('waited_ns'),
    '. Transfer ', time('transfer_ns'),
    ...(one.bus_bandwidth && one.bus_bandwidth > 0.1 ? [', ', figure('run.collectives.bus_bandwidth', `${one.bus_bandwidth.toFixed(1)} GB/s`, key), ' of bus bandwidth'] : []), '.',
    ...(one.is_complete ? [] : [' Only ', figure('run.collectives.ranks', String(one.ranks), key), ' of its ranks are in the dataset.']),
  ]
}

/** "127 ranks, −12.1 µs": how many behave alike, and how much later than the median they are. */
export function groupLabel({ cluster, lanes, excess_ns }: RunShape['clusters'][number]): Words {
  return [...counted('run.clusters.lanes', lanes, 'ranks', { cluster }), ', ', figure('run.clusters.excess_ns', `${excess_ns > 0 ? '+' : ''}${signedNs(excess_ns)}`, { cluster })]
}

/** What the header of a rank’s timeline says of its step. */
export function laneFacts(lane: StepLane, step: number, start_ns: number): Words {
  const key = { rank: lane.rank, device: lane.device, step }
  const figureOf = (column: string, text: string) => figure(`run.lane_steps.${column}`, text, key)
  return [
    `${lane.machine}; step `, figureOf('duration_ns', formatNs(lane.duration_ns)), '; own time ', figureOf('excess_ns', `${lane.excess_ns > 0 ? '+' : ''}${signedNs(lane.excess_ns)}`),
    ' against the median; begins at ', figureOf('begin_ns', signedNs(lane.start_ns - start_ns)),
    ...(lane.error_ns === null ? [] : [' ± ', figureOf('error_ns', formatNs(lane.error_ns, 2))]),
  ]
}
