// What the timeline's menus offer.
import { addMarker, removeMarker } from '../../data/markers.svelte'
import { step, view } from '../../data/view.svelte'
import type { Lane } from '../../model/layout'
import type { Picked } from '../../render/pick'
import { zoomToEvent } from './gestures'
import type { MenuItem } from '../parts/MenuList.svelte'
import type { Stage } from './stage.svelte'
import { hide, show, toggleCollapsed, togglePinned } from './trackActions'

function pickedItems(stage: Stage, picked: Picked): MenuItem[] {
  if (picked.kind === 'sample') return [{ label: 'Zoom to the sample', does: () => zoomToEvent(stage, picked) }]
  const query = `name:"${picked.name.replaceAll('"', '\\"')}"`
  return [
    { label: 'Zoom to the event', does: () => zoomToEvent(stage, picked) },
    { label: 'Copy the name', does: () => void navigator.clipboard?.writeText(picked.name) },
    { label: 'Find all of this name', does: () => step(() => (view.search = query)) },
  ]
}

function laneItems(lane: Lane): MenuItem[] {
  const fold = { label: lane.isCollapsed ? 'Unfold the track' : 'Fold the track', does: () => toggleCollapsed(lane.id) }
  return [
    ...(lane.canCollapse ? [fold] : []),
    { label: lane.isPinned ? 'Unpin the track' : 'Pin the track', does: () => togglePinned(lane.id) },
    { label: 'Hide the track', does: () => hide(lane.id) },
  ]
}

/** For a place on the picture. */
export function placeItems(stage: Stage, x: number, y: number): MenuItem[] {
  const picked = stage.pick(x, y)
  const lane = stage.laneAt(y)
  return [
    { label: 'Set a marker here', does: () => addMarker(Math.round(stage.snap(x))) },
    ...(picked ? pickedItems(stage, picked) : []),
    ...(lane ? laneItems(lane) : []),
  ]
}

export function markerItems(index: number): MenuItem[] {
  return [{ label: 'Delete the marker', does: () => removeMarker(index) }]
}

export function hiddenItems(stage: Stage): MenuItem[] {
  const each = stage.layout.hidden.map(({ id, label }) => ({ label: `Show ${label}`, does: () => show([id]) }))
  return [{ label: 'Show all', does: () => show(view.hidden) }, ...each]
}
