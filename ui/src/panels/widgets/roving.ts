// A group of buttons and links that is one stop of the Tab key: arrow keys, Home and End move inside it. Fields of text and lists
// in it keep stops of their own, as they need the arrow keys.

const ITEMS = 'button:not(:disabled), a[href], summary'

function itemsOf(group: HTMLElement): HTMLElement[] {
  return [...group.querySelectorAll<HTMLElement>(ITEMS)].filter((item) => item.checkVisibility() && !item.closest('[role="menu"], dialog, [data-own-keys]'))
}

export function roving(group: HTMLElement): { destroy: () => void } {
  let current: HTMLElement | null = null

  function update() {
    const items = itemsOf(group)
    if (!current || !items.includes(current)) current = items[0] ?? null
    for (const item of items) {
      const index = item === current ? 0 : -1
      if (item.tabIndex !== index || !item.hasAttribute('tabindex')) item.tabIndex = index
    }
  }

  function focus(event: FocusEvent) {
    const item = (event.target as HTMLElement).closest<HTMLElement>(ITEMS)
    if (!item || item === current || !itemsOf(group).includes(item)) return
    current = item
    update()
  }

  function press(event: KeyboardEvent) {
    const items = itemsOf(group)
    const at = items.indexOf(event.target as HTMLElement)
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const moves: Record<string, number> = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: items.length - 1,
    }
    const to = moves[event.key]
    if (to === undefined) return
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
