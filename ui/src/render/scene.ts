// The scene of a frame as plain data: background rectangles, lanes of slices and counters, and the utilization of groups, with their
// tiles. The interface between layout and renderer.
import type { Cover } from '../data/tileCache'
import type { Coloring } from '../model/coloring'
import type { Span } from '../model/time'

export interface Area {
  top: number
  bottom: number
}

export interface SceneLane {
  track: number
  y: number // of the first row, in CSS pixels from the canvas's top
  rowHeight: number
  rows: number // further rows are not drawn
  clip: Area
  covers: Cover[]
  strength: number // of the colors, up to 1
  isHit: boolean // search results, drawn over all events of the lane
  below: number // strength of what hits are drawn over
}

export interface SceneCounter {
  track: number
  y: number
  height: number
  min: number // value at the bottom of the lane; max at the top
  max: number
  slot: number
  clip: Area
  covers: Cover[]
}

/** The utilization of a group: the largest of its members', which is exact for one, and for all that are covered or not. */
export interface SceneUtilization {
  y: number
  height: number
  clip: Area
  members: Cover[][]
}

export type Tone = 'back' | 'other' | 'header' | 'grid' | 'edge'

export interface SceneRect {
  x: number
  y: number
  width: number
  height: number
  tone: Tone
}

export interface Scene {
  width: number
  height: number
  ratio: number // device pixels per CSS pixel
  span: Span
  rects: SceneRect[]
  lanes: SceneLane[]
  counters: SceneCounter[]
  groups: SceneUtilization[]
  coloring: Coloring
}
