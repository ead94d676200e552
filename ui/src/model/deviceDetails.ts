// Details of events of a device: the rows of its tables in groups that a reader looks for, and its key facts.
import type { EventDetails, Field } from './api'

/** Tables that have one row for an event of a device. */
export const DEVICE_TABLES = ['Instruction', 'DmaPacketAggregated', 'DmaPacket', 'CcOp', 'CcInstruction', 'Error']

type Group = EventDetails['groups'][number]

const PARTS: [string, RegExp][] = [
  ['Waiting', /_wait_time_ns$|^dma_trigger_|^trigger_|^cc_trigger/],
  ['Memory traffic', /_bytes$|^throughput$|_size$|_bandwidth$/],
  ['Compute', /flops|elements|^performance_mode$|^tensor_instruction_type$|^scalar_activation_fn$/],
  ['Program', /^(layer|hlo_.*|.*_source_location|stack_frame_ids|(kernel|bir)_instruction_name|instruction_chain|compiler_.*|pc|.*_id)$/],
  ['Access pattern', /^(read|write)_(shape|offset|steps|.*partitions)$|transpose/],
]

const isEmpty = ({ value }: Field) => value === 0 || value === '' || value === false

/** The row of a table in parts: what identifies it first, then time, traffic, work and where it comes from. Amounts of 0 are left out. */
function splitRow(group: Group): Group[] {
  const parts = new Map<string, Field[]>([[group.title, []], ...PARTS.map(([title]) => [title, []] as [string, Field[]])])
  for (const field of group.fields) {
    if (field.name === 'operands' || field.name === 'compiler_operands') continue // explained on their own
    const [title] = PARTS.find(([, names]) => names.test(field.name)) ?? [group.title]
    const isAmount = title === 'Waiting' || title === 'Memory traffic' || title === 'Compute' || title === 'Access pattern'
    if (!(isAmount && isEmpty(field)) && field.value !== '') parts.get(title)!.push(field)
  }
  return [...parts].map(([title, fields]) => ({ title, fields }))
}

export function isDeviceEvent(details: EventDetails): boolean {
  return details.groups.some(({ title }) => DEVICE_TABLES.includes(title))
}

/** A device's tables say all that the generic row does: of that, identifiers stay. */
export function deviceGroups(details: EventDetails): Group[] {
  const own = details.groups.filter(({ title }) => DEVICE_TABLES.includes(title)).flatMap(splitRow)
  const rest = details.groups.filter(({ title }) => title === 'IDs' || title === 'EventType')
  return [...own, ...rest]
}

const valueOf = (details: EventDetails, name: string): unknown =>
  details.groups.filter(({ title }) => DEVICE_TABLES.includes(title)).flatMap(({ fields }) => fields).find((field) => field.name === name)?.value

export function operandsOf(details: EventDetails): string {
  const value = valueOf(details, 'operands')
  return typeof value === 'string' ? value : ''
}

/** What to search for to find the other events of the same thing: [label, field, value]. */
export function deviceFacts(details: EventDetails): [string, string, string][] {
  const facts: [string, string, string][] = []
  const add = (label: string, name: string) => {
    const value = valueOf(details, name)
    if (typeof value === 'string' && value !== '') facts.push([label, name, value])
  }
  add('Layer', 'layer')
  add('HLO operation', 'hlo_name')
  add('Tensor', 'variable')
  add('Queue', 'queue_name')
  add('Collective', 'operation')
  return facts
}
