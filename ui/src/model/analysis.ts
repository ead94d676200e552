// The pages of the analysis: one for each tool of the server, under XProf's name, in groups.

export const TOOLS = [
  'overview_page', 'op_profile', 'hlo_stats', 'framework_op_stats', 'kernel_stats', 'roofline_model', 'input_pipeline_analyzer',
  'memory_profile', 'memory_viewer', 'graph_viewer', 'pod_viewer', 'collective_stats', 'megascale_stats', 'perf_counters', 'inference_profile',
] as const
export type Tool = (typeof TOOLS)[number]

export const TOOL_TITLES: Record<Tool, string> = {
  overview_page: 'Overview', op_profile: 'Op profile', hlo_stats: 'HLO operations', framework_op_stats: 'Framework operators',
  kernel_stats: 'Kernels', roofline_model: 'Roofline', input_pipeline_analyzer: 'Input pipeline', memory_profile: 'Memory profile',
  memory_viewer: 'Memory viewer', graph_viewer: 'Graph', pod_viewer: 'Steps by core', collective_stats: 'Collectives', megascale_stats: 'Between slices',
  perf_counters: 'Counters', inference_profile: 'Inference',
}

const GROUPS: { title: string; tools: readonly Tool[] }[] = [
  { title: 'Profile', tools: ['overview_page', 'input_pipeline_analyzer', 'inference_profile'] },
  { title: 'Operations', tools: ['op_profile', 'hlo_stats', 'framework_op_stats', 'kernel_stats', 'roofline_model'] },
  { title: 'Memory', tools: ['memory_profile', 'memory_viewer'] },
  { title: 'Program', tools: ['graph_viewer'] },
  { title: 'Scale', tools: ['pod_viewer', 'collective_stats', 'megascale_stats'] },
  { title: 'Hardware', tools: ['perf_counters'] },
]

/** A tool as the server lists it. */
export interface ToolInfo {
  name: string
  about: string
  why: string // there may be nothing to show
  is_empty?: boolean // there is nothing to show for the profile
  tables: string[]
}

/** The groups with the tools that the server has. */
export function toolGroups(listed: readonly ToolInfo[]): { title: string; tools: Tool[] }[] {
  const names = new Set(listed.map((tool) => tool.name))
  return GROUPS
    .map(({ title, tools }) => ({ title, tools: tools.filter((tool) => names.has(tool)) }))
    .filter(({ tools }) => tools.length > 0)
}

/** "the capture has no kernels" → "The capture has no kernels." */
export function sentence(text: string): string {
  return text && text[0]!.toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.')
}
