// The language of the search: its examples, its fields, and what may follow what has been typed.

export const EXAMPLES: { query: string; description: string }[] = [
  { query: 'fusion', description: 'the name has it in it' },
  { query: 'name:fusion*', description: 'the name startsWith with it; * and ? stand for anything' },
  { query: 'duration>10us', description: 'takes longer; also <, <=, >=, with ps, ns, us, ms, s' },
  { query: 'layer~attn', description: 'the framework’s operation has it in it' },
  { query: 'size>=1MiB', description: 'sizes with B, KB, MB, GB, KiB, MiB, GiB' },
  { query: 'core:0', description: 'numbers are equal' },
  { query: 'name:"two words"', description: 'values with blanks' },
  { query: 'opcode:MATMUL duration>10us layer~attn', description: 'all of it must hold' },
]

/** Names that stand for columns of several tables. */
export const FIELD_ALIASES = [
  'name', 'duration', 'start', 'end', 'core', 'device', 'stream', 'layer', 'size', 'thread', 'process', 'host', 'source', 'step',
  'worker', 'module', 'file', 'line', 'function', 'attributes',
]

/** The tables whose columns can be asked for. */
export const SEARCHED_TABLES = [
  'SystemProfileEvents', 'HloRun', 'GpuKernel', 'GpuCopy', 'Collective', 'MemoryAllocation', 'CounterSample', 'HloOperation', 'HloModule',
  'Step', 'PythonFrame',
]

const MAX_COMPLETIONS = 8

/** The word that ends at the cursor: a field may be meant until there is an operator in it. */
export function wordAt(text: string, cursor: number): { from: number; word: string } {
  const from = Math.max(text.lastIndexOf(' ', cursor - 1), text.lastIndexOf('"', cursor - 1)) + 1
  return { from, word: text.slice(from, cursor) }
}

/** Fields that the word begins, then those that have it in them. */
export function completions(fields: string[], word: string): string[] {
  if (!word || /[:~<>="]/.test(word)) return []
  const lower = word.toLowerCase()
  const begins = fields.filter((field) => field.startsWith(lower) && field !== lower)
  const contains = fields.filter((field) => !field.startsWith(lower) && field.includes(lower))
  return [...begins, ...contains].slice(0, MAX_COMPLETIONS)
}

/** A condition that finds exactly the events of a name. */
export function queryForName(name: string): string {
  return `name:"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
