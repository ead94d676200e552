// Whether a key goes into a field: then it is a letter and not a command.

const NON_TEXT_TYPES = new Set(['checkbox', 'radio', 'range', 'button', 'submit', 'file'])

export function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return true // the browser's or the system's
  const target = event.target
  if (target instanceof HTMLInputElement) return !NON_TEXT_TYPES.has(target.type)
  return target instanceof HTMLElement && (target.isContentEditable || target.tagName === 'TEXTAREA' || target.tagName === 'SELECT')
}
