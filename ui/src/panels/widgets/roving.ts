// A group of buttons and links, or of rows with buttons, that is one stop of the Tab key: arrow keys, Home and End move inside it.
// Fields of text and lists in it keep stops of their own, as they need the arrow keys.

const ITEMS = 'button:not(:disabled), a[href], summary'

/** With `rows`, these are what the keys move between; buttons in them are for the pointer, keys of the rows do the same. */
export function roving(group: HTMLElement, rows = ''): { destroy: () => void } {
  const selector = rows || ITEMS
  let current: HTMLElement | null = null

  function allItems(): HTMLElement[] {
    return [...group.querySelectorAll<HTMLElement>(selector)].filter((item) => item.checkVisibility() && !item.closest('[role="menu"], dialog'))
  }

  function update() {
    const items = allItems()
    if (rows) for (const inner of group.querySelectorAll<HTMLElement>(ITEMS)) if (inner.tabIndex !== -1) inner.tabIndex = -1
    if (!current || !items.includes(current)) current = items[0] ?? null
    for (const item of items) {
      const index = item === current ? 0 : -1
      if (item.tabIndex !== index || !item.hasAttribute('tabindex')) item.tabIndex = index
    }
  }

  function focus(event: FocusEvent) {
    const item = (event.target as HTMLElement).closest<HTMLElement>(selector)
    if (!item || item === current || !allItems().includes(item)) return
    current = item
    update()
  }

  function press(event: KeyboardEvent) {
    const items = allItems()
    const at = items.indexOf(event.target as HTMLElement)
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const moves: Record<string, number> = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: items.length - 1,
    }
    const to = moves[event.key]
    if (to === undefined || (rows && !items[to])) return // beyond the rows that are there: scrolls
    items[Math.max(0, Math.min(items.length - 1, to))]!.focus()
    event.preventDefault()
    event.stopPropagation()
  }

  const observer = new MutationObserver(update)
  observer.observe(group, { childList: true, subtree: true, attributeFilter: ['disabled', 'open', 'hidden'] })
  group.addEventListener('focusin', focus)
  group.addEventListener('keydown', press)
  update()
  return {
    destroy() {
      observer.disconnect()
      group.removeEventListener('focusin', focus)
      group.removeEventListener('keydown', press)
    },
  }
}
