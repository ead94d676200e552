// Titles of the tabs.
import type { Tab } from './view'

export const TAB_TITLES: Record<Tab, string> = {
  summary: 'Summary', selection: 'Selection', flame: 'Flame graph', search: 'Search', operators: 'Operators', kernels: 'Kernels',
  steps: 'Steps', markers: 'Markers', source: 'Source', sql: 'SQL', tables: 'Tables',
}
