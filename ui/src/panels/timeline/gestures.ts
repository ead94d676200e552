// Pointer, wheel and keyboard handling of the timeline.
import { addMarker } from '../../data/markers.svelte'
import { selectedEvent } from '../../data/selectedEvent.svelte'
import { profile } from '../../data/profile.svelte'
import { schema } from '../../data/schema.svelte'
import { stepSpan, walkTo } from '../../data/navigation.svelte'
import { pushHistory, view } from '../../data/view.svelte'
import type { Lane } from '../../model/layout'
import { NO_EVENT_ID, SQL_ROLE } from '../../model/sqlTracks'
import { toPs, type Span } from '../../model/time'
import { fitSpan } from '../../model/viewport'
import type { Picked } from '../../render/pick'
import type { TimelineController } from './controller.svelte'

const DRAG_PX = 4
const KEY_ZOOM = 0.6
const KEY_PAN = 0.2
// While a key is held, by the second, whatever rate the keyboard repeats at.
const HELD_ZOOM = 0.3
const HELD_PAN = 0.8
const MAX_REPEAT_S = 0.1
const KEY_SCROLL = 60
const WHEEL_LINE_PX = 16
const WHEEL_ZOOM = 0.002
const PINCH_ZOOM = 0.01
const DOUBLE_CLICK_MS = 400

export function selectEvent(picked: Picked | null): void {
  pushHistory(() => {
    view.event = picked?.kind === 'event' && picked.id !== NO_EVENT_ID ? { table: picked.lane.track.table, id: picked.id } : null
  })
}

export function zoomToSpan(timeline: TimelineController, span: Span): void {
  timeline.setSpan(fitSpan(span.from, span.to, profile.span), 'history')
}

/** Zooms to an event; to a step with all that it ran on devices. */
export async function zoomToEvent(timeline: TimelineController, event: { id?: number; start: number; end: number }): Promise<void> {
  const step = event.id === undefined || !schema.has('Step') ? null : await stepSpan(profile.name, event.id).catch(() => null)
  zoomToSpan(timeline, step ?? { from: event.start, to: event.end })
}

function pointerPosition(event: PointerEvent | WheelEvent, area: HTMLElement): { x: number; y: number } {
  const box = area.getBoundingClientRect()
  return { x: event.clientX - box.left, y: event.clientY - box.top }
}

/** The lanes that a vertical drag overlaps. */
function lanesBetween(timeline: TimelineController, y0: number, y1: number): Lane[] {
  const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)]
  return [...timeline.layout.lanes.values()].filter((lane) => {
    const y = timeline.yOf(lane)
    return y < bottom && y + lane.height > top && (lane.isPinned || y + lane.height > timeline.layout.pinnedHeight)
  })
}

function endDrag(timeline: TimelineController): void {
  const { drag } = timeline
  timeline.drag = null
  if (!drag) return
  const from = timeline.time(Math.max(0, Math.min(drag.x0, drag.x1)))
  const to = timeline.time(Math.min(timeline.width, Math.max(drag.x0, drag.x1)))
  if (drag.kind === 'zoom') {
    timeline.setSpan({ from, to }, 'history')
    return
  }
  const tracks = lanesBetween(timeline, drag.y0, drag.y1).filter((lane) => lane.track.role !== SQL_ROLE).map((lane) => lane.id)
  if (tracks.length === 0) return
  pushHistory(() => {
    view.box = { from: Math.round(from), to: Math.max(Math.round(from) + 1, Math.round(to)), tracks }
    view.tab = 'selection'
  })
}

/**
 * A click selects, a second one zooms to the event selected by the first. A dblclick event would look under the pointer
 * again, where the details panel has opened meanwhile and shifted the canvas.
 */
function click(timeline: TimelineController, event: PointerEvent, at: { x: number; y: number }): void {
  const last = timeline.lastClick
  const near = last && Math.hypot(event.clientX - last.x, event.clientY - last.y) < DRAG_PX
  if (last?.picked && near && event.timeStamp - last.when < DOUBLE_CLICK_MS) {
    void zoomToEvent(timeline, last.picked)
    timeline.lastClick = null
    return
  }
  const picked = timeline.pick(at.x, at.y)
  timeline.lastClick = { x: event.clientX, y: event.clientY, when: event.timeStamp, picked }
  selectEvent(picked)
}

/** On the canvas: a click selects, a drag zooms, pans or selects a box. */
export function onPointerDown(timeline: TimelineController, event: PointerEvent): void {
  if (event.button > 1) return
  const area = event.currentTarget as HTMLElement
  const start = pointerPosition(event, area)
  const isPan = event.shiftKey || event.button === 1
  const kind = event.altKey || timeline.isBoxMode ? 'box' : 'zoom'
  let last = start
  let isDrag = false
  if (event.button === 1) event.preventDefault()
  area.setPointerCapture(event.pointerId)
  const move = (moved: PointerEvent) => {
    const at = pointerPosition(moved, area)
    isDrag ||= Math.hypot(at.x - start.x, at.y - start.y) > DRAG_PX
    if (!isDrag) return
    if (isPan) {
      timeline.pan(last.x - at.x)
      timeline.scrollBy(last.y - at.y)
    } else timeline.drag = { kind, x0: start.x, y0: start.y, x1: at.x, y1: at.y }
    last = at
  }
  const end = () => {
    area.removeEventListener('pointermove', move)
    if (isDrag) endDrag(timeline)
    else if (!isPan) click(timeline, event, start)
  }
  const cancel = () => {
    area.removeEventListener('pointermove', move)
    area.removeEventListener('pointerup', end)
    timeline.drag = null
  }
  area.addEventListener('pointermove', move)
  area.addEventListener('pointerup', end, { once: true })
  area.addEventListener('pointercancel', cancel, { once: true })
}

export function onWheel(timeline: TimelineController, event: WheelEvent): void {
  event.preventDefault()
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE_PX : event.deltaMode ? timeline.height : 1
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit]
  if (event.altKey) timeline.scrollBy(dy)
  else if (event.shiftKey) timeline.pan(dx || dy)
  else if (Math.abs(dx) > Math.abs(dy)) timeline.pan(dx)
  else {
    // Pinch gestures arrive as Ctrl + wheel, with smaller deltas.
    const strength = event.ctrlKey ? PINCH_ZOOM : WHEEL_ZOOM
    timeline.zoom(Math.exp(Math.max(-200, Math.min(200, dy)) * strength), pointerPosition(event, event.currentTarget as HTMLElement).x)
  }
}

/** Zooms to the selected event, else to the box. */
export function fitSelection(timeline: TimelineController): void {
  const { details } = selectedEvent
  if (view.event && details) {
    const id = view.event.table === 'SystemProfileEvents' ? details.id : undefined
    void zoomToEvent(timeline, { id, start: toPs(details.start), end: toPs(details.end) })
  } else if (view.box) zoomToSpan(timeline, view.box)
}

export function clearSelection(timeline: TimelineController): void {
  if (timeline.drag) timeline.drag = null
  else if (view.box) pushHistory(() => (view.box = null))
  else if (view.event) pushHistory(() => (view.event = null))
  else timeline.isBoxMode = false
}

/** Selects the adjacent event in the row, wherever it is; without a selection, the first visible event. */
function selectAdjacent(timeline: TimelineController, by: 1 | -1): void {
  const { details } = selectedEvent
  if (view.event && details) {
    const neighbor = by === 1 ? details.next : details.previous
    if (neighbor) walkTo(neighbor)
    return
  }
  for (const lane of timeline.layout.lanes.values()) {
    const first = lane.track.is_counter ? null : timeline.first(lane)
    if (first) return selectEvent(first)
  }
}

export function showAll(timeline: TimelineController): void {
  timeline.setSpan(profile.span, 'history')
}

const TEXT_INPUTS = 'input, textarea, select, [contenteditable], dialog, [role="dialog"], [role="menu"]'

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest(TEXT_INPUTS) !== null
}

/** Arrow keys are left to the focused element, unless that is the timeline or none. */
function handlesArrowKeys(target: EventTarget | null): boolean {
  return !(target instanceof HTMLElement) || target === document.body || target.closest('[data-testid="timeline"]') !== null
}

export function onKeyDown(timeline: TimelineController, event: KeyboardEvent): void {
  if (view.tool || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  const at = timeline.pointer?.x ?? timeline.width / 2
  const held = event.repeat ? Math.min(MAX_REPEAT_S, (event.timeStamp - timeline.lastKeyAt) / 1000) : 0
  timeline.lastKeyAt = event.timeStamp
  const zoom = event.repeat ? HELD_ZOOM ** held : KEY_ZOOM
  const pan = (event.repeat ? HELD_PAN * held : KEY_PAN) * timeline.width
  const plain: Record<string, () => void> = {
    w: () => timeline.zoom(zoom, at, true),
    s: () => timeline.zoom(1 / zoom, at, true),
    a: () => timeline.pan(-pan, true),
    d: () => timeline.pan(pan, true),
    f: () => fitSelection(timeline),
    m: () => addMarker(Math.round(timeline.time(at))),
    b: () => (timeline.isBoxMode = !timeline.isBoxMode),
    0: () => showAll(timeline),
    ',': () => selectAdjacent(timeline, -1),
    '.': () => selectAdjacent(timeline, 1),
    escape: () => clearSelection(timeline),
  }
  const arrows: Record<string, () => void> = {
    arrowleft: plain.a!,
    arrowright: plain.d!,
    arrowup: () => timeline.scrollBy(-KEY_SCROLL),
    arrowdown: () => timeline.scrollBy(KEY_SCROLL),
    pageup: () => timeline.scrollBy(-0.8 * timeline.height),
    pagedown: () => timeline.scrollBy(0.8 * timeline.height),
  }
  const name = event.key.toLowerCase()
  const action = plain[name] ?? (handlesArrowKeys(event.target) ? arrows[name] : undefined)
  if (!action) return
  event.preventDefault()
  action()
}
