// What the timeline's menus offer.
import { addMarker, removeMarker } from '../../data/markers.svelte'
import { step, view } from '../../data/view.svelte'
import type { Lane } from '../../model/layout'
import type { Picked } from '../../render/pick'
import { zoomToEvent } from './gestures'
import type { Choice } from './Menu.svelte'
import type { Stage } from './stage.svelte'
import { hide, show, toggleCollapsed, togglePinned } from './trackActions'

function pickedChoices(stage: Stage, picked: Picked): Choice[] {
  if (picked.kind === 'sample') return [{ label: 'Zoom to the sample', act: () => zoomToEvent(stage, picked) }]
  const query = `name:"${picked.name.replaceAll('"', '\\"')}"`
  return [
    { label: 'Zoom to the event', act: () => zoomToEvent(stage, picked) },
    { label: 'Copy the name', act: () => void navigator.clipboard?.writeText(picked.name) },
    { label: 'Find all of this name', act: () => step(() => (view.search = query)) },
  ]
}

function laneChoices(lane: Lane): Choice[] {
  const fold = { label: lane.isCollapsed ? 'Unfold the track' : 'Fold the track', act: () => toggleCollapsed(lane.id) }
  return [
    ...(lane.canCollapse ? [fold] : []),
    { label: lane.isPinned ? 'Unpin the track' : 'Pin the track', act: () => togglePinned(lane.id) },
    { label: 'Hide the track', act: () => hide(lane.id) },
  ]
}

/** For a place on the picture. */
export function placeChoices(stage: Stage, x: number, y: number): Choice[] {
  const picked = stage.pick(x, y)
  const lane = stage.laneAt(y)
  return [
    { label: 'Set a marker here', act: () => addMarker(Math.round(stage.snap(x))) },
    ...(picked ? pickedChoices(stage, picked) : []),
    ...(lane ? laneChoices(lane) : []),
  ]
}

export function markerChoices(index: number): Choice[] {
  return [{ label: 'Delete the marker', act: () => removeMarker(index) }]
}

export function hiddenChoices(stage: Stage): Choice[] {
  const each = stage.layout.hidden.map(({ id, label }) => ({ label: `Show ${label}`, act: () => show([id]) }))
  return [{ label: 'Show all', act: () => show(view.hidden) }, ...each]
}
