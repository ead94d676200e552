// Titles of the tabs, and which a profile has.
import { TABS, type Tab } from './view'

export const TAB_TITLES: Record<Tab, string> = {
  summary: 'Summary', selection: 'Selection', flame: 'Flame graph', search: 'Search', operators: 'Operators', kernels: 'Kernels',
  steps: 'Steps', layers: 'Layers', tensors: 'Tensors', queues: 'DMA queues', memory: 'Memory', neff: 'NEFF', terms: 'Terminology',
  markers: 'Markers', source: 'Source', sql: 'SQL', tables: 'Tables',
}

const OF_DEVICES: readonly Tab[] = ['layers', 'tensors', 'queues', 'memory', 'neff', 'terms']
const NOT_OF_DEVICES: readonly Tab[] = ['flame', 'operators', 'kernels', 'steps']

/** The tab that is shown is always one of them: a link may have it. */
export function tabsOf(isDevice: boolean, shown: Tab): Tab[] {
  return TABS.filter((tab) => tab === shown || !(isDevice ? NOT_OF_DEVICES : OF_DEVICES).includes(tab))
}
