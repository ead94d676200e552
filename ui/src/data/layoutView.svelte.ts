// The view as the timeline lays it out. Device profiles have hundreds of lanes: they begin with the essential ones.
import type { LayoutView } from '../model/layout'
import { profile } from './profile.svelte'
import { view } from './view.svelte'

export function isMinimal(): boolean {
  return view.minimal ?? profile.isDevice
}

/** What the profile's kind wants needs no place in the address. */
export function setMinimal(isWanted: boolean): void {
  view.minimal = isWanted === profile.isDevice ? null : isWanted
}

export function layoutView(): LayoutView {
  const { collapsed, hidden, pinned, order, grouping, rowHeight, filter } = view
  return { collapsed, hidden, pinned, order, grouping, rowHeight, filter, minimal: isMinimal() }
}
