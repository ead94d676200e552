// Dark or light theme: follows the system until the user chooses. A user preference, not part of the view: stored in the
// browser, not in the URL.
export type Theme = 'dark' | 'light'

const KEY = 'kymo.theme'

function initial(): Theme {
  const stored = localStorage.getItem(KEY)
  if (stored === 'dark' || stored === 'light') return stored
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
}

export const theme: { current: Theme } = $state({ current: initial() })
document.documentElement.dataset.theme = theme.current

export function toggleTheme(): void {
  theme.current = theme.current === 'dark' ? 'light' : 'dark'
  document.documentElement.dataset.theme = theme.current
  localStorage.setItem(KEY, theme.current)
}
