// The analyses of the server: which there are, and their answers, kept while the profile is open.
import { untrack } from 'svelte'
import { toolGroups, type Tool, type ToolInfo } from '../model/analysis'
import { TABLE_SPECS } from '../model/toolTables'
import * as api from './api'
import { LatestRequest } from './latestRequest'
import { pushHistory, view } from './view.svelte'

class ToolList {
  all: ToolInfo[] = $state.raw([])
  error: string | null = $state(null)
  isReady = $state(false)
  #profile = ''

  readonly groups = $derived(toolGroups(this.all))

  /** The server's, and which of them have nothing to show for this profile. */
  async load(profile: string): Promise<void> {
    if (this.#profile === profile && !untrack(() => this.error)) return
    this.clear()
    this.#profile = profile
    try {
      const all = await api.listTools(profile)
      if (this.#profile !== profile) return
      this.all = all
      this.isReady = true
    } catch (failure) {
      if (this.#profile === profile) this.error = (failure as Error).message
    }
  }

  clear(): void {
    this.#profile = ''
    this.all = []
    this.error = null
    this.isReady = false
  }

  has(tool: Tool): boolean {
    return this.all.some((one) => one.name === tool)
  }

  get(tool: Tool): ToolInfo | undefined {
    return this.all.find((one) => one.name === tool)
  }
}

export const toolList = new ToolList()

/** What the server answered to one question. */
export class ToolAnswer {
  document: unknown = $state.raw(null)
  error: string | null = $state(null)
  isLoading = $state(true)
  #request = new LatestRequest()

  async load(profile: string, tool: Tool, parameters: Record<string, string>): Promise<void> {
    const signal = this.#request.begin()
    try {
      const document = await api.getTool(profile, tool, parameters, signal)
      if (!signal.aborted) this.document = document
    } catch (failure) {
      if (!signal.aborted) this.error = (failure as Error).message
    }
    if (!signal.aborted) this.isLoading = false
  }

  cancel(): void {
    this.#request.cancel()
  }
}

class ToolAnswers {
  #all = new Map<string, ToolAnswer>()

  /** The answer to a question, which is asked when it was not, or failed. */
  ask(profile: string, tool: Tool, parameters: Record<string, string>): ToolAnswer {
    const key = JSON.stringify([tool, parameters])
    const known = this.#all.get(key)
    if (known && !untrack(() => known.error)) return known
    const answer = new ToolAnswer()
    this.#all.set(key, answer)
    // Later, as nothing may change while a value is derived.
    queueMicrotask(() => void answer.load(profile, tool, parameters))
    return answer
  }

  clear(): void {
    for (const answer of this.#all.values()) answer.cancel()
    this.#all.clear()
  }
}

export const toolAnswers = new ToolAnswers()

let last: Tool = 'overview_page'

export function openTool(tool: Tool): void {
  last = tool
  pushHistory(() => {
    view.tool = tool
  })
}

/** Opens a table of the analysis with a row chosen. */
export function openToolRow({ tool, row, choices = {} }: { tool: Tool; row: string; choices?: Record<string, string> }): void {
  last = tool
  pushHistory(() => {
    view.tool = tool
    view.grids[TABLE_SPECS[tool]!.label] = { choices: { ...choices, row } }
  })
}

/** Opens the graph around an instruction. */
export function openGraph(module: string, op: string): void {
  last = 'graph_viewer'
  pushHistory(() => {
    view.tool = 'graph_viewer'
    view.grids.Graph = { choices: { module, op, row: op } }
  })
}

/** From the timeline to the page of the analysis that was open last, and back. */
export function switchView(): void {
  if (view.tool) {
    last = view.tool
    pushHistory(() => {
      view.tool = ''
    })
  } else openTool(toolList.has(last) ? last : (toolList.groups[0]?.tools[0] ?? last))
}
