// Which tab comes forward, and what tabs do to the timeline. A tab comes by itself when somebody selects a box or enters a
// search; not when an address or the back button brings one, and not when a tab itself searches.
import { untrack } from 'svelte'
import { step, view } from './view.svelte'

let search = ''
let box = ''

function note(): void {
  search = view.search
  box = JSON.stringify(view.box)
}

/** Marks what the query finds on the timeline, and leaves the tab where it is. */
export function highlight(query: string): void {
  step(() => {
    view.search = query
    view.hit = -1
  })
  note()
}

/** Takes the search away. */
export function clearSearch(): void {
  highlight('')
}

/** For the component that shows the tabs, while it is there. */
export function followWishes(): () => void {
  untrack(note)
  addEventListener('popstate', note)
  const end = $effect.root(() => {
    $effect(() => {
      const newBox = JSON.stringify(view.box)
      if (view.box && newBox !== box) view.tab = 'selection'
      else if (view.search && view.search !== search) view.tab = 'search'
      note()
    })
  })
  return () => {
    removeEventListener('popstate', note)
    end()
  }
}

/** A condition of the search language: the field is exactly this. * and ? stand for anything there, and so for themselves. */
export function isExactly(field: string, value: string | number): string {
  return typeof value === 'number' ? `${field}:${value}` : `${field}:"${value.replaceAll(/[\\"]/g, '\\$&')}"`
}
