// The page's address as a store. Reading `view` gives what the address says; writing to it writes the address:
// at once as a new entry of the history with `step`, else a moment later in place (panning would flood it).
import { defaultView, profilePath, readRoute, readView, writeView, type Route, type View } from '../model/view'

const REPLACE_DELAY_MS = 150

export const view: View = $state(defaultView())
export const route: { current: Route } = $state({ current: { page: 'profiles' } })

let timer: ReturnType<typeof setTimeout> | undefined

/** The address of what is shown now; the browser shows it a moment later. */
export function viewUrl(): string {
  if (route.current.page === 'profiles') return '/'
  const query = writeView(view).toString()
  return profilePath(route.current.name) + (query ? `?${query}` : '')
}

function readUrl(): void {
  clearTimeout(timer)
  route.current = readRoute(location.pathname)
  Object.assign(view, readView(new URLSearchParams(location.search)))
}

/** Begins to follow the address; once, before the first component. */
export function syncWithUrl(): void {
  readUrl()
  addEventListener('popstate', readUrl)
  $effect.root(() => {
    $effect(() => {
      const wanted = viewUrl()
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (wanted !== location.pathname + location.search) history.replaceState(null, '', wanted)
      }, REPLACE_DELAY_MS)
    })
  })
}

/** A change that the browser's back button shall undo. */
export function pushHistory(change: () => void): void {
  const before = viewUrl()
  change()
  const after = viewUrl()
  if (after === before) return
  clearTimeout(timer)
  history.replaceState(null, '', before)
  history.pushState(null, '', after)
}

export function openProfiles(): void {
  pushHistory(() => {
    Object.assign(view, defaultView())
    route.current = { page: 'profiles' }
  })
}

export function openProfile(name: string): void {
  pushHistory(() => {
    Object.assign(view, defaultView())
    route.current = { page: 'profile', name }
  })
}
