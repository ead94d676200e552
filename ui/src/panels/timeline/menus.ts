// Context menus of the timeline.
import { addMarker, removeMarker } from '../../data/markers.svelte'
import { tracksSpan } from '../../data/navigation.svelte'
import { profile } from '../../data/profile.svelte'
import { pushHistory, view } from '../../data/view.svelte'
import type { Item, Lane } from '../../model/layout'
import type { Picked } from '../../render/pick'
import { zoomToEvent, zoomToSpan } from './gestures'
import type { MenuItem } from '../widgets/MenuList.svelte'
import type { TimelineController } from './controller.svelte'
import { hide, show, toggleCollapsed, togglePinned } from './trackActions'

function pickedItems(timeline: TimelineController, picked: Picked): MenuItem[] {
  if (picked.kind === 'sample') return [{ label: 'Zoom to sample', action: () => void zoomToEvent(timeline, picked) }]
  const query = `name:"${picked.name.replaceAll('"', '\\"')}"`
  return [
    { label: 'Zoom to event', action: () => void zoomToEvent(timeline, picked) },
    { label: 'Copy name', action: () => void navigator.clipboard?.writeText(picked.name) },
    { label: 'Find events with this name', action: () => pushHistory(() => (view.search = query)) },
  ]
}

function trackItems(item: Item): MenuItem[] {
  const what = item.kind === 'lane' ? 'track' : 'group'
  const collapse = { label: `${item.isCollapsed ? 'Expand' : 'Collapse'} ${what}`, action: () => toggleCollapsed(item.id) }
  const pin = (lane: Lane) => ({ label: lane.isPinned ? 'Unpin track' : 'Pin track', action: () => togglePinned(lane.id) })
  return [
    ...(item.canCollapse ? [collapse] : []),
    ...(item.kind === 'lane' ? [pin(item)] : []),
    { label: `Hide ${what}`, action: () => hide(item.id) },
  ]
}

async function zoomToTracks(timeline: TimelineController, item: Item): Promise<void> {
  const span = await tracksSpan(profile.name, item.kind === 'lane' ? [item.id] : item.busy.map((track) => track.id))
  if (span) zoomToSpan(timeline, span)
}

/** For a name in the column of names. */
export function nameItems(timeline: TimelineController, item: Item): MenuItem[] {
  const hasEvents = item.kind === 'lane' || item.busy.length > 0
  return [
    ...trackItems(item),
    ...(hasEvents ? [{ label: 'Zoom to its events', action: () => void zoomToTracks(timeline, item) }] : []),
    { label: 'Copy name', action: () => void navigator.clipboard?.writeText(item.label) },
  ]
}

/** For a point on the canvas, where the click has dropped a marker. It stays, unless the menu was opened for something else. */
export function contextMenuItems(timeline: TimelineController, x: number, y: number): MenuItem[] {
  const picked = timeline.pick(x, y)
  const lane = timeline.laneAt(y)
  const name = addMarker(Math.round(timeline.snap(x)))
  const remove = () => removeMarker(view.markers.findIndex((marker) => marker.name === name))
  const others = [...(picked ? pickedItems(timeline, picked) : []), ...(lane ? trackItems(lane) : [])]
  return [
    { label: `Delete marker ${name}`, action: remove },
    ...others.map((item) => ({ ...item, action: () => (remove(), item.action?.()) })),
  ]
}

export function markerItems(index: number): MenuItem[] {
  return [{ label: 'Delete marker', action: () => removeMarker(index) }]
}

export function hiddenItems(timeline: TimelineController): MenuItem[] {
  const each = timeline.layout.hidden.map(({ id, label }) => ({ label: `Show ${label}`, action: () => show([id]) }))
  return [{ label: 'Show all', action: () => show(view.hidden) }, ...each]
}
