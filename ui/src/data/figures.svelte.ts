// The server's catalog of figures, asked once, and the queries that give them. Queries that depend on what was chosen on a page are the
// page's own.
import { findFigure, type FigureGroup } from '../model/figures'
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

  /** Parameters of the server's query of a group, as chosen on a page. */
  setParameters(profile: string, group: string, parameters: Record<string, string>): void {
    this.#own.set(group, () => api.getFiguresQuery(profile, group, parameters))
  }

  /** A page's own query of a group. */
  setSql(group: string, sql: string): void {
    this.#own.set(group, () => Promise.resolve(sql))
  }

  /** A group that is not of one profile: who knows its query. */
  setAsked(group: string, ask: () => Promise<string>): void {
    this.#own.set(group, ask)
  }

  /** A page's own query of a group: one over the query of another. */
  setQuery(profile: string, group: string, base: string, over: (query: string) => string): void {
    this.#own.set(group, async () => over(await this.query(profile, base)))
  }

  query(profile: string, group: string): Promise<string> {
    return this.#own.get(group)?.() ?? api.getFiguresQuery(profile, group)
  }

  /** Of the next profile. */
  clear(): void {
    this.#own.clear()
  }
}

export const figures = new Figures()
