// Event details: field labels, values formatted by unit, links of fields, rows of analyses, and lookup of device profiles.
import type { Tool } from './analysis'
import type { Dependency, EventDetails, EventTable, Field, FieldGroup, Profile, Track } from './api'
import { deviceFacts, deviceGroups, isDeviceEvent } from './deviceDetails'
import { figure, type Figure, type FigureKey, type Words } from './figures'
import { formatBytes, formatCount, formatNumber, NOT_RECORDED } from './numbers'
import { shortName } from './palette'
import { fieldOf, sourceLocation } from './source'
import { isIdentifier } from './tables'
import { formatDuration, formatNs } from './time'

const LABEL_WORDS: Record<string, string> = {
  id: 'ID', ids: 'IDs', idx: 'index', hlo: 'HLO', op: 'operation', nc: 'core', gid: 'number', ts: '', ns: '', ps: '', cuda: 'CUDA',
  hbm: 'HBM', neff: 'NEFF', sbuf: 'SBUF', psum: 'PSUM', dma: 'DMA', flops: 'FLOPs', pc: 'PC', nki: 'NKI', bir: 'BIR', crc: 'CRC', evt: 'event',
  mfu: 'MFU', hfu: 'HFU', mbu: 'MBU', cc: 'CC',
}
const LABELS: Record<string, string> = {
  start_ts: 'Start', end_ts: 'End', nc_idx: 'Core', pcore_idx: 'Physical core', worker_gid: 'Worker', op_name: 'Framework operation',
  trace_event_source: 'Event source', framework_stream_id: 'Stream', instance_id: 'Instance', name: 'Name',
  load_to_sbuf_avg_size_bytes: 'Mean load', load_to_sbuf_total_size_bytes: 'Loaded to SBUF', load_to_sbuf_dma_count: 'Loads',
  load_to_sbuf_repeat_factor: 'Repeats', variable_name: 'Tensor', transfer_bytes: 'Bytes', average_bytes: 'Mean size', transfer_time_ns: 'Time',
  engine_idx: 'DMA engines',
}

/** "duration_ns" → "Duration". */
export function fieldName(name: string): string {
  if (LABELS[name]) return LABELS[name]
  const words = name.split(/[_\s]+/).map((word) => LABEL_WORDS[word.toLowerCase()] ?? word)
  const text = words.filter(Boolean).join(' ')
  return text ? text[0]!.toUpperCase() + text.slice(1) : name
}

const GROUP_WORDS: Record<string, string> = { Gpu: 'GPU', Hlo: 'HLO', Dma: 'DMA', Cc: 'CC' }

/** "GpuKernel" → "GPU kernel". */
export function groupName(title: string): string {
  const words = title.replaceAll(/([a-z])([A-Z])/g, '$1 $2').split(' ')
  return words
    .map((word, at) => (GROUP_WORDS[word] ? GROUP_WORDS[word] : at === 0 || word === 'IDs' ? word : word.toLowerCase()))
    .join(' ')
}

export interface FormattedValue {
  text: string
  exact: string // all digits
  isLong: boolean // shown as a block
}

const exactNumber = new Intl.NumberFormat('en-US', { maximumFractionDigits: 9 })

/** A value as text; JSON is indented. */
export function fieldValue(field: Field): FormattedValue {
  const { value, unit, name } = field
  if (value === null || value === undefined) return { text: '', exact: NOT_RECORDED, isLong: false }
  if (typeof value === 'boolean') return { text: value ? 'yes' : 'no', exact: String(value), isLong: false }
  if (typeof value === 'number') {
    const exact = `${isIdentifier(name) ? value : exactNumber.format(value)}${unit ? ` ${unit}` : ''}`
    if (unit === 'ns') return { text: formatNs(value, name.endsWith('_ts') ? 9 : 4), exact, isLong: false }
    if (unit === 'ps') return { text: formatDuration(value), exact, isLong: false }
    if (unit === 'B') return { text: formatBytes(value), exact, isLong: false }
    if (isIdentifier(name)) return { text: String(value), exact, isLong: false }
    const text = Number.isInteger(value) ? formatCount(value) : formatNumber(value)
    return { text: unit ? `${text} ${unit}` : text, exact, isLong: false }
  }
  if (typeof value === 'object') {
    const isPlain = Array.isArray(value) && value.every((one) => typeof one !== 'object')
    const text = isPlain ? (value as unknown[]).join(', ') : JSON.stringify(value, null, 2)
    return { text, exact: JSON.stringify(value), isLong: !isPlain }
  }
  const text = String(value)
  return { text: unit ? `${text} ${unit}` : text, exact: text, isLong: text.includes('\n') || text.length > 120 }
}

const UNITS: [bigint, string][] = [[1_000_000_000_000n, 's'], [1_000_000_000n, 'ms'], [1_000_000n, 'µs'], [1_000n, 'ns'], [1n, 'ps']]

/** A time with all significant digits: "27.215751 ms". */
export function exactTime(ps: bigint): string {
  const size = ps < 0n ? -ps : ps
  const [scale, unit] = UNITS.find(([one]) => size >= one) ?? [1n, 'ps']
  const digits = scale.toString().length - 1
  const rest = (size % scale).toString().padStart(digits, '0').slice(0, digits).replace(/0+$/, '')
  return `${ps < 0n ? '−' : ''}${size / scale}${rest ? `.${rest}` : ''} ${unit}`
}

// What tells the most first; ids last.
const GROUP_ORDER = [
  'Instruction', 'DmaPacketAggregated', 'DmaPacket', 'CcOp', 'CcInstruction', 'Compute', 'Memory traffic', 'Waiting', 'Program', 'Access pattern',
  'GpuKernel', 'GpuCopy', 'Collective', 'MemoryAllocation', 'CounterSample', 'HloOperation', 'PythonFrame', 'Data',
]
const LATER_GROUPS = ['HloModule', 'Step', 'EventType', 'General', 'Timing']
export const ID_GROUP = 'IDs'

function groupPlace(title: string): number {
  const [early, late] = [GROUP_ORDER.indexOf(title), LATER_GROUPS.indexOf(title)]
  return early >= 0 ? early : late >= 0 ? 100 + late : 50
}

const isId = (field: Field) => /(^|_)(id|ids|idx|gid)$/.test(field.name) && field.name !== 'nc_idx'

/** The figures that fields show: columns of a row, or its attributes. Texts are none. */
function withFigures(group: FieldGroup): FieldGroup {
  const { table, attributes_of: owner, key } = group
  const figureOf = ({ name, value }: Field) => {
    if (typeof value !== 'number' || !key) return undefined
    return owner ? { id: 'event.attributes.number', key: { tbl: owner, ...key, name } } : { id: `table.${table}.${name}`, key }
  }
  return { ...group, fields: group.fields.map((field) => ({ ...field, figure: figureOf(field) })) }
}

/** The event's fields in groups, without empty ones; ids of all groups are the last. Fractional picoseconds of 0 add nothing to
 *  the nanoseconds. Ids of related rows keep the name of their group. */
export function shownGroups(details: EventDetails): EventDetails['groups'] {
  const ids: Field[] = []
  const known = { ...details, groups: details.groups.map(withFigures) }
  const groups = (isDeviceEvent(details) ? deviceGroups(known) : known.groups).map((group) => {
    const fields = group.fields.filter((field) => !(field.name.endsWith('_fraction_ps') && field.value === 0))
    if (group.title === ID_GROUP) {
      ids.push(...fields)
      return { title: group.title, fields: [] }
    }
    ids.push(...fields.filter(isId))
    return { title: group.title, fields: fields.filter((field) => !isId(field)) }
  })
  const sorted = groups.filter((group) => group.fields.length > 0).sort((a, b) => groupPlace(a.title) - groupPlace(b.title))
  return ids.length > 0 ? [...sorted, { title: ID_GROUP, fields: ids }] : sorted
}

type EventRow = { table: EventTable; id: number }

/** The row of an event in the group `event` of figures. */
export const eventKey = ({ table, id }: EventRow): FigureKey => ({ tbl: table, id })

/** The gap of a flow, which is negative where its ends overlap. */
export function gapFigure(cause: EventRow, effect: EventRow, type: string, gap_ns: number, column: 'gap_ns' | 'overlap_ns' = 'gap_ns'): Figure {
  const key = { in_tbl: cause.table, in_id: cause.id, out_tbl: effect.table, out_id: effect.id, type: type || null }
  return figure(`event.flows.${column}`, formatNs(column === 'gap_ns' ? gap_ns : -gap_ns), key)
}

/** "launch · gap 1.2 µs · 18.02 µs": how an event is linked to another, as its cause or its effect. */
export function linkFacts(one: Dependency, other: EventRow, isCause: boolean): Words[] {
  const { type, gap_ns, duration } = one
  const gap = (column: 'gap_ns' | 'overlap_ns') => gapFigure(isCause ? one : other, isCause ? other : one, type, gap_ns!, column)
  return [
    type, gap_ns === null ? '' : gap_ns < 0 ? ['overlaps by ', gap('overlap_ns')] : ['gap ', gap('gap_ns')],
    [figure('event.duration_ns', formatDuration(Number(duration)), eventKey(one))],
  ]
}

/** A fact shown first: what the event belongs to. */
export interface Fact {
  label: string
  text: Words
  note?: Words
  link?: FieldLink
}

const fileName = (path: string) => path.split('/').pop() || path

/** Operator, source line, step and launch, as far as they are known. Without an operator of its own, an event has that of its
 *  launcher: the call around it. */
export function keyFacts(details: EventDetails, launcher: EventDetails | null = null): Fact[] {
  const value = (title: string, name: string) =>
    details.groups.find((group) => group.title === title)?.fields.find((field) => field.name === name)?.value
  const facts: Fact[] = []
  const add = (label: string, text: unknown, link?: FieldLink, note?: Words) => {
    const isText = (typeof text === 'string' && text !== '') || Array.isArray(text)
    if (isText && !facts.some((fact) => fact.label === label)) facts.push({ label, text: text as Words, link, note })
  }
  const search = (field: string, text: unknown): FieldLink | undefined =>
    typeof text === 'string' ? { to: 'search', field, value: text, title: 'Find all events with this value' } : undefined
  for (const [label, name, text] of deviceFacts(details)) add(label, text, search(name, text))
  const layer = value('HloOperation', 'op_name')
  add('Operator', layer, search('layer', layer))
  add('Operator', String(fieldOf(details, 'tf_op') ?? '').replace(/:$/, ''))
  add('Operator', String(value('GpuKernel', 'framework_op') ?? '').replace(/:$/, ''))
  const caller = launcher?.parent
  if (caller) add('Operator', caller.name, { to: 'event', table: caller.table, id: caller.id, title: 'Go to the operator' })
  const operation = details.part_of?.find((one) => one.name !== value('HloModule', 'name')) ?? null
  const opcode = value('HloOperation', 'opcode')
  if (operation && details.table === 'SystemProfileEvents')
    add('HLO operation', operation.name, { to: 'event', ...operation, title: 'Go to the operation' }, typeof opcode === 'string' ? opcode : '')
  const place = sourceLocation(details)
  if (place) add('Source', `${fileName(place.file)}:${place.line}`, { to: 'source', ...place, title: `Open ${place.file} in the Source tab` })
  const step = value('Step', 'event_id')
  if (typeof step === 'number' && !(details.table === 'SystemProfileEvents' && step === details.id))
    add('Step', `${String(value('Step', 'name') ?? 'step')} ${String(value('Step', 'number') ?? '')}`.trim(), {
      to: 'event', table: 'SystemProfileEvents', id: step, title: 'Go to step',
    })
  const launch = details.predecessors.find((one) => one.type === 'launch')
  if (launch) {
    const delay = launch.gap_ns === null ? '' : launch.gap_ns < 0 ? 'while it ran' : [gapFigure(launch, details, launch.type, launch.gap_ns), ' before']
    add('Launched by', launch.name, { to: 'event', table: launch.table, id: launch.id, title: 'Go to the launch' }, delay)
  }
  const launched = details.successors.filter((one) => one.type === 'launch')
  const first = launched[0]
  const count = details.launch_count ?? launched.length
  if (first)
    add('Launches', count === 1 ? first.name : [figure('event.links.launch_count', formatCount(count), eventKey(details)), ' device events'], {
      to: 'event', table: first.table, id: first.id, title: 'Go to the first',
    })
  return facts
}

export type FieldLink =
  | { to: 'event'; table: EventTable; id: number; title: string }
  | { to: 'source'; file: string; line: number; title: string }
  | { to: 'search'; field: string; value: string; title: string }

/** What a click on the field's value opens. */
export function fieldLink(details: EventDetails, group: string, field: Field): FieldLink | null {
  const { name, value } = field
  if ((name === 'launch_event_id' || (name === 'event_id' && group === 'Step')) && typeof value === 'number')
    return { to: 'event', table: 'SystemProfileEvents', id: value, title: 'Go to event' }
  if (group === 'DmaPacketAggregated' && (name === 'trigger' || name === 'completion') && typeof value === 'number')
    return { to: 'event', table: 'SystemProfileEvents', id: value, title: 'Go to the instruction' }
  if (name === 'step_id') {
    const event = details.groups.find((one) => one.title === 'Step')?.fields.find((one) => one.name === 'event_id')?.value
    return typeof event === 'number' ? { to: 'event', table: 'SystemProfileEvents', id: event, title: 'Go to step' } : null
  }
  const isLocation = /^(source_file|source_line|file_path|line_number|source)$/.test(name)
  const location = isLocation && group !== 'MemoryAllocation' ? sourceLocation(details) : null
  if (location) return { to: 'source', ...location, title: 'Open in the Source tab' }
  if (typeof value !== 'string') return null
  const title = 'Find all events with this value'
  if (name === 'hlo_module' || (group === 'HloModule' && name === 'name')) return { to: 'search', field: 'module', value, title }
  if (name === 'opcode') return { to: 'search', field: 'opcode', value, title }
  if (name === 'op_name') return { to: 'search', field: 'layer', value, title }
  if (name === 'name' && (group === 'HloOperation' || group === 'General')) return { to: 'search', field: 'name', value, title }
  return null
}

/** A row of an analysis. */
export interface AnalysisRow {
  tool: Tool
  row: string // its name
  label: string
  choices?: Record<string, string> // of the table's lists
}

/** The rows that an event is part of: of its operation, its kernel, its operator. */
export function analysisRows(details: EventDetails): AnalysisRow[] {
  const rows: AnalysisRow[] = []
  const operation = details.groups.find((group) => group.title === 'HloOperation')?.fields.find((field) => field.name === 'name')?.value
  if (typeof operation === 'string') rows.push({ tool: 'hlo_stats', row: operation, label: 'Operation in analysis' })
  else if (fieldOf(details, 'hlo_category') !== undefined) rows.push({ tool: 'hlo_stats', row: shortName(details.name), label: 'Operation in analysis' })
  if (details.groups.some((group) => group.title === 'GpuKernel')) rows.push({ tool: 'kernel_stats', row: details.name, label: 'Kernel in analysis' })
  if (fieldOf(details, 'cat') === 'cpu_op')
    rows.push({ tool: 'framework_op_stats', row: details.name, label: 'Operator in analysis', choices: { host_or_device: 'Host' } })
  return rows
}

/** "host / process / stream": the path of a track. */
export function trackPath(byId: ReadonlyMap<number, Track>, id: number): string {
  const names: string[] = []
  for (let track = byId.get(id); track; track = track.parent === null ? undefined : byId.get(track.parent))
    if (track.name) names.unshift(track.name)
  return names.join(' / ')
}

/** A device profile referenced by a system profile. */
export interface DeviceEntry {
  name: string
  core: number | null // as its machine numbers them
  instance: string | null
  process?: number | null
  logical?: number | null // core, as its process numbers them
  model?: string | null // the compiled graph
}

export interface DeviceProfile extends DeviceEntry {
  profile: Profile | null // null: not in the workspace
}

export function readDeviceList(attributes: readonly string[]): DeviceEntry[] {
  const entries: DeviceEntry[] = []
  for (const text of attributes) {
    const list = (JSON.parse(text) as { device_profile_list?: Record<string, unknown>[] }).device_profile_list
    for (const one of Array.isArray(list) ? list : [])
      if (typeof one.device_profile_name === 'string')
        entries.push({
          name: one.device_profile_name, core: typeof one.nc_id === 'number' ? one.nc_id : null,
          instance: typeof one.instance_id === 'string' ? one.instance_id : null,
        })
  }
  return entries
}

const PREFIX = 'device_profile_model_'

/** The referenced profiles with their workspace entries, then workspace profiles named like a device profile. */
export function deviceProfiles(entries: readonly DeviceEntry[], profiles: readonly Profile[], own: string): DeviceProfile[] {
  const others = profiles.filter((profile) => profile.name !== own)
  const listed = entries.map((entry) => ({
    ...entry, profile: others.find((one) => one.name === entry.name || one.name === PREFIX + entry.name) ?? null,
  }))
  const matched = new Set(listed.map((one) => one.profile?.name))
  const named = others.filter((one) => !matched.has(one.name) && one.name.startsWith(PREFIX))
  return [...listed, ...named.map((profile) => ({ name: profile.name, core: null, instance: null, profile }))]
}

/** A compiled graph, and its device profiles: one of each core it ran on. */
export interface Graph {
  model: string
  profiles: DeviceProfile[]
}

export function graphsOf(all: readonly DeviceProfile[]): Graph[] {
  const graphs = new Map<string, DeviceProfile[]>()
  for (const one of all) {
    const model = one.model ?? one.name.replace(PREFIX, '')
    graphs.set(model, [...(graphs.get(model) ?? []), one])
  }
  return [...graphs].map(([model, profiles]) => ({ model, profiles }))
}

export function hasDeviceProfile(details: EventDetails): boolean {
  return details.name === 'nc_exec_running' || details.name === 'nrt_execute'
}

/** The device profile of an execution: by process, if it has one alone, by core and instance, and of several by model; else by model. Cores of
 *  an execution are counted within its process. JAX names hosts otherwise than the runtime's instances: where no profile is of the
 *  execution's instance, its process decides. */
export function deviceProfileOf(details: EventDetails, all: readonly DeviceProfile[]): DeviceProfile | null {
  const value = (name: string) => details.groups.flatMap((group) => group.fields).find((field) => field.name === name)?.value
  const core = value('nc_idx')
  const instance = value('instance_id')
  const onInstance = all.filter((one) => (one.instance ?? instance) === instance)
  const hasProcess = (one: DeviceProfile) => typeof one.process === 'number'
  const ofProcess = (onInstance.some(hasProcess) ? onInstance : all).filter((one) => hasProcess(one) && one.process === value('process_id'))
  if (ofProcess.length === 1) return ofProcess[0]!
  const byCore = (ofProcess.length > 0 ? ofProcess : onInstance).filter((one) => core !== undefined && (one.logical ?? one.core) === core)
  if (byCore.length > 0) return byCore.find((one) => one.model === value('model_name')) ?? byCore[0]!
  const models = [value('model_id'), value('neff_id'), value('model_name')]
    .filter((model) => model !== undefined && model !== '')
    .map((model) => String(model).replace(/\.neff$/, ''))
  return all.find((one) => models.some((model) => one.name === model || one.name === PREFIX + model)) ?? null
}
