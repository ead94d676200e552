// The lanes whose timelines are shown, as the address has them.

/** Browsers keep 16 drawing contexts at a time; each timeline has one. */
export const MAX_TIMELINES = 12

/** Where the timelines are: below the picture of the run, not at all, or instead of it. */
export const TIMELINE_PLACES = ['below', 'hidden', 'only'] as const
export type TimelinePlace = (typeof TIMELINE_PLACES)[number]

const LANE = /^\d+(\.[1-9]\d*)?$/

/** "19", "3.1" or "3.0" as lanes are named here; null if it is none. */
export function readLane(text: string): string | null {
  const lane = text.trim().replace(/\.0$/, '')
  return LANE.test(lane) ? lane.replace(/^0+(?=\d)/, '') : null
}

export function readLanes(text: string | null): string[] {
  const lanes = (text ?? '').split(',').map(readLane).filter((lane) => lane !== null)
  return [...new Set(lanes)].slice(0, MAX_TIMELINES)
}
