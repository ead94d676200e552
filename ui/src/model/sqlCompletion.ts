// What can be typed at a place of a query: columns, tables, functions of DuckDB and keywords.
import type { TableInfo } from './api'

export interface Completion {
  label: string
  kind: 'column' | 'table' | 'function' | 'keyword'
  detail: string
  info: string
}

export interface Completions {
  from: number // where the word at the cursor begins
  options: Completion[]
}

export const KEYWORDS = (
  'SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT OFFSET DISTINCT AS ON USING JOIN LEFT RIGHT FULL INNER CROSS ASOF UNION ALL EXCEPT INTERSECT WITH ' +
  'RECURSIVE CASE WHEN THEN ELSE END AND OR NOT IN IS NULL LIKE ILIKE BETWEEN EXISTS ASC DESC NULLS FIRST LAST OVER PARTITION WINDOW ROWS RANGE ' +
  'UNBOUNDED PRECEDING FOLLOWING CURRENT ROW FILTER QUALIFY EXCLUDE REPLACE COLUMNS VALUES UNNEST PIVOT UNPIVOT SAMPLE TRUE FALSE CAST INTERVAL'
).split(' ')

const FUNCTIONS: Record<string, string> = {
  'abs(x)': 'absolute value', 'any_value(x)': 'a value that is not NULL', 'arg_max(x, by)': 'x where `by` is largest', 'arg_min(x, by)': 'x where `by` is smallest',
  'avg(x)': 'mean', 'bool_and(x)': 'whether all are true', 'bool_or(x)': 'whether one is true', 'ceil(x)': 'rounded up', 'coalesce(x, y)': 'the first that is not NULL',
  'concat(x, y)': 'texts in a row', 'contains(text, part)': 'whether a text contains another', 'corr(y, x)': 'correlation', 'count(*)': 'number of rows', 'count(x)': 'number of values',
  'cume_dist()': 'share of rows up to this one', 'dense_rank()': 'rank without gaps', 'ends_with(text, part)': 'whether a text ends with another', 'first(x)': 'the first value',
  'first_value(x)': 'of the window', 'floor(x)': 'rounded down', 'greatest(x, y)': 'the largest', 'histogram(x)': 'how often each value occurs', 'if(test, x, y)': 'x where the test is true, else y',
  'ifnull(x, y)': 'y where x is NULL', 'json_extract(json, path)': 'a part of JSON', 'json_extract_string(json, path)': 'a part of JSON as text', 'lag(x)': 'of the row before',
  'last(x)': 'the last value', 'last_value(x)': 'of the window', 'lead(x)': 'of the row after', 'least(x, y)': 'the smallest', 'length(text)': 'number of characters',
  'list(x)': 'all values as a list', 'log10(x)': 'logarithm', 'lower(text)': 'in small letters', 'max(x)': 'largest', 'max_by(x, by)': 'x where `by` is largest', 'mean(x)': 'mean',
  'median(x)': 'median', 'min(x)': 'smallest', 'min_by(x, by)': 'x where `by` is smallest', 'mode(x)': 'the most frequent value', 'ntile(n)': 'which of n parts a row is in',
  'nullif(x, y)': 'NULL where both are equal', 'percent_rank()': 'rank as a share', 'power(x, y)': 'x to the power of y', 'quantile_cont(x, q)': 'percentile, interpolated',
  'quantile_disc(x, q)': 'percentile, one of the values', 'range(n)': 'a table of whole numbers', 'rank()': 'rank with gaps', 'regexp_extract(text, pattern, group)': 'what a pattern finds',
  'regexp_matches(text, pattern)': 'whether a pattern is found', 'regexp_replace(text, pattern, by)': 'replaces what a pattern finds', 'replace(text, part, by)': 'replaces a part', 'round(x, digits)': 'rounded',
  'row_number()': 'number of the row', 'sign(x)': '-1, 0 or 1', 'split_part(text, separator, n)': 'the n-th part', 'sqrt(x)': 'square root', 'starts_with(text, part)': 'whether a text starts with another',
  'stddev(x)': 'standard deviation', 'string_agg(text, separator)': 'texts in a row', 'substr(text, from, count)': 'a part of a text', 'sum(x)': 'sum', 'trim(text)': 'without blanks around it',
  'try_cast(x AS type)': 'NULL where it fails', 'unnest(list)': 'a row for each element', 'upper(text)': 'in capitals', 'var_samp(x)': 'variance',
}

const functions: Completion[] = Object.entries(FUNCTIONS).map(([detail, info]) => ({ label: detail.slice(0, detail.indexOf('(')), kind: 'function' as const, detail, info }))
const keywords: Completion[] = KEYWORDS.map((label) => ({ label, kind: 'keyword' as const, detail: '', info: '' }))

/** Tables that the query names, by their names and aliases in small letters. */
function namedTables(query: string, tables: readonly TableInfo[]): Map<string, TableInfo> {
  const byName = new Map(tables.map((table) => [table.name.toLowerCase(), table]))
  const found = new Map<string, TableInfo>()
  const words = query.match(/\w+|[^\s\w]/g) ?? []
  words.forEach((word, i) => {
    const table = byName.get(word.toLowerCase())
    if (!table) return
    found.set(word.toLowerCase(), table)
    const alias = words[i + 1]?.toUpperCase() === 'AS' ? words[i + 2] : words[i + 1]
    if (alias && /^[A-Za-z_]/.test(alias) && !KEYWORDS.includes(alias.toUpperCase())) found.set(alias.toLowerCase(), table)
  })
  return found
}

function columnsOf(tables: Iterable<TableInfo>): Completion[] {
  const found = new Map<string, Completion>()
  for (const table of new Set(tables)) {
    for (const column of table.columns) {
      const known = found.get(column.name)
      const detail = [known ? `${known.detail.split(' · ')[0]!}, ${table.name}` : table.name, column.unit || column.type].filter(Boolean).join(' · ')
      found.set(column.name, { label: column.name, kind: 'column', detail, info: column.meaning })
    }
  }
  return [...found.values()]
}

/** Null inside texts and comments. Without a word, options are for who asks for them (`isAsked`). */
export function completionsAt(query: string, position: number, tables: readonly TableInfo[], isAsked: boolean): Completions | null {
  const before = query.slice(0, position)
  if (/--[^\n]*$/.test(before) || (before.match(/'/g)?.length ?? 0) % 2 === 1) return null
  const word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? ''
  const from = position - word.length
  const owner = /([A-Za-z_]\w*)\.$/.exec(query.slice(0, from))?.[1]
  const named = namedTables(query.slice(0, from) + query.slice(position), tables)
  if (owner) {
    const table = named.get(owner.toLowerCase())
    return table ? { from, options: columnsOf([table]) } : null
  }
  if (!word && !isAsked) return null
  const all: Completion[] = tables.map((table) => ({ label: table.name, kind: 'table', detail: `${table.rows.toLocaleString('en-US')} rows`, info: table.meaning }))
  const ofTables = /\b(FROM|JOIN)\s+$/i.test(query.slice(0, from))
  return { from, options: ofTables ? all : [...columnsOf(named.values()), ...all, ...functions, ...keywords] }
}
