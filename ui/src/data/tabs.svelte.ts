// Automatic switching of tabs, and search from tabs. A new box selection or search opens its tab; one restored from the URL
// or the history, or started by a tab itself, does not.
import { untrack } from 'svelte'
import { pushHistory, view } from './view.svelte'

let search = ''
let box = ''

function rememberState(): void {
  search = view.search
  box = JSON.stringify(view.box)
}

/** Highlights the matches on the timeline without switching tabs. */
export function highlightMatches(query: string): void {
  pushHistory(() => {
    view.search = query
    view.hit = -1
  })
  rememberState()
}

export function clearSearch(): void {
  highlightMatches('')
}

/** Active until the returned function is called. */
export function autoSwitchTabs(): () => void {
  untrack(rememberState)
  addEventListener('popstate', rememberState)
  const end = $effect.root(() => {
    $effect(() => {
      const newBox = JSON.stringify(view.box)
      if (view.box && newBox !== box) view.tab = 'selection'
      else if (view.search && view.search !== search) view.tab = 'search'
      rememberState()
    })
  })
  return () => {
    removeEventListener('popstate', rememberState)
    end()
  }
}
