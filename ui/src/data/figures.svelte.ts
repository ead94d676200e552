// The server's catalog of figures, asked once, and the queries that give them. Queries that depend on what was chosen on a page are the
// page's own.
import { findFigure, type FigureGroup } from '../model/figures'
import * as api from './api'

class Figures {
  groups: FigureGroup[] = $state.raw([])
  #loading: Promise<void> | undefined
  #own = new Map<string, string>()

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

  /** A page's own query of a group. */
  setQuery(group: string, query: string): void {
    this.#own.set(group, query)
  }

  async query(profile: string, group: string): Promise<string> {
    return this.#own.get(group) ?? (await api.getFiguresQuery(profile, group))
  }

  /** Of the next profile. */
  clear(): void {
    this.#own.clear()
  }
}

export const figures = new Figures()
