// What pointer, wheel and keys do on the timeline.
import { addMarker } from '../../data/markers.svelte'
import { chosen } from '../../data/event.svelte'
import { profile } from '../../data/profile.svelte'
import { step, view } from '../../data/view.svelte'
import type { Lane } from '../../model/layout'
import { toPs } from '../../model/time'
import { fitSpan } from '../../model/viewport'
import type { Picked } from '../../render/pick'
import type { Stage } from './stage.svelte'

const DRAG_PX = 4
const KEY_ZOOM = 0.6
const KEY_PAN = 0.2
const KEY_SCROLL = 60
const WHEEL_LINE = 16
const WHEEL = 0.002
const PINCH = 0.01
const DOUBLE_MS = 400

export function choose(picked: Picked | null): void {
  step(() => {
    view.event = picked?.kind === 'event' ? { table: picked.lane.track.table, id: picked.id } : null
  })
}

export function zoomToEvent(stage: Stage, picked: { start: number; end: number }): void {
  stage.setSpan(fitSpan(picked.start, picked.end, profile.span), 'step')
}

function place(event: PointerEvent | WheelEvent, area: HTMLElement): { x: number; y: number } {
  const box = area.getBoundingClientRect()
  return { x: event.clientX - box.left, y: event.clientY - box.top }
}

/** The lanes that a drag from one height to another touches. */
function lanesBetween(stage: Stage, y0: number, y1: number): Lane[] {
  const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)]
  return [...stage.layout.lanes.values()].filter((lane) => {
    const y = stage.yOf(lane)
    return y < bottom && y + lane.height > top && (lane.isPinned || y + lane.height > stage.layout.pinnedHeight)
  })
}

function finish(stage: Stage): void {
  const { drag } = stage
  stage.drag = null
  if (!drag) return
  const from = stage.time(Math.max(0, Math.min(drag.x0, drag.x1)))
  const to = stage.time(Math.min(stage.width, Math.max(drag.x0, drag.x1)))
  if (drag.kind === 'zoom') {
    stage.setSpan({ from, to }, 'step')
    return
  }
  const tracks = lanesBetween(stage, drag.y0, drag.y1).map((lane) => lane.id)
  if (tracks.length === 0) return
  step(() => {
    view.box = { from: Math.round(from), to: Math.max(Math.round(from) + 1, Math.round(to)), tracks }
    view.tab = 'selection'
  })
}

/**
 * A click chooses, a second one zooms to what the first has chosen. The browser's own double click would look under the
 * pointer again, where the details that have opened beside the picture have moved everything.
 */
function click(stage: Stage, event: PointerEvent, at: { x: number; y: number }): void {
  const last = stage.lastClick
  const near = last && Math.hypot(event.clientX - last.x, event.clientY - last.y) < DRAG_PX
  if (last?.picked && near && event.timeStamp - last.when < DOUBLE_MS) {
    zoomToEvent(stage, last.picked)
    stage.lastClick = null
    return
  }
  const picked = stage.pick(at.x, at.y)
  stage.lastClick = { x: event.clientX, y: event.clientY, when: event.timeStamp, picked }
  choose(picked)
}

/** A press on the tracks: a click chooses, a drag zooms, moves or selects. */
export function press(stage: Stage, event: PointerEvent): void {
  if (event.button > 1) return
  const area = event.currentTarget as HTMLElement
  const start = place(event, area)
  const isPan = event.shiftKey || event.button === 1
  const kind = event.altKey || stage.isBoxMode ? 'box' : 'zoom'
  let last = start
  let isDrag = false
  if (event.button === 1) event.preventDefault()
  area.setPointerCapture(event.pointerId)
  const move = (moved: PointerEvent) => {
    const at = place(moved, area)
    isDrag ||= Math.hypot(at.x - start.x, at.y - start.y) > DRAG_PX
    if (!isDrag) return
    if (isPan) {
      stage.pan(last.x - at.x)
      stage.scrollBy(last.y - at.y)
    } else stage.drag = { kind, x0: start.x, y0: start.y, x1: at.x, y1: at.y }
    last = at
  }
  const end = () => {
    area.removeEventListener('pointermove', move)
    if (isDrag) finish(stage)
    else if (!isPan) click(stage, event, start)
  }
  const cancel = () => {
    area.removeEventListener('pointermove', move)
    area.removeEventListener('pointerup', end)
    stage.drag = null
  }
  area.addEventListener('pointermove', move)
  area.addEventListener('pointerup', end, { once: true })
  area.addEventListener('pointercancel', cancel, { once: true })
}

export function wheel(stage: Stage, event: WheelEvent): void {
  event.preventDefault()
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE : event.deltaMode ? stage.height : 1
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit]
  if (event.altKey) stage.scrollBy(dy)
  else if (event.shiftKey) stage.pan(dx || dy)
  else if (Math.abs(dx) > Math.abs(dy)) stage.pan(dx)
  else {
    // Pinching comes as a wheel with Ctrl, in smaller steps.
    const strength = event.ctrlKey ? PINCH : WHEEL
    stage.zoom(Math.exp(Math.max(-200, Math.min(200, dy)) * strength), place(event, event.currentTarget as HTMLElement).x)
  }
}

/** Fits what is chosen: the event, else the box. */
export function fitChosen(stage: Stage): void {
  const { details } = chosen
  if (view.event && details) zoomToEvent(stage, { start: toPs(details.start), end: toPs(details.end) })
  else if (view.box) zoomToEvent(stage, { start: view.box.from, end: view.box.to })
}

export function clear(stage: Stage): void {
  if (stage.drag) stage.drag = null
  else if (view.box) step(() => (view.box = null))
  else if (view.event) step(() => (view.event = null))
  else stage.isBoxMode = false
}

/** From the chosen event to the one beside it in its row; without one, to the first on screen. */
function chooseNext(stage: Stage, by: 1 | -1): void {
  const { details } = chosen
  if (view.event && details) {
    const start = toPs(details.start)
    const next = stage.next(details.track, stage.rowOf(details.track, details.row, details.id, start), start, by)
    if (next) choose(next)
    return
  }
  for (const lane of stage.layout.lanes.values()) {
    const first = lane.track.is_counter ? null : stage.next(lane.id, 0, stage.span.from - 1, 1)
    if (first) return choose(first)
  }
}

export function showAll(stage: Stage): void {
  stage.setSpan(profile.span, 'step')
}

const TYPING = 'input, textarea, select, [contenteditable], dialog, [role="dialog"], [role="menu"]'

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest(TYPING) !== null
}

/** Arrows belong to whatever has the focus, unless that is the timeline or nothing. */
function ownsArrows(target: EventTarget | null): boolean {
  return !(target instanceof HTMLElement) || target === document.body || target.closest('[data-testid="timeline"]') !== null
}

export function key(stage: Stage, event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  const at = stage.pointer?.x ?? stage.width / 2
  const plain: Record<string, () => void> = {
    w: () => stage.zoom(KEY_ZOOM, at, true),
    s: () => stage.zoom(1 / KEY_ZOOM, at, true),
    a: () => stage.pan(-KEY_PAN * stage.width, true),
    d: () => stage.pan(KEY_PAN * stage.width, true),
    f: () => fitChosen(stage),
    m: () => addMarker(Math.round(stage.time(at))),
    b: () => (stage.isBoxMode = !stage.isBoxMode),
    0: () => showAll(stage),
    ',': () => chooseNext(stage, -1),
    '.': () => chooseNext(stage, 1),
    escape: () => clear(stage),
  }
  const arrows: Record<string, () => void> = {
    arrowleft: plain.a!,
    arrowright: plain.d!,
    arrowup: () => stage.scrollBy(-KEY_SCROLL),
    arrowdown: () => stage.scrollBy(KEY_SCROLL),
    pageup: () => stage.scrollBy(-0.8 * stage.height),
    pagedown: () => stage.scrollBy(0.8 * stage.height),
  }
  const name = event.key.toLowerCase()
  const action = plain[name] ?? (ownsArrows(event.target) ? arrows[name] : undefined)
  if (!action) return
  event.preventDefault()
  action()
}
