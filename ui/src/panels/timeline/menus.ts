// Context menus of the timeline.
import { addMarker, removeMarker } from '../../data/markers.svelte'
import { pushHistory, view } from '../../data/view.svelte'
import type { Lane } from '../../model/layout'
import type { Picked } from '../../render/pick'
import { zoomToEvent } from './gestures'
import type { MenuItem } from '../widgets/MenuList.svelte'
import type { TimelineController } from './controller.svelte'
import { hide, show, toggleCollapsed, togglePinned } from './trackActions'

function pickedItems(timeline: TimelineController, picked: Picked): MenuItem[] {
  if (picked.kind === 'sample') return [{ label: 'Zoom to sample', action: () => zoomToEvent(timeline, picked) }]
  const query = `name:"${picked.name.replaceAll('"', '\\"')}"`
  return [
    { label: 'Zoom to event', action: () => zoomToEvent(timeline, picked) },
    { label: 'Copy name', action: () => void navigator.clipboard?.writeText(picked.name) },
    { label: 'Find events with this name', action: () => pushHistory(() => (view.search = query)) },
  ]
}

function laneItems(lane: Lane): MenuItem[] {
  const collapse = { label: lane.isCollapsed ? 'Expand track' : 'Collapse track', action: () => toggleCollapsed(lane.id) }
  return [
    ...(lane.canCollapse ? [collapse] : []),
    { label: lane.isPinned ? 'Unpin track' : 'Pin track', action: () => togglePinned(lane.id) },
    { label: 'Hide track', action: () => hide(lane.id) },
  ]
}

/** For a point on the canvas. */
export function contextMenuItems(timeline: TimelineController, x: number, y: number): MenuItem[] {
  const picked = timeline.pick(x, y)
  const lane = timeline.laneAt(y)
  return [
    { label: 'Add marker here', action: () => addMarker(Math.round(timeline.snap(x))) },
    ...(picked ? pickedItems(timeline, picked) : []),
    ...(lane ? laneItems(lane) : []),
  ]
}

export function markerItems(index: number): MenuItem[] {
  return [{ label: 'Delete marker', action: () => removeMarker(index) }]
}

export function hiddenItems(timeline: TimelineController): MenuItem[] {
  const each = timeline.layout.hidden.map(({ id, label }) => ({ label: `Show ${label}`, action: () => show([id]) }))
  return [{ label: 'Show all', action: () => show(view.hidden) }, ...each]
}
