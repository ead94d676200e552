// Tables and columns of the open profile, loaded once per profile.
import { untrack } from 'svelte'
import type { TableInfo } from '../model/api'
import * as api from './api'

class Schema {
  tables: TableInfo[] = $state.raw([])
  error: string | null = $state(null)
  isReady = $state(false)
  #profile = ''
  #loading = Promise.resolve()

  readonly names: ReadonlySet<string> = $derived(new Set(this.tables.filter((table) => table.rows > 0).map((table) => table.name)))

  /** Profiles of earlier versions have no self times. */
  get hasSelf(): boolean {
    return this.hasColumn('SystemProfileEvents', 'self_ns')
  }

  /** Everybody who needs the tables asks here, so that the server is asked once. */
  load(profile: string): Promise<void> {
    if (!profile) return Promise.resolve() // just closed
    if (this.#profile === profile && !untrack(() => this.error)) return this.#loading
    this.clear()
    this.#profile = profile
    return (this.#loading = this.#ask(profile))
  }

  async #ask(profile: string): Promise<void> {
    try {
      const tables = await api.listTables(profile)
      if (this.#profile !== profile) return
      this.tables = tables
      this.isReady = true
    } catch (failure) {
      if (this.#profile === profile) this.error = (failure as Error).message
    }
  }

  clear(): void {
    this.#profile = ''
    this.tables = []
    this.isReady = false
    this.error = null
  }

  has(table: string): boolean {
    return this.names.has(table)
  }

  hasColumn(table: string, column: string): boolean {
    return this.tables.some((one) => one.name === table && one.columns.some((other) => other.name === column))
  }
}

export const schema = new Schema()
