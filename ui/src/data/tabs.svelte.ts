// Which tab comes forward, and what tabs do to the timeline. A tab comes by itself when somebody selects a box or enters a
// search; not when an address or the back button brings one, and not when a tab itself searches.
import { untrack } from 'svelte'
import { pushHistory, view } from './view.svelte'

let search = ''
let box = ''

function rememberState(): void {
  search = view.search
  box = JSON.stringify(view.box)
}

/** Marks what the query finds on the timeline, and leaves the tab where it is. */
export function highlightMatches(query: string): void {
  pushHistory(() => {
    view.search = query
    view.hit = -1
  })
  rememberState()
}

/** Takes the search away. */
export function clearSearch(): void {
  highlightMatches('')
}

/** For the component that shows the tabs, while it is there. */
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

/** A condition of the search language: the field is exactly this. * and ? stand for anything there, and so for themselves. */
export function exactMatch(field: string, value: string | number): string {
  return typeof value === 'number' ? `${field}:${value}` : `${field}:"${value.replaceAll(/[\\"]/g, '\\$&')}"`
}
