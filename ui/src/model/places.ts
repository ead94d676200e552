// Places of the UI, with the names that the guides of other tools have for them: the command palette finds a place by any of its names, and the help lists them.
import { TOOL_TITLES, TOOLS, type Tool } from './analysis'
import { TAB_TITLES } from './tabs'
import { TABS, type Tab } from './view'

/** A control is found by its label, on the page of a profile or on the list of profiles. */
export type Target = { tab: Tab } | { tool: Tool } | { control: string; isOfList?: boolean } | { page: 'profiles' | 'timeline' | 'analysis' }

export interface Place {
  title: string
  others: readonly string[]
  target: Target
}

const TAB_NAMES: Partial<Record<Tab, readonly string[]>> = {
  summary: ['Model Info', 'Profile summary', 'Summary page', 'Bulb button', 'Performance Warnings'],
  selection: ['Selection Summary'], search: ['Searching Profiles'], layers: ['Layer Summary'], tensors: ['NEFF Nodes'], queues: ['DMA Queues Info'],
  memory: ['NC Memory Usage Info'], map: ['Memory Tracker', 'Scratchpad Usage'], neff: ['NEFF Header'], markers: ['Annotations'],
  source: ['Framework Stack Trace'],
}

const TOOL_NAMES: Partial<Record<Tool, readonly string[]>> = {
  overview_page: ['Overview Page'], op_profile: ['HLO Op Profile'], hlo_stats: ['HLO Op Stats', 'HLO Stats'], framework_op_stats: ['Framework Op Stats'],
  kernel_stats: ['GPU Kernel Stats'], roofline_model: ['Roofline Model', 'Roofline Analysis'], input_pipeline_analyzer: ['Input Pipeline Analyzer'],
  graph_viewer: ['Graph Viewer'], pod_viewer: ['Pod Viewer'], megascale_stats: ['Megascale Stats'], perf_counters: ['Perf Counters'],
  inference_profile: ['Inference Profile'],
}

export const PLACES: readonly Place[] = [
  { title: 'All profiles', others: ['Sessions', 'Profile Manager', 'Listing profiles'], target: { page: 'profiles' } },
  { title: 'Capture', others: ['CAPTURE PROFILE'], target: { control: 'Capture', isOfList: true } },
  { title: 'Upload Profile', others: ['Device Profile Upload', 'System Profile Upload'], target: { control: 'Upload Profile', isOfList: true } },
  { title: 'Timeline', others: ['Trace Viewer', 'System Profile UI'], target: { page: 'timeline' } },
  { title: 'Analysis', others: ['Tools'], target: { page: 'analysis' } },
  { title: 'Box selection', others: ['Box Select'], target: { control: 'Box selection' } },
  { title: 'View settings', others: ['Edit view settings'], target: { control: 'View settings' } },
  { title: 'Color by', others: ['Instruction Grouping'], target: { control: 'Color by' } },
  { title: 'Minimal', others: ['Minimal View', 'Reset to Full View', 'Reset to Minimal View'], target: { control: 'Minimal' } },
  { title: 'Details panel', others: ['Event Details', 'Event attributes'], target: { control: 'Details panel' } },
  { title: 'Device profiles', others: ['Open device profile'], target: { control: 'Device profiles' } },
  { title: 'Favorite', others: ['Star button'], target: { control: 'Favorite' } },
  { title: 'Actions for this profile', others: ['Pencil button', 'Rename'], target: { control: 'Actions for this profile' } },
  { title: 'Export', others: ['JSON Output', 'View in Perfetto', 'Alternative output formats'], target: { control: 'Export' } },
  ...TABS.map((tab) => ({ title: TAB_TITLES[tab], others: TAB_NAMES[tab] ?? [], target: { tab } })),
  ...TOOLS.map((tool) => ({ title: TOOL_TITLES[tool], others: TOOL_NAMES[tool] ?? [], target: { tool } })),
]

const simple = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, ' ').trim()

/** The places that have a name with all words of the text, those with exactly this name first; `name` is the one that was found. */
export function findPlaces(places: readonly Place[], text: string): { place: Place; name: string }[] {
  const wanted = simple(text)
  const found = places.flatMap((place) => {
    const names = [place.title, ...place.others]
    const name = names.find((one) => simple(one) === wanted) ?? names.find((one) => wanted.split(' ').every((word) => simple(one).includes(word)))
    return name === undefined ? [] : [{ place, name }]
  })
  return found.sort((a, b) => Number(simple(b.name) === wanted) - Number(simple(a.name) === wanted))
}

/** Which of them there are: on the list of profiles, or for a profile with these tabs and tools. */
export function placesOf(isProfile: boolean, tabs: readonly Tab[], hasTool: (tool: Tool) => boolean): Place[] {
  return PLACES.filter(({ target }) => {
    if ('tab' in target) return isProfile && tabs.includes(target.tab)
    if ('tool' in target) return isProfile && hasTool(target.tool)
    if ('control' in target) return isProfile || target.isOfList === true
    return isProfile || target.page === 'profiles'
  })
}
