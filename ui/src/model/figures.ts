// Figures: what is shown of a profile, each with its id in the server's catalog and the row of the query that it is in. The id is that of
// a group, a dot, and a column of the group's query.

import type { RunName } from './run'

/** The row of a figure: values of the group's key columns. */
export type FigureKey = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

/** What figures are of: a profile, by its name, or a run of many ranks. */
export type FigureSubject = string | RunName

export interface Figure {
  id: string
  key?: FigureKey
  text: string
}

/** Text with figures in it. */
export type Words = string | readonly (string | Figure)[]

export interface FigureDefinition {
  column: string
  label: string
  unit: string
  text: string
  formula: string
}

export interface FigureGroup {
  id: string
  title: string
  keys: string[]
  figures: FigureDefinition[]
}

export function figure(id: string, text: string, key?: FigureKey): Figure {
  return { id, text, key }
}

/** The words without what they are about. */
export function plainText(words: Words): string {
  return typeof words === 'string' ? words : words.map((word) => (typeof word === 'string' ? word : word.text)).join('')
}

/** Puts a separator between the parts that are not empty. */
export function joinWords(parts: readonly (Words | undefined | null | false)[], separator = ' · '): Words {
  const joined: (string | Figure)[] = []
  for (const part of parts) {
    if (!part || part.length === 0) continue
    if (joined.length > 0) joined.push(separator)
    if (typeof part === 'string') joined.push(part)
    else joined.push(...part)
  }
  return joined
}

/** The key of a row: the values of those of the group's key columns that it has. */
export function rowKey(keys: readonly string[], row: Readonly<Record<string, unknown>>): FigureKey {
  return Object.fromEntries(keys.filter((key) => key in row).map((key) => [key, row[key] as FigureKey[string]]))
}

/** What elements of figures have, for the help and for tests. */
export function figureAttributes(id: string, key?: FigureKey): Record<string, string> {
  return { 'data-figure': id, ...(key ? { 'data-key': JSON.stringify(key) } : {}) }
}

/** The same for a figure that is drawn or part of a title. */
export function drawnFigure(id: string, text: string, key?: FigureKey): Record<string, string> {
  return { ...figureAttributes(id, key), 'data-text': text }
}

/** What an element of a figure shows. */
export function figureText(element: HTMLElement): string {
  return (element.dataset.text ?? element.textContent ?? '').trim()
}

/** The definition behind an id; ids of groups may contain dots, and so may columns. */
export function findFigure(groups: readonly FigureGroup[], id: string): { group: FigureGroup; definition: FigureDefinition } | null {
  for (const group of groups) {
    if (!id.startsWith(`${group.id}.`)) continue
    const definition = group.figures.find(({ column }) => `${group.id}.${column}` === id)
    if (definition) return { group, definition }
  }
  return null
}

/** Meanings of columns end with a full stop, other definitions do not. */
export function asSentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

/** "Busy: Busy time as a share of the capture’s duration. = busy_ns / summary.span_ns" */
export function describeFigure({ label, text, formula, unit }: FigureDefinition): string {
  const what = `${label}${unit && unit !== 'fraction' ? ` (${unit})` : ''}: ${asSentence(text)}`
  return formula ? `${what}\n= ${formula}` : what
}

const name = (text: string) => `"${text.replaceAll('"', '""')}"`

function literal(value: FigureKey[string]): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/** The query that gives one figure: of its group's query the column, in the row of the key. */
export function figureQuery(query: string, column: string, key: FigureKey = {}): string {
  const conditions = Object.entries(key).map(([column, value]) => `${name(column)} IS NOT DISTINCT FROM ${literal(value)}`)
  return `SELECT ${name(column)}\nFROM (\n${query.trim()}\n)${conditions.length > 0 ? `\nWHERE ${conditions.join('\n  AND ')}` : ''}`
}
