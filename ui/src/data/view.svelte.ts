// The page's address as a store. Reading `view` gives what the address says; writing to it writes the address:
// at once as a new entry of the history with `step`, else a moment later in place (panning would flood it).
import { defaultView, profilePath, readRoute, readView, writeView, type Route, type View } from '../model/view'

const REPLACE_AFTER_MS = 150

export const view: View = $state(defaultView())
export const route: { current: Route } = $state({ current: { page: 'profiles' } })

let timer: ReturnType<typeof setTimeout> | undefined

/** The address of what is shown now; the browser shows it a moment later. */
export function address(): string {
  if (route.current.page === 'profiles') return '/'
  const query = writeView(view).toString()
  return profilePath(route.current.name) + (query ? `?${query}` : '')
}

function readAddress(): void {
  clearTimeout(timer)
  route.current = readRoute(location.pathname)
  Object.assign(view, readView(new URLSearchParams(location.search)))
}

/** Begins to follow the address; once, before the first component. */
export function followAddress(): void {
  readAddress()
  addEventListener('popstate', readAddress)
  $effect.root(() => {
    $effect(() => {
      const wanted = address()
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (wanted !== location.pathname + location.search) history.replaceState(null, '', wanted)
      }, REPLACE_AFTER_MS)
    })
  })
}

/** A change that the browser's back button shall undo. */
export function step(change: () => void): void {
  const before = address()
  change()
  const after = address()
  if (after === before) return
  clearTimeout(timer)
  history.replaceState(null, '', before)
  history.pushState(null, '', after)
}

export function openProfiles(): void {
  step(() => {
    Object.assign(view, defaultView())
    route.current = { page: 'profiles' }
  })
}

export function openProfile(name: string): void {
  step(() => {
    Object.assign(view, defaultView())
    route.current = { page: 'profile', name }
  })
}
