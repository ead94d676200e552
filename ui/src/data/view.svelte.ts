// The URL as a store: `view` reflects the URL, and changes to it update the URL. `pushHistory` adds a history entry at once;
// other changes replace the current entry after a short delay, as panning would flood the history.
import { defaultView, profilePath, readRoute, readView, writeView, type Route, type View } from '../model/view'

const REPLACE_DELAY_MS = 150

export const view: View = $state(defaultView())
export const route: { current: Route } = $state({ current: { page: 'profiles' } })

let timer: ReturnType<typeof setTimeout> | undefined

/** The URL of the current view; the browser's own may lag behind. */
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

/** Call once, before mounting the first component. */
export function syncWithUrl(): void {
  readUrl()
  addEventListener('popstate', readUrl)
  $effect.root(() => {
    $effect(() => {
      const url = viewUrl()
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (url !== location.pathname + location.search) history.replaceState(null, '', url)
      }, REPLACE_DELAY_MS)
    })
  })
}

/** Applies a change that the back button can undo. */
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
