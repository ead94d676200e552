// Source code of the profile: files with their time, the open file, and the stack of the selected event.
import { untrack } from 'svelte'
import type { EventDetails } from '../model/api'
import { fieldOf, filesSql, linesSql, ownFrames, stackSql, type FileTime, type Frame, type LineTime } from '../model/source'
import * as api from './api'
import { ApiError } from './api'
import { figures } from './figures.svelte'
import { toObjects } from './sql.svelte'
import { schema } from './schema.svelte'

const MAX_FILES = 10_000
const MAX_LINES = 100_000
const has = (table: string) => schema.has(table)
const hasKernelLines = () => schema.hasColumn('GpuKernel', 'source_file') // profiles of older versions have none

class Sources {
  files: FileTime[] | null = $state.raw(null)
  error: string | null = $state(null)
  #profile = ''

  async load(profile: string): Promise<void> {
    if (!profile) return // just closed
    if (this.#profile === profile && untrack(() => this.files)) return
    this.clear()
    this.#profile = profile
    const sql = filesSql(has, hasKernelLines())
    if (sql) figures.setSql('page.source_files', sql)
    try {
      const files = sql ? toObjects<FileTime>(await api.runSql(profile, sql, MAX_FILES)) : []
      if (this.#profile === profile) this.files = files
    } catch (failure) {
      if (this.#profile === profile) this.error = (failure as Error).message
    }
  }

  clear(): void {
    this.#profile = ''
    this.files = null
    this.error = null
  }
}

class OpenFile {
  text: string | null = $state.raw(null)
  lines: ReadonlyMap<number, LineTime> = $state.raw(new Map())
  error: string | null = $state(null)
  isMissing = $state(false) // no such file, or no source folder configured
  #key = ''

  async load(profile: string, file: string): Promise<void> {
    const key = `${profile}\0${file}`
    if (this.#key === key && !untrack(() => this.error)) return
    this.clear()
    this.#key = key
    if (!profile || !file) return
    await Promise.all([this.#loadText(profile, file, key), this.#loadLines(profile, file, key)])
  }

  clear(): void {
    this.#key = ''
    this.text = null
    this.lines = new Map()
    this.error = null
    this.isMissing = false
  }

  async #loadText(profile: string, file: string, key: string): Promise<void> {
    try {
      const text = await api.getSource(profile, file)
      if (this.#key === key) this.text = text
    } catch (failure) {
      if (this.#key !== key) return
      this.error = (failure as Error).message
      this.isMissing = failure instanceof ApiError && failure.status === 404
    }
  }

  async #loadLines(profile: string, file: string, key: string): Promise<void> {
    const sql = linesSql(has, hasKernelLines(), file)
    if (!sql) return
    figures.setSql('page.source_lines', sql)
    try {
      const lines = toObjects<LineTime>(await api.runSql(profile, sql, MAX_LINES))
      if (this.#key === key) this.lines = new Map(lines.map((line) => [line.line, line]))
    } catch (failure) {
      if (this.#key === key) this.error = (failure as Error).message
    }
  }
}

class Stack {
  frames: Frame[] = $state.raw([])
  #details: EventDetails | null = null

  /** The stack of an event, innermost frame first. */
  async load(profile: string, details: EventDetails | null): Promise<void> {
    this.#details = details
    this.frames = details ? ownFrames(details) : []
    const frame = details && fieldOf(details, 'stack_frame_id')
    if (!frame || !has('StackFrame')) return
    const response = await api.runSql(profile, stackSql(String(frame))).catch(() => null) // the event's own line remains
    if (response && this.#details === details && response.rows.length > 0) this.frames = toObjects<Frame>(response)
  }
}

export const sources = new Sources()
export const openFile = new OpenFile()
export const stack = new Stack()
