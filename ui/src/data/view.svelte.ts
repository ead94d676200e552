// The URL as a store: `view` reflects the URL, and changes to it update the URL. `pushHistory` adds a history entry at once;
// other changes replace the current entry, at most once in a while, as panning would flood the history. It follows while the view still moves.
import { runPath } from '../model/run'
import { defaultView, diffPath, glossaryPath, profilePath, readRoute, readView, writeView, type Route, type View } from '../model/view'

const REPLACE_DELAY_MS = 200 // browsers allow some 200 changes in 30 s

export const view: View = $state(defaultView())
export const route: { current: Route } = $state({ current: { page: 'profiles' } })

let timer: ReturnType<typeof setTimeout> | undefined

// The places of the panels are remembered: an address that does not tell them gets the last ones.
const KEY = 'kymo.panels'
const PANEL_PARAMETERS = ['panel', 'lower', 'side', 'details']

const NARROW_PX = 900 // the details would take half of the page

function remembered(): URLSearchParams {
  return new URLSearchParams(localStorage.getItem(KEY) ?? (innerWidth < NARROW_PX ? 'details=0' : ''))
}

const panelsOf = (query: URLSearchParams) => new URLSearchParams([...query].filter(([name]) => PANEL_PARAMETERS.includes(name))).toString()

let asked = '' // places that a link of a page asked for, once: the next profile opens as before

function rememberPanels(query: URLSearchParams): void {
  const panels = panelsOf(query)
  if (asked && panels === asked) return
  asked = ''
  localStorage.setItem(KEY, panels)
}

/** The URL of the current view, relative to the UI's; the browser's own may lag behind. */
export function viewUrl(): string {
  if (route.current.page === 'profiles') return './'
  if (route.current.page === 'run') return runPath(route.current)
  if (route.current.page === 'glossary') return glossaryPath(route.current.at)
  const query = writeView(view)
  if (route.current.page === 'diff') return diffPath(route.current, query)
  if (route.current.id) query.set('id', route.current.id)
  return profilePath(route.current.name, route.current.isCollective) + (query.size ? `?${query}` : '')
}

function readUrl(isFirst = false): void {
  cancelWrite()
  const query = new URLSearchParams(location.search)
  route.current = readRoute(location.pathname.slice(new URL(document.baseURI).pathname.length), query, location.hash)
  const hasPanels = route.current.page === 'profile'
  if (hasPanels && !PANEL_PARAMETERS.some((name) => query.has(name))) for (const [name, value] of remembered()) query.set(name, value)
  else if (isFirst && innerWidth < NARROW_PX && !query.has('details')) query.set('details', '0')
  Object.assign(view, readView(query))
}

function writeUrl(): void {
  const url = viewUrl()
  timer = undefined
  if (new URL(url, document.baseURI).href !== location.href) history.replaceState(null, '', url)
  if (route.current.page === 'profile') rememberPanels(writeView(view))
}

function cancelWrite(): void {
  clearTimeout(timer)
  timer = undefined
}

/** Call once, before mounting the first component. */
export function syncWithUrl(): void {
  readUrl(true)
  addEventListener('popstate', () => readUrl())
  $effect.root(() => {
    $effect(() => {
      viewUrl()
      timer ??= setTimeout(writeUrl, REPLACE_DELAY_MS)
    })
  })
}

/** Applies a change that the back button can undo. */
export function pushHistory(change: () => void): void {
  const before = viewUrl()
  change()
  const after = viewUrl()
  if (after === before) return
  cancelWrite()
  history.replaceState(null, '', before)
  history.pushState(null, '', after)
}

export function openProfiles(): void {
  pushHistory(() => {
    Object.assign(view, defaultView())
    route.current = { page: 'profiles' }
  })
}

export function openGlossary(at: string): void {
  pushHistory(() => (route.current = { page: 'glossary', at }))
}

export function openDiff(a: string, b: string): void {
  pushHistory(() => {
    Object.assign(view, defaultView())
    route.current = { page: 'diff', a, b, step: null }
  })
}

export function openProfile(name: string, shown: Partial<View> = {}): void {
  pushHistory(() => {
    Object.assign(view, readView(remembered()), shown)
    asked = shown.panel ? panelsOf(writeView(view)) : ''
    route.current = { page: 'profile', name, id: '' }
  })
}
