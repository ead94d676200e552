// Follows the links of the details panel.
import type { FieldLink } from '../model/details'
import { showEventById } from './navigation.svelte'
import { exactMatch } from '../model/search'
import { pushHistory, view } from './view.svelte'

export function followLink(link: FieldLink): void {
  if (link.to === 'event') void showEventById(link.table, link.id)
  else if (link.to === 'source') pushHistory(() => Object.assign(view, { tab: 'source', file: link.file, line: link.line }))
  else pushHistory(() => Object.assign(view, { search: exactMatch(link.field, link.value), hit: -1 }))
}
