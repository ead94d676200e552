// The language of the search: its examples, its fields, and what may follow what has been typed.

export const EXAMPLES: { query: string; means: string }[] = [
  { query: 'fusion', means: 'the name has it in it' },
  { query: 'name:fusion*', means: 'the name begins with it; * and ? stand for anything' },
  { query: 'duration>10us', means: 'takes longer; also <, <=, >=, with ps, ns, us, ms, s' },
  { query: 'layer~attn', means: 'the framework’s operation has it in it' },
  { query: 'size>=1MiB', means: 'sizes with B, KB, MB, GB, KiB, MiB, GiB' },
  { query: 'core:0', means: 'numbers are equal' },
  { query: 'name:"two words"', means: 'values with blanks' },
  { query: 'opcode:MATMUL duration>10us layer~attn', means: 'all of it must hold' },
]

/** Names that stand for columns of several tables. */
export const SHORT_FIELDS = [
  'name', 'duration', 'start', 'end', 'core', 'device', 'stream', 'layer', 'size', 'thread', 'process', 'host', 'source', 'step',
  'worker', 'module', 'file', 'line', 'function', 'attributes',
]

/** The tables whose columns can be asked for. */
export const SEARCHED_TABLES = [
  'SystemProfileEvents', 'HloRun', 'GpuKernel', 'GpuCopy', 'Collective', 'MemoryAllocation', 'CounterSample', 'HloOperation', 'HloModule',
  'Step', 'PythonFrame',
]

const MOST = 8

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
  const has = fields.filter((field) => !field.startsWith(lower) && field.includes(lower))
  return [...begins, ...has].slice(0, MOST)
}

/** A condition that finds exactly the events of a name. */
export function queryForName(name: string): string {
  return `name:"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
