// Markers on the time axis. Current markers are part of the view, and so of the URL; named marker sets are stored by the
// server.
import { toDigits, toPs, type Ps } from '../model/time'
import * as api from './api'
import { profile } from './profile.svelte'
import { view } from './view.svelte'

class MarkerSets {
  names: string[] = $state.raw([])
  error: string | null = $state(null)

  async refresh(): Promise<void> {
    await this.#run(async () => {
      this.names = await api.listMarkerSets(profile.name)
    })
  }

  async save(set: string): Promise<void> {
    await this.#run(async () => {
      const markers = view.markers.map((marker) => ({ time: toDigits(marker.time), name: marker.name }))
      await api.putMarkerSet(profile.name, set, markers)
      this.names = await api.listMarkerSets(profile.name)
    })
  }

  async load(set: string): Promise<void> {
    await this.#run(async () => {
      const markers = await api.getMarkerSet(profile.name, set)
      view.markers = markers.map((marker) => ({ time: toPs(marker.time), name: marker.name }))
    })
  }

  async remove(set: string): Promise<void> {
    await this.#run(async () => {
      await api.deleteMarkerSet(profile.name, set)
      this.names = await api.listMarkerSets(profile.name)
    })
  }

  async #run(work: () => Promise<void>): Promise<void> {
    this.error = null
    try {
      await work()
    } catch (failure) {
      this.error = (failure as Error).message
    }
  }
}

export const markerSets = new MarkerSets()

/** Returns its name, which no other marker has. */
export function addMarker(time: Ps): string {
  let number = view.markers.length + 1
  while (view.markers.some((marker) => marker.name === `M${number}`)) number++
  const name = `M${number}`
  view.markers = [...view.markers, { time, name }].sort((a, b) => a.time - b.time)
  return name
}

export function moveMarker(index: number, time: Ps): void {
  view.markers[index]!.time = time
}

export function renameMarker(index: number, name: string): void {
  view.markers[index]!.name = name
}

export function removeMarker(index: number): void {
  view.markers = view.markers.filter((_, at) => at !== index)
}
