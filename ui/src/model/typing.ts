// Whether a key press is text input rather than a shortcut.

const NON_TEXT_TYPES = new Set(['checkbox', 'radio', 'range', 'button', 'submit', 'file'])

export function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return true // browser and system shortcuts
  const target = event.target
  if (target instanceof HTMLInputElement) return !NON_TEXT_TYPES.has(target.type)
  return target instanceof HTMLElement && (target.isContentEditable || target.tagName === 'TEXTAREA' || target.tagName === 'SELECT')
}
