// Follows the links of the details panel.
import type { FieldLink } from '../model/details'
import { exactMatch } from '../model/search'
import { showEventById } from './navigation.svelte'
import { pushHistory, view } from './view.svelte'

export function followLink(link: FieldLink): void {
  if (link.to === 'event') void showEventById(link.table, link.id)
  else if (link.to === 'source') pushHistory(() => Object.assign(view, { tool: '', tab: 'source', file: link.file, line: link.line }))
  else pushHistory(() => Object.assign(view, { search: exactMatch(link.field, link.value), hit: -1 }))
}
