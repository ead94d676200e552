// The server's catalog of figures, asked once, and the queries that give them. Queries that depend on what was chosen on a page are the
// page's own.
import { findFigure, type FigureGroup, type FigureSubject } from '../model/figures'
import * as api from './api'

class Figures {
  groups: FigureGroup[] = $state.raw([])
  #loading: Promise<void> | undefined
  #own = new Map<string, () => Promise<string>>()

  load(): Promise<void> {
    this.#loading ??= api.listFigures().then(
      (groups) => void (this.groups = groups),
      () => void (this.#loading = undefined), // asked again the next time
    )
    return this.#loading
  }

  find(id: string) {
    return findFigure(this.groups, id)
  }

  /** The columns that tell the rows of a table apart; null if it is not known, or not yet. */
  keysOf(table: string): string[] | null {
    return this.groups.find(({ id }) => id === `table.${table}`)?.keys ?? null
  }

  /** Parameters of the server's query of a group, as chosen on a page. */
  setParameters(subject: FigureSubject, group: string, parameters: Record<string, string>): void {
    this.#own.set(group, () => api.getFiguresQuery(subject, group, parameters))
  }

  /** A page's own query of a group; one that is long is made when it is asked for. */
  setSql(group: string, sql: string | (() => Promise<string>)): void {
    this.#own.set(group, () => typeof sql === 'string' ? Promise.resolve(sql) : sql())
  }

  /** A group that is not of one profile: who knows its query. */
  setAsked(group: string, ask: () => Promise<string>): void {
    this.#own.set(group, ask)
  }

  /** A page's own query of a group: one over the query of another. */
  setQuery(subject: FigureSubject, group: string, base: string, over: (query: string) => string): void {
    this.#own.set(group, async () => over(await this.query(subject, base)))
  }

  query(subject: FigureSubject, group: string): Promise<string> {
    return this.#own.get(group)?.() ?? api.getFiguresQuery(subject, group)
  }

  /** Of the next profile or run. */
  clear(): void {
    this.#own.clear()
  }
}

export const figures = new Figures()
