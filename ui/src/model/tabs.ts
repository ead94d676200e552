// Titles of the tabs, and which a profile has.
import { TABS, type Tab } from './view'

export const TAB_TITLES: Record<Tab, string> = {
  summary: 'Summary', ranks: 'Ranks', selection: 'Selection', flame: 'Flame graph', search: 'Search', operators: 'Operators', kernels: 'Kernels',
  steps: 'Steps', layers: 'Layers', tensors: 'Tensors', queues: 'DMA queues', memory: 'Memory', map: 'Memory map', neff: 'NEFF', terms: 'Terminology',
  markers: 'Markers', source: 'Source', sql: 'SQL', tables: 'Tables',
}

const OF_DEVICES: readonly Tab[] = ['layers', 'tensors', 'queues', 'memory', 'map', 'neff', 'terms']
const NOT_OF_DEVICES: readonly Tab[] = ['flame', 'operators', 'kernels', 'steps']

/** The tab that is shown is always one of them: a link may have it. */
export function tabsOf(isDevice: boolean, ranks: number, shown: Tab): Tab[] {
  const missing = isDevice ? NOT_OF_DEVICES : OF_DEVICES
  return TABS.filter((tab) => tab === shown || !(missing.includes(tab) || (tab === 'ranks' && ranks < 2)))
}
