// Actions on tracks and groups; all of them change the view.
import { pushHistory, view } from '../../data/view.svelte'
import { reordered, type Layout } from '../../model/layout'

function toggled(ids: number[], id: number): number[] {
  return ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]
}

export function toggleCollapsed(id: number): void {
  pushHistory(() => (view.collapsed = toggled(view.collapsed, id)))
}

export function togglePinned(id: number): void {
  pushHistory(() => (view.pinned = toggled(view.pinned, id)))
}

export function hide(id: number): void {
  pushHistory(() => (view.hidden = [...view.hidden, id]))
}

export function show(ids: number[]): void {
  pushHistory(() => (view.hidden = view.hidden.filter((id) => !ids.includes(id))))
}

export function move(layout: Layout, id: number, by: number): void {
  pushHistory(() => (view.order = reordered(layout, view.order, id, by)))
}
