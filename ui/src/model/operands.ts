// Operands of a device's instructions, explained field by field. "S[5]>=2 S[7]++@complete src=bf16@SBUF[0..127]+0x200[1][512] 128*64":
// what it waits for, what it tells others, what it works on. Parts that are not known stay as they are.
import { formatBytes, formatCount } from './numbers'

export type OperandKind = 'wait' | 'update' | 'memory' | 'size' | 'value' | 'other'

export interface OperandPart {
  text: string // as in the operands
  kind: OperandKind
  title: string
  meaning: string
}

const BYTES: Record<string, number> = {
  fp32: 4, f32: 4, int32: 4, uint32: 4, tf32: 4, bf16: 2, fp16: 2, int16: 2, uint16: 2, fp8: 1, fp8e3: 1, fp8e4: 1, fp8e5: 1, int8: 1,
  uint8: 1,
}

const NAMES: Record<string, [string, string]> = {
  acc: ['Accumulate', '1: adds to what is in PSUM; 0: replaces it'],
  acc_flags: ['Accumulate', 'how results are added to what is in PSUM'],
  row_grp: ['Row group', 'rows of the array that it uses'],
  op: ['Operation', 'of the engine’s ALU'],
  op2: ['Second operation', 'of the engine’s ALU, on the result of the first'],
  scalar: ['Scalar', 'second operand of the operation'],
  scalar2: ['Second scalar', 'second operand of the second operation'],
  fn: ['Function', 'applied to each element'],
  scale: ['Scale', 'multiplies the input'],
  bias: ['Bias', 'added to the input'],
  value: ['Value', 'immediate'],
  base: ['Base', 'first value'],
  multiplier: ['Multiplier', 'difference between values'],
  dims: ['Dimensions', 'number of innermost dimensions that are reduced'],
  id: ['Id', 'of the DMA block or collective that it starts'],
  queue: ['DMA queue', 'that performs the transfers'],
  descriptors: ['Descriptors', 'transfers of the block'],
  dtype: ['Data type', 'of the elements'],
  in: ['Input', 'bytes'],
  out: ['Output', 'bytes'],
  channel: ['Channel', 'of the collective'],
  target: ['Target', 'instruction to continue with if the comparison holds'],
  semaphore: ['Semaphore', 'number'],
}

const TIMES: Record<string, string> = {
  complete: 'when it is complete', read: 'when it has read its operands', done: 'when all of that is done',
}

const ROLES: Record<string, string> = { src: 'Source', src1: 'Second source', src2: 'Third source', dst: 'Destination' }

const list = (text: string) => text.split(',').map(Number)

/** "steps 1, sizes 512" of the dimensions, innermost first: 512 elements in a row. */
function pattern(steps: string, sizes: string): { text: string; elements: number } {
  const [by, of] = [list(steps), list(sizes)]
  const dimensions = of
    .map((size, at) => (size === 1 && of.length > 1 ? '' : `${formatCount(size)}${by[at] === 1 ? '' : ` every ${formatCount(by[at]!)}`}`))
    .filter(Boolean)
  const elements = of.reduce((product, size) => product * size, 1)
  return { text: `${dimensions.join(' × ') || '1'} ${elements === 1 ? 'element' : 'elements'}`, elements }
}

/** "bf16@SBUF[0..127]+0x200[1][512]", "fp16@0x5600[1,0,0][3,1,1]", "0x2000000[1][8]". */
function memory(name: string, value: string): Omit<OperandPart, 'text'> | null {
  const match = /^(?:(\w+)@)?(?:([A-Z]+)\[(\d+)\.\.(\d+)\]\+)?(0x[0-9a-f]+)\[([-\d,]*)\]\[([\d,]*)\]$/i.exec(value)
  if (!match) return null
  const [, type, unit, first, last, address, steps, sizes] = match
  const { text, elements } = pattern(steps!, sizes!)
  const size = type ? BYTES[type] : undefined
  const partitions = first === undefined ? null : Number(last) - Number(first) + 1
  const parts = [
    `${text}${type ? ` of ${type}` : ''}${partitions === null ? '' : ' in each partition'}${size ? ` (${formatBytes(elements * size)})` : ''}`,
    unit ? `${unit}, ${partitions === 1 ? `partition ${first}` : `partitions ${first} to ${last} (${partitions})`}` : '',
    `from ${unit ? 'byte' : 'address'} ${address}${unit ? ` (${formatCount(Number(address))}) of each` : ''}`,
  ]
  return { kind: 'memory', title: ROLES[name] ?? name, meaning: parts.filter(Boolean).join('; ') }
}

const CHANGES: [RegExp, (value: string) => string][] = [
  [/^\+\+$/, () => 'goes up by 1'],
  [/^--$/, () => 'goes down by 1'],
  [/^\+=(\d+)$/, (value) => `goes up by ${value}`],
  [/^-=(\d+)$/, (value) => `goes down by ${value}`],
  [/^=(\d+)$/, (value) => `becomes ${value}`],
]

/** "S[7]++@complete", "S[5] (Tensor)++@complete", "S[3..9]=0". */
function semaphore(text: string): Omit<OperandPart, 'text'> | null {
  const match = /^\$?S\[(\d+(?:\.\.\d+)?)\](?: \((\w+)\))?(.*)$/.exec(text)
  if (!match) return null
  const [, number, engine, rest] = match
  const isRange = number!.includes('..')
  const subject = isRange ? `semaphores ${number!.replace('..', ' to ')}` : `semaphore ${number}`
  const wait = /^(>=|<=|==|>|<)(\d+)$/.exec(rest!)
  if (wait) {
    const relation = { '>=': 'at least', '<=': 'at most', '==': 'equal to', '>': 'more than', '<': 'less than' }[wait[1]!]
    return { kind: 'wait', title: 'Waits', meaning: `until ${subject} is ${relation} ${wait[2]}` }
  }
  const [change, time] = rest!.split('@')
  const said = CHANGES.map(([form, say]) => [form.exec(change!), say] as const).find(([found]) => found)
  if (!said) return null
  const when = time ? ` ${TIMES[time] ?? `at ${time}`}` : ''
  const done = said[1](said[0]![1] ?? '')
  const verb = isRange ? done.replace(/^(goes|becomes)/, (one) => (one === 'goes' ? 'go' : 'become')) : done
  return { kind: 'update', title: 'Updates', meaning: `${subject}${engine ? ` (${engine})` : ''} ${verb}${when}` }
}

function explain(text: string): Omit<OperandPart, 'text'> {
  const found = semaphore(text)
  if (found) return found
  const product = /^(\d+)\*(\d+)$/.exec(text)
  if (product) return { kind: 'size', title: 'Array', meaning: `${product[1]} rows × ${product[2]} columns of the Tensor engine` }
  const register = /^R\[(\d+)\]$/.exec(text)
  if (register) return { kind: 'value', title: 'Register', meaning: `number ${register[1]}` }
  const pair = /^(\w+)=(.+)$/.exec(text)
  if (!pair) return { kind: 'other', title: '', meaning: '' }
  const [, name, value] = pair
  const place = memory(name!, value!)
  if (place) return place
  const [title, meaning] = NAMES[name!] ?? [name!, '']
  const isBytes = meaning === 'bytes' && /^\d+$/.test(value!)
  return { kind: 'value', title, meaning: isBytes ? formatBytes(Number(value)) : [value, meaning && `(${meaning})`].filter(Boolean).join(' ') }
}

export function readOperands(operands: string): OperandPart[] {
  // "(Tensor)++@complete" belongs to the semaphore before it.
  const words = operands.match(/\$?S\[[^\]]*\] \(\w+\)\S*|\S+/g) ?? []
  return words.map((text) => ({ text, ...explain(text) }))
}
