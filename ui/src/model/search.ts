// Search syntax: examples, fields and completion.

export const EXAMPLES: { query: string; description: string }[] = [
  { query: 'fusion', description: 'name contains “fusion”' },
  { query: 'name:fusion*', description: 'name matches a pattern with the wildcards * and ?' },
  { query: 'duration>10us', description: 'longer than 10 µs; also <, <=, >= with ps, ns, us, ms, s' },
  { query: 'layer~attn', description: 'framework operation contains “attn”' },
  { query: 'size>=1MiB', description: 'sizes in B, KB, MB, GB, KiB, MiB, GiB' },
  { query: 'core:0', description: 'number equals 0' },
  { query: 'name:"two words"', description: 'value with spaces' },
  { query: 'opcode:MATMUL duration>10us layer~attn', description: 'all conditions must match' },
]

/** Aliases for columns of several tables. */
export const FIELD_ALIASES = [
  'name', 'duration', 'start', 'end', 'core', 'device', 'stream', 'layer', 'size', 'thread', 'process', 'host', 'source', 'step',
  'worker', 'module', 'file', 'line', 'function', 'attributes',
]

/** Tables whose columns are search fields. */
export const SEARCHED_TABLES = [
  'SystemProfileEvents', 'HloRun', 'GpuKernel', 'GpuCopy', 'Collective', 'MemoryAllocation', 'CounterSample', 'HloOperation', 'HloModule',
  'Step', 'PythonFrame',
]

const MAX_COMPLETIONS = 8

/** The word before the cursor. */
export function wordAt(text: string, cursor: number): { from: number; word: string } {
  const from = Math.max(text.lastIndexOf(' ', cursor - 1), text.lastIndexOf('"', cursor - 1)) + 1
  return { from, word: text.slice(from, cursor) }
}

/** Fields that start with the word, then fields that contain it; none once the word has an operator. */
export function completions(fields: string[], word: string): string[] {
  if (!word || /[:~<>="]/.test(word)) return []
  const lower = word.toLowerCase()
  const begins = fields.filter((field) => field.startsWith(lower) && field !== lower)
  const contains = fields.filter((field) => !field.startsWith(lower) && field.includes(lower))
  return [...begins, ...contains].slice(0, MAX_COMPLETIONS)
}

/** A condition that matches exactly this name. */
export function queryForName(name: string): string {
  return `name:"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
