// The glossary: terms of docs/glossary.md, which is a part of the program, and the figures of the server's catalog by the page that
// shows them.
import { TOOL_TITLES } from './analysis'
import type { FigureDefinition, FigureGroup } from './figures'

/** A piece of text: plain, code, or emphasized. */
export interface Piece {
  text: string
  kind: 'plain' | 'code' | 'strong' | 'em'
}

export interface Term {
  anchor: string
  name: string
  text: Piece[]
}

const MARKS = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\([^)]*\)/g

/** Text with `code`, **strong** and *emphasized* parts; of links, which lead to other documents, the text. */
export function readPieces(text: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  const plain = (end: number) => {
    if (end > at) pieces.push({ text: text.slice(at, end), kind: 'plain' })
  }
  for (const match of text.matchAll(MARKS)) {
    plain(match.index)
    const [whole, code, strong, em, link] = match
    pieces.push({ text: (code ?? strong ?? em ?? link)!, kind: code ? 'code' : strong ? 'strong' : em ? 'em' : 'plain' })
    at = match.index + whole.length
  }
  plain(text.length)
  return pieces
}

/** "Step time" -> "step-time": what an address has behind its #. */
export function termAnchor(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

/** Paragraphs that begin with a name: "**Arg** — a typed value". */
export function readTerms(markdown: string): Term[] {
  return markdown.split(/\n\s*\n/).flatMap((paragraph) => {
    const match = /^\*\*([^*]+)\*\* — ([^]*)$/.exec(paragraph.trim())
    return match ? [{ anchor: termAnchor(match[1]!), name: match[1]!, text: readPieces(match[2]!.replace(/\s+/g, ' ')) }] : []
  })
}

/** What a page shows, and where its figures are. */
export interface GlossarySection {
  anchor: string
  title: string
  groups: FigureGroup[]
  isOfTables: boolean // very many columns: shown on demand
}

const TITLES: Record<string, string> = {
  ...TOOL_TITLES, summary: 'Summary', chart: 'Charts', computed: 'Figures that no table holds', device: 'Device profiles', table: 'Tables',
}

/** Groups by the page that shows them, in the catalog's order. */
export function glossarySections(groups: readonly FigureGroup[]): GlossarySection[] {
  const sections = new Map<string, GlossarySection>()
  for (const group of groups) {
    const page = group.id.split('.')[0]!
    const title = TITLES[page] ?? page[0]!.toUpperCase() + page.slice(1).replaceAll('_', ' ')
    if (!sections.has(page)) sections.set(page, { anchor: `page-${page}`, title, groups: [], isOfTables: page === 'table' })
    sections.get(page)!.groups.push(group)
  }
  return [...sections.values()]
}

const plain = (pieces: Piece[]) => pieces.map(({ text }) => text).join('')

/** Whether all words are in the text. */
function matches(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}

export const figureAnchor = (group: FigureGroup, { column }: FigureDefinition) => `${group.id}.${column}`

function searchWords(search: string): string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean)
}

export function findTerms(terms: readonly Term[], search: string): Term[] {
  const words = searchWords(search)
  return terms.filter(({ name, text }) => matches(`${name} ${plain(text)}`, words))
}

/** What matches of the sections; a group whose own id or title matches, with all of its figures. */
export function findSections(sections: readonly GlossarySection[], search: string): GlossarySection[] {
  const words = searchWords(search)
  return sections.flatMap((section) => {
    const groups = section.groups.flatMap((group) => {
      if (matches(`${section.title} ${group.id} ${group.title}`, words)) return [group]
      const figures = group.figures.filter((figure) =>
        matches(`${section.title} ${figureAnchor(group, figure)} ${figure.label} ${figure.text} ${figure.formula}`, words))
      return figures.length > 0 ? [{ ...group, figures }] : []
    })
    return groups.length > 0 ? [{ ...section, groups }] : []
  })
}
